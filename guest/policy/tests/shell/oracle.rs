//! What bash itself says, two ways, neither of which runs the commands.
//!
//! `--pretty-print` parses a script and prints it again, so a command must come
//! out as its stages come out one by one, with operators between them. And the
//! words of a stage can be given to `printf` as arguments, in a restricted shell
//! without a `PATH`, in case our reading of them was wrong.

use std::io::Write;
use std::process::{Command, Stdio};

use placet_policy::shell::{Stage, stages};

/// How often each comparison was made.
#[derive(Debug, Default)]
pub(crate) struct Agreed {
    pub(crate) commands: usize,
    pub(crate) opaque: usize,
    pub(crate) stages: usize,
    pub(crate) argv: usize,
}

/// Compares every command that is not opaque with bash.
pub(crate) fn agree<S: AsRef<str>>(commands: &[S]) -> Agreed {
    let mut agreed = Agreed { commands: commands.len(), ..Agreed::default() };
    let mut texts = Vec::new();
    let mut argvs: Vec<(&str, Vec<String>)> = Vec::new();
    let mut cases = Vec::new();
    for command in commands.iter().map(AsRef::as_ref) {
        let parsed = stages(command, None);
        if parsed.opaque {
            agreed.opaque += 1;
            continue;
        }
        if !flat(command) {
            continue;
        }
        let spans = parsed.stages.iter().map(|stage| span(command, stage)).collect::<Vec<_>>();
        texts.push(command);
        texts.extend(&spans);
        agreed.stages += spans.len();
        for (stage, span) in parsed.stages.into_iter().zip(&spans) {
            if stage.complete && !stage.argv.is_empty() && only_words(&stage, span) {
                argvs.push((span, stage.argv));
            }
        }
        cases.push((command, spans.len()));
    }
    let mut printed = pretty(&texts).into_iter();
    for (command, count) in cases {
        let whole = printed.next().flatten();
        let whole = whole.unwrap_or_else(|| panic!("bash refuses {command:?}"));
        let parts = printed.by_ref().take(count).map(Option::unwrap).collect::<Vec<_>>();
        assert!(joins(&whole, &parts), "{command:?}: {whole:?} is not {parts:?}");
    }
    let spans = argvs.iter().map(|(span, _)| *span).collect::<Vec<_>>();
    // In chunks, since a script is one argument.
    let words = spans.chunks(100).flat_map(words);
    for ((span, argv), words) in argvs.iter().zip(words) {
        assert_eq!(*argv, words, "{span:?}");
        agreed.argv += 1;
    }
    agreed
}

/// Nothing but lists and pipelines: what is inside something else is for the oracle
/// that runs commands.
fn flat(command: &str) -> bool {
    let words = ["if", "for", "while", "until", "case", "time", "coproc", "function", "select"];
    !command.contains(['(', '`', '{', '!'])
        && !command.contains("<<")
        && !command.contains("[[")
        && !command.split_whitespace().any(|word| words.contains(&word))
}

fn span<'a>(command: &'a str, stage: &Stage) -> &'a str {
    &command[stage.start as usize..stage.end as usize]
}

/// No redirect, not even between descriptors, and no assignment.
fn only_words(stage: &Stage, span: &str) -> bool {
    stage.redirects.is_empty() && stage.assignments.is_empty() && !span.contains(['<', '>'])
}

/// Whether `whole` is these parts, in order, with operators between them.
fn joins(whole: &str, parts: &[String]) -> bool {
    let mut rest = whole.trim();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(" 2>&1").filter(|r| r.starts_with(" |")).unwrap_or(rest);
            rest = rest.trim_start_matches(' ');
            let operators = ["&&", "||", "|", ";", "&", "\n"];
            let Some(after) = operators.iter().find_map(|op| rest.strip_prefix(op)) else {
                return false;
            };
            rest = after.trim_start();
        }
        let Some(after) = rest.strip_prefix(part.trim()) else { return false };
        rest = after;
    }
    matches!(rest.trim(), "" | "&")
}

fn bash(arguments: &[&str]) -> Command {
    let mut bash = Command::new("/bin/bash");
    bash.args(["--noprofile", "--norc"]).args(arguments);
    bash.env_clear().env("LC_ALL", "C.UTF-8").env("PATH", "/nonexistent");
    bash.current_dir(std::env::temp_dir());
    bash
}

/// The output of a bash that reads this script from its standard input.
pub(crate) fn run(arguments: &[&str], script: &str) -> Vec<u8> {
    let mut child = bash(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("these tests need /bin/bash");
    let mut stdin = child.stdin.take().unwrap();
    let script = script.to_owned();
    let writer = std::thread::spawn(move || {
        // Bash may give up before it has read everything.
        let _ = stdin.write_all(script.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.stdout
}

/// Each text as bash prints it after parsing; none where bash refuses it.
fn pretty(texts: &[&str]) -> Vec<Option<String>> {
    let mut printed = Vec::new();
    while printed.len() < texts.len() {
        let first = printed.len();
        let mut script = String::new();
        for (index, text) in texts.iter().enumerate().skip(first) {
            script.push_str(&format!(": placet-case-{index}\n{text}\n"));
        }
        script.push_str(&format!(": placet-case-{}\n", texts.len()));
        let path = std::env::temp_dir().join(format!(
            "placet-shell-{}-{:?}.sh",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::write(&path, script).unwrap();
        let output = run(&["--pretty-print", path.to_str().unwrap()], "");
        std::fs::remove_file(&path).unwrap();
        let output = String::from_utf8(output).unwrap();
        let mut rest = output.strip_prefix(&format!(": placet-case-{first}\n")).unwrap_or("");
        // What bash does not print any more begins with what it refused.
        while printed.len() < texts.len() {
            let marker = format!(": placet-case-{}\n", printed.len() + 1);
            let Some((text, after)) = rest.split_once(&marker) else { break };
            printed.push(Some(text.to_owned()));
            rest = after;
        }
        if printed.len() < texts.len() {
            printed.push(None);
        }
    }
    printed
}

/// The words of each text, by `printf`.
fn words(texts: &[&str]) -> Vec<Vec<String>> {
    let mut script = String::from("enable -n kill suspend exec eval source . command builtin\n");
    for text in texts {
        script.push_str(&format!("printf '%s\\0' {text}\nprintf '\\1\\0'\n"));
    }
    script.push_str("exit\n");
    // Whole before it runs: nothing in it can read the rest of the script.
    let output = run(&["-r", "-c", &script], "");
    let output = String::from_utf8(output).unwrap();
    let mut all = vec![Vec::new()];
    for word in output.split_terminator('\0') {
        if word == "\x01" {
            all.push(Vec::new());
        } else {
            all.last_mut().unwrap().push(word.to_owned());
        }
    }
    all.pop();
    assert_eq!(all.len(), texts.len(), "bash stopped early");
    all
}
