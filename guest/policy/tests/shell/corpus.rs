//! Real commands. The corpus says whether a command only reads, not what its
//! stages are; so bash is asked about those.

use std::path::PathBuf;

use crate::check_shape;
use crate::oracle::agree;

/// The corpus, or the sample beside this file where it is not to be had.
fn commands() -> (Vec<String>, &'static str) {
    let shared = std::env::var_os("PLACET_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let corpus = std::fs::read_to_string(shared.join("corpus/shell_commands.jsonl"));
    let (text, source) = match corpus {
        Ok(text) => (text, "the corpus"),
        Err(_) => (include_str!("sample.jsonl").to_owned(), "the sample in the repository"),
    };
    let command = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["command"].as_str().unwrap().to_owned()
    };
    (text.lines().map(command).collect(), source)
}

#[test]
fn real_commands_are_split_as_bash_splits_them() {
    let (commands, source) = commands();
    for command in &commands {
        check_shape(command);
    }
    let agreed = agree(&commands);
    println!("{source}: {agreed:?}");
    assert_eq!(agreed.commands, commands.len());
    assert!(agreed.opaque * 3 < agreed.commands, "too little is understood: {agreed:?}");
    assert!(agreed.argv > 5, "{agreed:?}");
}
