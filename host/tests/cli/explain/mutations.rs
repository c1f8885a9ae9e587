//! Other ways to write a command, which mean the same.

/// What a shell reads before a command's words, and what no wrapper runs.
const NO_PROGRAMS: [&str; 22] = [
    "[[", "((", "!", "{", "(", "if", "coproc", "cd", "pushd", "popd", "export", "typeset",
    "declare", "readonly", "read", "printf", "alias", "eval", "f()", "git()", "''", "--",
];

/// The mutations of a command, each with its name.
pub(super) fn of(command: &str) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("spacing", spacing(command)),
        ("wrapper", format!("bash -c '{}'", command.replace('\'', "'\\''"))),
    ];
    if is_plain(command) {
        all.push(("wrapper", format!("timeout 9 {command}")));
        all.push(("wrapper", format!("env {command}")));
        all.push(("wrapper", format!("nice -n 5 nohup {command}")));
    }
    let quoted = quoting(command);
    if quoted != command {
        all.push(("quoting", quoted));
    }
    all
}

/// Where a text stands outside quotes for the first time.
fn outside(command: &str, wanted: &[&str]) -> Option<usize> {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in command.char_indices() {
        let rest = command.get(at..).unwrap_or_default();
        if quote.is_none() && !escaped && wanted.iter().any(|text| rest.starts_with(text)) {
            return Some(at);
        }
        let closes = quote == Some(c);
        match c {
            _ if escaped => escaped = false,
            '\\' if quote != Some('\'') => escaped = true,
            _ if closes => quote = None,
            '\'' | '"' if quote.is_none() => quote = Some(c),
            _ => {}
        }
    }
    None
}

/// Blanks, tabs, a line that goes on, and empty lines around.
fn spacing(command: &str) -> String {
    let (head, tail) = match outside(command, &[" ", "\t"]) {
        Some(at) => command.split_at(at),
        None => (command, ""),
    };
    let between = if tail.is_empty() { "" } else { " \t\\\n  " };
    format!("\n\n \t{head}{between}{tail}\n\n")
}

/// Whether it is one command, without a redirect's target or an assignment before it.
fn is_plain(command: &str) -> bool {
    let first = command.split(' ').next().unwrap_or_default();
    let marks = ["\n", "\r", ";", "|", "&", "<", "(", "{", "`", "#"];
    outside(command, &marks).is_none() && !first.contains('=') && !NO_PROGRAMS.contains(&first)
}

/// The program's name and the first flag, spelled with quotes and a backslash.
fn quoting(command: &str) -> String {
    let first = command.split([' ', '\t', '\n', '\r']).next().unwrap_or_default();
    let keyword = ["[[", "((", "if", "coproc"].contains(&first);
    let name = |c: char| c.is_ascii_alphanumeric() || "./-_".contains(c);
    let end = command.find(|c| !name(c)).unwrap_or(command.len());
    let (word, rest) = command.split_at(end);
    let mut quoted = command.to_owned();
    if !keyword && !word.is_empty() && !rest.starts_with(['=', '(']) {
        let (head, tail) = word.split_at(1);
        quoted = format!("{head}\"{tail}\"{rest}");
    }
    // In a conditional a quoted operator is none.
    match outside(&quoted, &[" -"]).filter(|_| !command.contains("[[")) {
        Some(at) => {
            let (head, tail) = quoted.split_at(at + 1);
            format!("{head}\\{tail}")
        }
        None => quoted,
    }
}
