//! Nested and unclosed forms of every bracket and quote of the shell, to any depth.

/// The depths that every form is tried at.
pub const LEVELS: [usize; 4] = [10, 100, 1_000, 100_000];

/// Forms of which the command in the middle is never run: it is part of a word
/// whose value is no command, or the body of a here-document.
pub const NEVER_RUN: [&str; 3] = ["ansi quotes", "glob", "here document"];

/// What opens and closes each form. But for those the command in the middle is run,
/// or could be, when the whole is: a rule that denies it must hold.
const FORMS: [(&str, &str, &str); 24] = [
    ("subshell", "(", ")"),
    ("subshell, spaced", "( ", " )"),
    ("group", "{ ", "; }"),
    ("substitution", "$(", ")"),
    ("substitution of echo", "echo $(", ")"),
    ("substitution in quotes", "\"$(", ")\""),
    ("backticks", "`", "`"),
    ("escaped backticks", "`\\`", "\\``"),
    ("parameter", "${x:-", "}"),
    ("parameter in quotes", "\"${x:-", "}\""),
    ("arithmetic", "$((", "))"),
    ("arithmetic command", "((", "))"),
    ("old arithmetic", "$[", "]"),
    ("test", "[[ ", " ]]"),
    ("glob", "[", "]"),
    ("brace expansion", "{a,", "}"),
    ("process in", "<(", ")"),
    ("process out", ">(", ")"),
    ("double quotes", "\"\"", "\"\""),
    ("single quotes", "''", "''"),
    ("ansi quotes", "$'", "'"),
    ("locale quotes", "$\"", "\""),
    ("here document", "cat <<E\n", "\nE"),
    ("mixed", "(\"${x:-`$((", "))`}\")"),
];

/// A form at one depth, closed and left open.
#[derive(Clone, Debug)]
pub struct Case {
    /// The form's name.
    pub form: &'static str,
    /// How deep it goes.
    pub levels: usize,
    /// Whether every level is closed.
    pub closed: bool,
    /// The command.
    pub command: String,
}

/// Every form at one depth, closed and unclosed, around a command.
pub fn cases(levels: usize, inner: &str) -> Vec<Case> {
    let case = |(form, open, close): (&'static str, &str, &str), closed: bool| Case {
        form,
        levels,
        closed,
        command: format!(
            "{}{inner}{}",
            open.repeat(levels),
            if closed { close.repeat(levels) } else { String::new() }
        ),
    };
    FORMS.into_iter().flat_map(|form| [case(form, true), case(form, false)]).collect()
}
