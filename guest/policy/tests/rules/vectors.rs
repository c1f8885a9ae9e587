//! What users of other products reported, as far as it is a matter of rules: the
//! vectors of tests/vectors/rules.json, by the report's id. Subjects are written as
//! `ask` reads them.

use crate::{check, compiled};
use serde_json::Value;

const VECTORS: &str = include_str!("../../../../tests/vectors/rules.json");

fn vectors(part: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(VECTORS).unwrap();
    all[part].as_array().unwrap().clone()
}

#[test]
fn reports_are_judged_as_they_should_be() {
    for vector in vectors("verdicts") {
        let cases: Vec<String> = vector["cases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|case| format!("{} => {}", case[0].as_str().unwrap(), case[1].as_str().unwrap()))
            .collect();
        let cases: Vec<&str> = cases.iter().map(String::as_str).collect();
        assert!(!cases.is_empty(), "{vector}");
        check(vector["rules"].as_str().unwrap(), &cases);
    }
}

#[test]
fn mistakes_are_told_with_their_place() {
    for vector in vectors("mistakes") {
        let found = compiled(vector["rules"].as_str().unwrap());
        let broken = found.set.broken().expect("an error");
        let place = format!("{}:{}", broken.line, broken.column);
        assert_eq!(place, vector["place"].as_str().unwrap(), "{vector}");
        assert!(broken.message.contains(vector["says"].as_str().unwrap()), "{broken}");
    }
}
