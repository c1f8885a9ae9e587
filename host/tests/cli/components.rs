//! The components decide, and a host that lacks one does not start.

use crate::common::{Home, Host, MODES, Parts, component, components};
use crate::refused;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fs;

#[test]
fn components_are_one_policy_and_four_modes_with_their_digests() {
    let home = Home::new();
    let ended = home.run(&["--components"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let mut names: Vec<&str> = ["policy"].iter().chain(&MODES).copied().collect();
    names.sort_unstable();
    let digest = |name: &str| {
        let digest = Sha256::digest(fs::read(component(name)).unwrap());
        digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let mut expected = vec![components().canonicalize().unwrap().display().to_string()];
    expected.extend(names.iter().map(|name| format!("{name:<16} sha256:{}", digest(name))));
    assert_eq!(ended.out.lines().collect::<Vec<_>>(), expected);
}

/// What became of an unmatched command in a session of `mode`: the item's
/// status, whether it ran, and the verdict in the record.
fn unmatched(parts: &Parts, mode: &str) -> (String, bool, Value) {
    let home = Home::with(parts.folder());
    let mut host = Host::start(&home);
    let session = host.session(&home, mode);
    let turn = host.turn(&session, "touch ran");
    let item = host.ended(&turn);
    assert_eq!(host.close(), (0, String::new()));
    let verdict = home.bodies(&session, "actionProposed")[0]["verdict"].clone();
    let status = item["status"].as_str().unwrap().to_owned();
    (status, home.workspace().join("ran").exists(), verdict)
}

#[test]
fn the_file_behind_a_mode_name_decides() {
    let check = |mode: &str, file: &str, expected: (&str, bool)| {
        let (status, ran, verdict) = unmatched(&Parts::with(mode, file), mode);
        assert_eq!((status.as_str(), ran), expected, "{file} behind {mode}: {verdict}");
        assert_eq!(verdict["fault"], Value::Null, "{verdict}");
    };
    check("allowAll", "allowAll", ("completed", true));
    check("allowAll", "denyUnmatched", ("rejected", false));
    check("promptUnmatched", "denyUnmatched", ("rejected", false));
    check("onRequest", "denyUnmatched", ("rejected", false));
}

#[test]
fn a_component_cannot_answer_more_than_the_name_it_stands_behind() {
    let check = |mode: &str, file: &str, answered: &str| {
        let (status, ran, verdict) = unmatched(&Parts::with(mode, file), mode);
        assert_eq!((status.as_str(), ran), ("rejected", false), "{file} behind {mode}: {verdict}");
        assert_eq!(verdict["decision"], "deny", "{verdict}");
        assert_eq!(verdict["answer"]["decision"], answered, "what it said stays on record");
        let fault = verdict["fault"].as_str().unwrap_or_default();
        assert!(fault.contains(mode) && fault.contains(answered), "{verdict}");
    };
    check("promptUnmatched", "allowAll", "allow");
    check("onRequest", "allowAll", "allow");
    check("denyUnmatched", "allowAll", "allow");
    check("denyUnmatched", "promptUnmatched", "ask");
}

#[test]
fn without_its_components_a_host_does_not_start() {
    let check = |what: &str, words: &[&str], change: &dyn Fn(&Parts)| {
        let parts = Parts::copy();
        change(&parts);
        let home = Home::with(parts.folder());
        for arguments in [["serve"].as_slice(), &["--components"]] {
            println!("{what}: {arguments:?}");
            refused(&home.run(arguments), 3, words);
        }
        assert!(!home.database().exists(), "{what}: no log was made");
    };
    let remove =
        |name: &'static str| move |parts: &Parts| fs::remove_file(parts.file(name)).unwrap();
    let write = |name: &'static str, bytes: &'static [u8]| {
        move |parts: &Parts| fs::write(parts.file(name), bytes).unwrap()
    };
    let truncate = |name: &'static str| {
        move |parts: &Parts| {
            let bytes = fs::read(parts.file(name)).unwrap();
            fs::write(parts.file(name), &bytes[..bytes.len() / 2]).unwrap();
        }
    };
    let put =
        |behind: &'static str, name: &'static str| move |parts: &Parts| parts.put(behind, name);
    check("no policy", &["policy.wasm", "cargo xtask components"], &remove("policy"));
    check("no mode", &["onRequest.wasm", "cargo xtask components"], &remove("onRequest"));
    check("half a policy", &["policy.wasm"], &truncate("policy"));
    check("half a mode", &["denyUnmatched.wasm"], &truncate("denyUnmatched"));
    check("an empty policy", &["policy.wasm"], &write("policy", b""));
    check("text", &["allowAll.wasm"], &write("allowAll", b"(component)"));
    check("a module", &["policy.wasm"], &write("policy", b"\0asm\x01\0\0\0"));
    check("a mode that imports", &["placet:policy/mode", "nothing"], &put("onRequest", "policy"));
    check("a policy that is a mode", &["policy"], &put("policy", "allowAll"));
    check("a mode without exports", &["allowAll"], &write("allowAll", b"\0asm\x0d\0\x01\0"));
}

#[test]
fn a_components_folder_that_is_not_there_is_named() {
    let nowhere = components().join("nowhere");
    refused(&Home::with(&nowhere).run(&["serve"]), 3, &["nowhere", "policy"]);
}
