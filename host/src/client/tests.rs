//! A client against a scripted host.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{Client, ClientError, Message};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, split};

/// A host that answers each line of the client with the next lines of its script; `ID` stands
/// for the id of that line. Returns what the client said.
fn host(stream: DuplexStream, script: &'static [&'static [&'static str]]) -> Heard {
    tokio::spawn(async move {
        let (input, mut output) = split(stream);
        let mut lines = BufReader::new(input).lines();
        let mut heard = Vec::new();
        let mut script = script.iter();
        while let Some(line) = lines.next_line().await.unwrap() {
            let frame: Value = serde_json::from_str(&line).unwrap();
            for answer in script.next().copied().unwrap_or_default() {
                let answer = answer.replace("ID", &frame["id"].to_string());
                output.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
            heard.push(frame);
        }
        heard
    })
}

type Heard = tokio::task::JoinHandle<Vec<Value>>;

const GREETING: &[&str] = &[r#"{"jsonrpc":"2.0","id":ID,"result":{}}"#];

/// A client after its handshake with a host of this script.
async fn client(script: &'static [&'static [&'static str]]) -> (Client, Heard) {
    let (ours, its) = tokio::io::duplex(4096);
    let heard = host(its, script);
    let (input, output) = split(ours);
    (Client::open(input, output, "test").await.unwrap(), heard)
}

fn said(method: &str, params: Value) -> Message {
    Message { method: method.to_owned(), params }
}

#[tokio::test]
async fn an_answer_is_found_behind_events_which_are_kept_in_order() {
    let (mut client, heard) = client(&[
        GREETING,
        &[],
        &[
            r#"{"jsonrpc":"2.0","method":"a","params":{"n":1}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"ask","params":{"n":2}}"#,
            r#"{"jsonrpc":"2.0","id":99,"result":{"of":"nobody"}}"#,
            r#"{"jsonrpc":"2.0","id":ID,"result":{"fine":true}}"#,
            r#"{"jsonrpc":"2.0","method":"b"}"#,
        ],
    ])
    .await;
    let result = client.command("do/it", json!({"x": 1})).await.unwrap();
    assert_eq!(result, json!({"fine": true}));
    assert_eq!(client.next().await.unwrap(), said("a", json!({"n": 1})));
    assert_eq!(client.next().await.unwrap(), said("ask", json!({"n": 2})));
    assert_eq!(client.next().await.unwrap(), said("b", Value::Null));
    drop(client);
    let heard = heard.await.unwrap();
    assert_eq!(heard[0]["method"], "initialize");
    assert_eq!(heard[0]["params"]["clientInfo"]["name"], "test");
    assert_eq!(heard[1], json!({"jsonrpc": "2.0", "method": "initialized"}));
    assert_eq!((&heard[2]["method"], &heard[2]["params"]["x"]), (&json!("do/it"), &json!(1)));
    let id = uuid::Uuid::parse_str(heard[2]["params"]["commandId"].as_str().unwrap()).unwrap();
    assert_eq!(id.get_version_num(), 7);
    assert_eq!(heard[3], json!({"jsonrpc": "2.0", "id": 7, "result": {}}), "the receipt");
}

#[tokio::test]
async fn an_error_has_its_kind_and_its_data() {
    let (mut client, _) = client(&[
        GREETING,
        &[],
        &[r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32050,"message":"none","data":{"kind":"approvalNotFound","approvalId":"a"}}}"#],
    ])
    .await;
    let Err(ClientError::Refused(refusal)) = client.request("x", json!({})).await else {
        panic!("not refused");
    };
    assert_eq!((refusal.code, refusal.kind.as_str()), (-32050, "approvalNotFound"));
    assert_eq!((refusal.message.as_str(), &refusal.data["approvalId"]), ("none", &json!("a")));
}

#[tokio::test]
async fn a_connection_that_is_refused_or_ends_says_so() {
    let (ours, its) = tokio::io::duplex(4096);
    drop(its);
    let (input, output) = split(ours);
    assert_eq!(Client::open(input, output, "test").await.err(), Some(ClientError::Ended));

    let (ours, its) = tokio::io::duplex(4096);
    let refusal: &[&[&str]] = &[&[
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not you","data":{"kind":"k"}}}"#,
    ]];
    host(its, refusal);
    let (input, output) = split(ours);
    let refused = Client::open(input, output, "test").await.err().unwrap();
    assert_eq!(refused.to_string(), "not you");

    let (mut client, _) = client(&[GREETING, &[], &["nonsense"]]).await;
    let error = client.request("x", json!({})).await.unwrap_err();
    assert!(matches!(error, ClientError::Protocol(_)), "{error}");
    assert_eq!(client.next().await.unwrap_err(), ClientError::Ended);
}
