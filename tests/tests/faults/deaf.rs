//! A client that reads no more: the host still stops in order, and the log says so.

use crate::place::Place;
use crate::processes;
use crate::steps;
use serde_json::json;

#[test]
fn a_reader_that_is_gone_does_not_lose_the_cancelled_turn() {
    // Once with a command that is silent when its reader goes, once with one that writes on.
    // Neither ends with a program: bash would become it, and lose the mark that we look for.
    for tail in ["sleep 4711; :", "while :; do echo more; sleep 0.005; done"] {
        let place = Place::new();
        let mut host = place.host();
        let client = &mut host.client;
        let session = steps::start(&place, client, "allowAll").unwrap();
        let text = format!("echo {} >> ran.txt; echo begun; {tail}", place.id);
        let turn = steps::turn(client, &session, &text).unwrap();
        steps::begun(client).unwrap();
        assert!(!processes::with(&place.id).is_empty(), "the command runs");

        client.stop_reading();
        // One frame more, for the reader to see that it is to stop.
        let list = json!({"sessionId": session});
        client.send("approval/listPending", list.clone()).unwrap();
        client.join_reader();
        // What is answered now meets a pipe without a reader.
        for _ in 0..3 {
            client.send("approval/listPending", list.clone()).unwrap();
        }
        let (status, _) = host.close();
        assert_eq!(status.code(), Some(0), "{tail}: {}", place.complaints());
        place.no_survivor();

        let mut fresh = place.host();
        let client = &mut fresh.client;
        let view = steps::view(client, &session).unwrap();
        let of_turn = |event: &&serde_json::Value| event["params"]["turnId"] == turn.as_str();
        let ends: Vec<_> = view
            .iter()
            .filter(|event| event["method"] == "turn/completed")
            .filter(of_turn)
            .map(|event| event["params"]["terminal"].clone())
            .collect();
        assert_eq!(ends, ["cancelled"], "{tail}: in the log before anybody loads the session");
        let resumed = steps::resume(client, &session).unwrap();
        assert_eq!(resumed["session"]["status"], "idle", "{tail}");
        assert_eq!(resumed["lastTurn"]["terminal"], "cancelled", "{tail}: {resumed}");
        assert_eq!(steps::view(client, &session).unwrap(), view, "{tail}: recovery adds no event");
        assert_eq!(fresh.close().0.code(), Some(0));
        assert_eq!(place.runs(), 1, "{tail}");
    }
}
