//! Generated commands against bash. Those built of harmless functions are run,
//! and every stage must get the words that we read; arbitrary text is only
//! parsed by bash, never run.

use std::collections::BTreeMap;

use placet_policy::shell::stages;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::oracle::{agree, run};

fn generate<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>, count: usize) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// A piece of a word, in each way to write one.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-z0-9_./:@%+,^=-]{1,4}",
        3 => "'[^'\0\r\x01-\x08\x0b-\x1f]{0,5}'",
        3 => "\"[ a-z;|&#'*~{}()<>=!-]{0,5}\"",
        2 => "\"[a-z]{0,2}\\\\[$`\"\\\\a-z*' ]\"",
        3 => "\\\\[ -~]",
        1 => Just("\\\n".to_owned()),
        1 => "[#~!{}\\]=]",
        1 => "\\$[ ]?",
        1 => Just("é".to_owned()),
        1 => prop_oneof![Just("$X"), Just("\"$X\""), Just("${X}"), Just("$'a\\'b'")]
            .prop_map(str::to_owned),
        1 => "[{][a-z]{0,2}[,.]{0,2}[a-z]{0,2}[}]",
    ]
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => prop::collection::vec(piece(), 1..4).prop_map(|pieces| pieces.concat()),
        1 => "[12]?(>|>>|>\\|) ?/dev/null",
        1 => prop_oneof![
            Just("2>&1"), Just("<&-"), Just("</dev/null"), Just("<> /dev/null"), Just(">&2"), Just("&>/dev/null")
        ].prop_map(str::to_owned),
        1 => Just("\\\n".to_owned()),
    ]
}

/// A command whose stages all run: the function `y` succeeds and `n` fails, as
/// the operator after it wants. Each has its own number.
fn command() -> impl Strategy<Value = String> {
    let operator = prop_oneof![
        Just("&&"),
        Just(" || "),
        Just("; "),
        Just(" | "),
        Just("|&"),
        Just("& "),
        Just("\n"),
        Just(" && \n "),
        Just("# c 'd\n"),
        Just(" # c;d\n"),
        Just("|\\\n|"),
        Just(";\\\n"),
    ];
    let stage = (prop::collection::vec(word(), 0..5), operator, "(Z= |Z='a b' |>/dev/null ){0,3}");
    prop::collection::vec(stage, 1..5).prop_map(|stages| {
        let mut text = String::new();
        let last = stages.len() - 1;
        for (index, (words, operator, prefix)) in stages.into_iter().enumerate() {
            let fails = operator.replace("\\\n", "").contains("||");
            let name = if fails { 'n' } else { 'y' };
            text.push_str(&format!("{prefix}{name}{index} {}", words.join(" ")));
            if index < last {
                text.push_str(operator);
            }
        }
        text
    })
}

/// Runs each command in a shell of its own, inside one bash: the words that
/// each function got, by the function's name.
fn run_all(commands: &[String]) -> Vec<BTreeMap<String, Vec<String>>> {
    // Bash writes line by line, and a stage is not to be cut by its neighbour.
    let mut script = String::from("exec 9>&1 >/dev/null; X='v w' N=$'\\n' M=$'\\2'\n");
    for index in 0..5 {
        for (name, status) in [("y", 0), ("n", 1)] {
            let log = "printf '%s\\0' \"$FUNCNAME\" \"$#\" \"${@//$N/$M}\" >&9";
            script.push_str(&format!("{name}{index}() {{ {log}; return {status}; }}\n"));
        }
    }
    for command in commands {
        let quoted = command.replace('\'', "'\\''");
        script.push_str(&format!("(eval '{quoted}\nwait')\nprintf '\\1\\0' >&9\n"));
    }
    let output = String::from_utf8(run(&["-s"], &guard(&script))).unwrap();
    let mut words = output.split_terminator('\0').map(str::to_owned);
    let mut all = vec![BTreeMap::new()];
    while let Some(name) = words.next() {
        if name == "\x01" {
            all.push(BTreeMap::new());
            continue;
        }
        let count = words.next().unwrap().parse::<usize>().unwrap();
        let mut argv = vec![name.clone()];
        argv.extend(words.by_ref().take(count).map(|word| word.replace('\x02', "\n")));
        all.last_mut().unwrap().insert(name, argv);
    }
    all.pop();
    assert_eq!(all.len(), commands.len(), "bash stopped early");
    all
}

/// One compound command, so that bash has read all of it before it runs.
fn guard(script: &str) -> String {
    format!("{{\n{script}\n}} </dev/null\n")
}

/// Understood, no quote or comment has swallowed a function, so that each runs,
/// and no redirect will fail.
fn only_functions(command: &str) -> bool {
    let parsed = stages(command, None);
    !parsed.opaque
        && parsed.stages.iter().enumerate().all(|(index, stage)| {
            let name = stage.argv.first().and_then(|name| name.strip_prefix(['y', 'n']));
            name == Some(index.to_string().as_str())
                && stage.redirects.iter().all(|r| r.target.as_deref() == Some("/dev/null"))
        })
}

#[test]
fn every_stage_gets_the_words_that_we_read() {
    let commands = generate(command(), 3_000);
    let understood = commands.into_iter().filter(|text| only_functions(text)).collect::<Vec<_>>();
    let (mut compared, mut complete) = (0, 0);
    for batch in understood.chunks(500) {
        for (command, ran) in batch.iter().zip(run_all(batch)) {
            let parsed = stages(command, None).stages;
            assert_eq!(parsed.len(), ran.len(), "{command:?}: {parsed:?} but {ran:?}");
            for stage in parsed {
                let argv = &ran[&stage.argv[0]];
                if stage.complete {
                    assert_eq!(stage.argv, *argv, "{command:?}");
                    complete += 1;
                }
            }
            compared += 1;
        }
    }
    println!("{compared} commands run, {complete} complete stages compared");
    assert!(compared >= 500 && complete >= 500, "{compared} {complete}");
}

#[test]
fn arbitrary_text_is_split_as_bash_splits_it() {
    let text = "([a1]|[ ;&|<>'\"\\\\#\n={}~\\[\\]*,.!$-]| |a b|&&|>>|2>|\\\\\n|A=|>&|f1){1,12}";
    let mut understood = 0;
    for batch in generate(text, 20_000).chunks(5_000) {
        let agreed = agree(batch);
        println!("{agreed:?}");
        understood += agreed.commands - agreed.opaque;
    }
    assert!(understood > 2_000, "{understood}");
}
