//! Logs of every format ever released stay readable: they fold to the state and
//! render to the events that they had when they were written.
//!
//! A file is never changed once its format is released. A new format gets a
//! file of its own: run this test with PLACET_NEW_LOG naming the file to write.

use anyhow::{Context as _, Result, ensure};
use placet_policy::types::{Header, Logged};
use placet_tests::evaluator::Evaluator as _;
use placet_tests::pair::Pair;
use placet_tests::script::Script;
use placet_tests::vectors;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A log as it was written, with what it meant.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Release {
    records: Vec<(Header, String)>,
    /// Method and parameters of each view event, in order.
    events: Vec<(String, String)>,
    state: String,
}

/// Every kind of record that format 1 has.
const KINDS_1: [&str; 16] = [
    "actionProposed",
    "approvalOpened",
    "approvalResolved",
    "commandNoted",
    "executionStarted",
    "itemEnded",
    "modeChanged",
    "sessionClosed",
    "sessionLoaded",
    "sessionStarted",
    "stageDecided",
    "turnCompleted",
    "turnQueued",
    "turnStarted",
    "turnStopRequested",
    "userMessage",
];

/// What format 2 has besides. Redactions have tests of their own: their logs have no bodies.
const KINDS_2: [&str; 2] = ["actionJudged", "agentMessage"];

/// What format 3 has besides.
const KINDS_3: [&str; 3] = ["grantFailed", "grantSaved", "stagesCovered"];

/// A session that has met every kind of record and still has open work.
const SCENARIO: &str = "
    start
    mode promptUnmatched
    mode denyUnmatched
    mode promptUnmatched
    turn one
    propose i1 : touch a && ls && touch b
    decide A1 allow_once
    decide A1 allow_once
    release i1
    ended i1 : done
    propose i2 last : touch c
    turn two
    decide A2 allow_session
    release i2
    ended i2
    stop
    shutdown
    recover
    turn three
    propose i3 last : touch c
    ended i3
    turn four
    propose i4 : touch d
    recover
    propose i5 : touch e
    GRANT
    release i4
    ended i4
    turn five display=shown
    say m1 : I will look
    propose i6 tool=write_file : {\"path\":\"a\",\"content\":\"b\"}
    propose i7 tool=fetch subject={\"kind\":\"network\",\"host\":\"example.org\",\"port\":443,\"protocol\":\"https\",\"origin\":{\"kind\":\"url\",\"url\":\"https://example.org\"}} : {}
    propose i8 tool=connect subject={\"kind\":\"unixSocket\",\"path\":\"/run/a.sock\"} : {}
    propose i9 tool=kill subject={\"kind\":\"process\",\"target\":\"7\"} : {}
    propose i10 tool=search : {}
    propose i11 kind=hologram : x
    CROWD
    GRANT
    release i6
    ended i6 : written
    turn six busy=replace
    propose j1 : make build && make test
    propose j2 : make build; rm d
    propose j3 : make build
    decide @j1 allow_local_prefix
    decide @j1.1 allow_local_prefix
    kept @j1
    propose j4 tool=find : {}
    decide @j4 allow_local_mcp_tool
    kept @j4 : the disk is full
    propose j5 : make bench
    decide @j5 allow_local_prefix
    turn seven";

fn written() -> Result<Script<Pair>> {
    let mut script = Script::new(Pair::new()?);
    for line in SCENARIO.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line == "GRANT" {
            script.grant_pending()?;
            continue;
        }
        if line == "CROWD" {
            // More than may be asked about at once.
            for index in 100..130 {
                script.run(&format!("propose i{index} : touch {index}"))?;
            }
            continue;
        }
        script.run(line).with_context(|| line.to_owned())?;
    }
    Ok(script)
}

/// What a log means today.
fn read(records: &[Logged]) -> Result<Release> {
    let mut evaluator = Pair::new()?;
    let refused = |refusal| anyhow::anyhow!("{refusal:?}");
    let state = evaluator.fold(None, records)?.map_err(refused)?;
    let mut events = Vec::new();
    for record in records {
        let event = evaluator.render("released", record)?.map_err(refused)?;
        events.extend(event.map(|event| (event.method, event.params)));
    }
    let text = |record: &Logged| {
        let body = record.body.clone().context("a body")?;
        Ok((record.header.clone(), String::from_utf8(body)?))
    };
    Ok(Release {
        records: records.iter().map(text).collect::<Result<_>>()?,
        events,
        state: String::from_utf8(state)?,
    })
}

/// A log that is kept means what it meant, and shows every kind that its format has.
fn check(file: &str, wanted: &[&str]) -> Result<()> {
    let release: Release = vectors::read(file)?;
    let logged = |(header, body): &(Header, String)| Logged {
        header: header.clone(),
        body: Some(body.clone().into_bytes()),
    };
    let records: Vec<Logged> = release.records.iter().map(logged).collect();
    let kinds: BTreeSet<&str> = records.iter().map(|record| record.header.kind.as_str()).collect();
    let wanted: BTreeSet<&str> = wanted.iter().copied().collect();
    ensure!(kinds == wanted, "the file has other kinds of records: {kinds:?}");
    ensure!(read(&records)? == release, "the log is read differently today");
    Ok(())
}

#[test]
fn a_log_of_format_1_means_what_it_meant() -> Result<()> {
    check("log_format_1.json", &KINDS_1)
}

#[test]
fn a_log_of_format_2_means_what_it_meant() -> Result<()> {
    let kinds: Vec<&str> = KINDS_1.into_iter().chain(KINDS_2).collect();
    check("log_format_2.json", &kinds)
}

#[test]
fn a_log_of_format_3_means_what_it_meant() -> Result<()> {
    if let Some(path) = std::env::var_os("PLACET_NEW_LOG") {
        let release = read(&written()?.session.log)?;
        std::fs::write(path, serde_json::to_string_pretty(&release)?)?;
    }
    let kinds: Vec<&str> = KINDS_1.into_iter().chain(KINDS_2).chain(KINDS_3).collect();
    check("log_format_3.json", &kinds)
}

/// What is written today is written in the newest format, and means the same.
#[test]
fn what_is_written_today_is_of_the_newest_format() -> Result<()> {
    let log = written()?.session.log;
    let formats: BTreeSet<u32> = log.iter().map(|record| record.header.format).collect();
    ensure!(formats == BTreeSet::from([3]), "{formats:?}");
    Ok(())
}
