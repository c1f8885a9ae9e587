//! What a stage runs in turn: the command behind `timeout`, the script of
//! `bash -c`, the commands of `find -exec`.

use super::wrappers::{self, Wrapper};
use super::{Assignment, Folder, Stage, What, builtins, list, offset};
use crate::limits::SHELL_WRAPPERS_MAX;

/// How the inner stages relate to the one that runs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Through {
    /// There are none.
    #[default]
    Nothing,
    /// They are all that it does: what covers them covers it.
    Alone,
    /// It does more: what covers them does not cover it.
    Besides,
}

/// Finds the inner stages of a stage, and theirs. `left` is how many there may be.
pub(super) fn look(stage: &mut Stage, home: Option<&str>, depth: u32, left: &mut usize) {
    // A name that is not known is a stage that may be anything already.
    if stage.what != What::Command || stage.argv.is_empty() || is_unknown(stage, 0) {
        return;
    }
    let full = stage.argv.first().cloned().unwrap_or_default();
    let name = full.rsplit('/').next().unwrap_or_default().to_owned();
    let found = match name.as_str() {
        "eval" => evaluated(stage, home),
        "trap" => trapped(stage, home),
        "env" => environment(stage),
        "xargs" => each_argument(stage),
        "find" | "gfind" => each_file(stage),
        "command" | "builtin" | "exec" => replaced(stage, &name),
        "watch" => watched(stage, home),
        name if wrappers::SHELLS.contains(&name) => shell(stage, name, home),
        name => {
            scripted(stage, name, home).or_else(|| wrappers::find(name).map(|w| wrapped(stage, w)))
        }
    };
    let Some(found) = found else { return };
    let standard =
        ["", "/bin/", "/usr/bin/"].iter().any(|folder| full == format!("{folder}{name}"));
    match found {
        Found::Inner { mut stages, alone } => {
            if depth >= SHELL_WRAPPERS_MAX || stages.len() > *left {
                stage.hides_code();
                return;
            }
            *left = left.saturating_sub(stages.len());
            for inner in &mut stages {
                (inner.start, inner.end) = (stage.start, stage.end);
                look(inner, home, depth.saturating_add(1), left);
            }
            stage.through = if alone && standard { Through::Alone } else { Through::Besides };
            // What runs inside unseen runs inside this stage.
            if stages.iter().any(|inner| inner.code) {
                stage.hides_code();
            }
            stage.inner = stages;
        }
        Found::Code => {
            stage.hides_code();
        }
        Found::Hidden => stage.code = true,
    }
}

enum Found {
    Inner {
        stages: Vec<Stage>,
        alone: bool,
    },
    /// The shell itself runs what cannot be told.
    Code,
    /// Another program runs what cannot be told.
    Hidden,
}

fn is_unknown(stage: &Stage, index: usize) -> bool {
    stage.unknown.contains(&offset(index))
}

/// A script that runs in the stage's folder.
fn parsed(text: &str, stage: &Stage, home: Option<&str>) -> Option<Vec<Stage>> {
    let (read, mut stages) = list::read(text, home, &stage.folder);
    read.ok()?;
    for inner in &mut stages {
        inner.background |= stage.background;
    }
    Some(stages)
}

/// The words from `from` on, as a stage.
fn rest(stage: &Stage, from: usize) -> Option<Stage> {
    let argv: Vec<String> = stage.argv.get(from..)?.to_vec();
    if argv.is_empty() {
        return None;
    }
    let first = offset(from);
    let unknown: Vec<u32> =
        stage.unknown.iter().filter_map(|index| index.checked_sub(first)).collect();
    Some(Stage {
        complete: unknown.is_empty(),
        argv,
        unknown,
        background: stage.background,
        folder: stage.folder.clone(),
        ..Stage::default()
    })
}

fn inner(stages: Vec<Stage>, alone: bool) -> Option<Found> {
    Some(Found::Inner { stages, alone })
}

fn evaluated(stage: &Stage, home: Option<&str>) -> Option<Found> {
    let words = stage.argv.get(1..).unwrap_or_default();
    let text = words.join(" ");
    if !stage.unknown.is_empty() {
        return Some(Found::Code);
    }
    match parsed(text.strip_prefix("-- ").unwrap_or(&text), stage, home) {
        // What changes how the rest is read does so for the rest of the command.
        Some(stages) => inner(stages, true),
        None => Some(Found::Code),
    }
}

fn trapped(stage: &Stage, home: Option<&str>) -> Option<Found> {
    if !stage.unknown.is_empty() {
        return Some(Found::Code);
    }
    let words: Vec<&String> = stage.argv.iter().skip(1).filter(|word| *word != "--").collect();
    match words.as_slice() {
        [action, _, ..] if !action.starts_with('-') => match parsed(action, stage, home) {
            Some(stages) => inner(stages, false),
            None => Some(Found::Code),
        },
        _ => None,
    }
}

/// `env [options] [NAME=value ..] command`.
fn environment(stage: &Stage) -> Option<Found> {
    let mut alone = true;
    let mut at = 1_usize;
    loop {
        let word = stage.argv.get(at)?;
        if is_unknown(stage, at) {
            return Some(Found::Hidden);
        }
        match word.as_str() {
            "-" | "-i" | "--ignore-environment" | "-0" | "-v" => {}
            "-u" | "--unset" => at = at.saturating_add(1),
            "-C" | "--chdir" => {
                at = at.saturating_add(1);
                alone = false;
            }
            "--" => {
                at = at.saturating_add(1);
                break;
            }
            word if word.starts_with("-u") || word.starts_with("--unset=") => {}
            word if word.starts_with('-') => return Some(Found::Hidden),
            _ => break,
        }
        at = at.saturating_add(1);
    }
    let mut assignments = Vec::new();
    while let Some((name, value)) = stage.argv.get(at).and_then(|word| word.split_once('=')) {
        let value = (!is_unknown(stage, at)).then(|| value.to_owned());
        if is_unknown(stage, at) && name.contains(['$', '`', '*', '?', '[', '{']) {
            return Some(Found::Hidden);
        }
        assignments.push(Assignment { name: name.to_owned(), value });
        at = at.saturating_add(1);
    }
    let mut command = rest(stage, at)?;
    command.assignments = assignments;
    if !alone {
        command.folder = Folder::Unknown;
    }
    inner(vec![command], alone)
}

/// Where the command of a wrapper starts; none where that cannot be told.
fn command_at(stage: &Stage, wrapper: &Wrapper) -> Option<usize> {
    let mut at = 1_usize;
    while let Some(word) = stage.argv.get(at) {
        if is_unknown(stage, at) {
            return None;
        }
        if word == "--" {
            at = at.saturating_add(1);
            break;
        }
        if !word.starts_with('-') || word == "-" {
            break;
        }
        // `nice -10` and `nice --10`.
        let number = word.trim_start_matches('-');
        let niceness = wrapper.name == "nice" && number.bytes().all(|b| b.is_ascii_digit());
        let (name, glued) = word.split_once('=').map_or((word.as_str(), false), |(n, _)| (n, true));
        let short = word.get(..2).unwrap_or_default();
        if wrapper.flags.contains(&name) || niceness {
        } else if wrapper.valued.contains(&name) {
            if !glued {
                at = at.saturating_add(1);
            }
        } else if !wrapper.valued.contains(&short) || word.starts_with("--") {
            return None;
        }
        at = at.saturating_add(1);
    }
    for _ in 0..wrapper.operands {
        // What is not known may be any number of words.
        if is_unknown(stage, at) {
            return None;
        }
        at = at.saturating_add(1);
    }
    Some(at)
}

fn wrapped(stage: &Stage, wrapper: &Wrapper) -> Found {
    match command_at(stage, wrapper) {
        Some(at) => match rest(stage, at) {
            Some(mut command) => {
                // `sudo NAME=value command` and the like.
                while let Some((name, value)) = command
                    .argv
                    .first()
                    .and_then(|word| word.split_once('='))
                    .filter(|_| !wrapper.alone)
                {
                    let set = Assignment { name: name.to_owned(), value: Some(value.to_owned()) };
                    let Some(shorter) = rest(&command, 1) else { break };
                    let mut assignments = std::mem::take(&mut command.assignments);
                    assignments.push(set);
                    command = Stage { assignments, ..shorter };
                }
                if wrapper.name == "chroot" {
                    command.folder = Folder::Unknown;
                }
                Found::Inner { stages: vec![command], alone: wrapper.alone }
            }
            // A shell, which runs what it reads.
            None if starts_shell(stage, wrapper.name) => Found::Hidden,
            None => Found::Inner { stages: Vec::new(), alone: false },
        },
        None => Found::Hidden,
    }
}

/// Whether a wrapper without a command runs a shell instead.
fn starts_shell(stage: &Stage, name: &str) -> bool {
    let asked = |word: &String| word.starts_with('-') && word.contains(['s', 'i']);
    match name {
        "chroot" | "nsenter" | "unshare" => true,
        "doas" | "sudo" | "sudo-rs" => stage.argv.iter().skip(1).any(asked),
        _ => false,
    }
}

/// `command`, `builtin` and `exec`.
fn replaced(stage: &Stage, name: &str) -> Option<Found> {
    let mut at = 1_usize;
    while let Some(word) = stage.argv.get(at) {
        if is_unknown(stage, at) {
            return Some(Found::Code);
        }
        match (name, word.as_str()) {
            (_, "--") => {
                at = at.saturating_add(1);
                break;
            }
            ("command", "-p") | ("exec", "-c") => {}
            ("command", word) if word.starts_with('-') => {
                return if word.bytes().all(|b| b"-pvV".contains(&b)) {
                    None
                } else {
                    Some(Found::Code)
                };
            }
            (_, word) if word.starts_with('-') => return Some(Found::Code),
            _ => break,
        }
        at = at.saturating_add(1);
    }
    let mut command = rest(stage, at)?;
    if name != "exec" {
        builtins::note(&mut command);
    }
    inner(vec![command], true)
}

/// `xargs`: the command gets words that nobody knows.
fn each_argument(stage: &Stage) -> Option<Found> {
    let Some(at) = command_at(stage, &wrappers::XARGS) else { return Some(Found::Hidden) };
    let mut command = rest(stage, at).unwrap_or_else(|| Stage {
        argv: vec!["echo".to_owned()],
        folder: stage.folder.clone(),
        ..Stage::default()
    });
    let before = stage.argv.get(..at).unwrap_or_default();
    let mark = before.iter().enumerate().find_map(|(index, word)| match word.as_str() {
        "-I" | "-J" => before.get(index.saturating_add(1)).cloned(),
        word => word.strip_prefix("-I").or(word.strip_prefix("--replace=")).map(str::to_owned),
    });
    match mark.filter(|mark| !mark.is_empty()) {
        Some(mark) => hide(&mut command, &mark),
        None => {
            command.unknown.push(offset(command.argv.len()));
            command.argv.push(super::ADDED.to_owned());
        }
    }
    command.complete = false;
    inner(vec![command], true)
}

/// Words with a mark in them are not known.
fn hide(command: &mut Stage, mark: &str) {
    for (index, word) in (0_u32..).zip(&command.argv) {
        if word.contains(mark) && !command.unknown.contains(&index) {
            command.unknown.push(index);
            command.complete = false;
        }
    }
    command.unknown.sort_unstable();
}

/// `find .. -exec command ;`.
fn each_file(stage: &Stage) -> Option<Found> {
    let mut stages = Vec::new();
    let mut words = (0_usize..).zip(&stage.argv);
    while let Some((at, word)) = words.next() {
        if !matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let from = at.saturating_add(1);
        let length = stage
            .argv
            .iter()
            .skip(from)
            .take_while(|word| !matches!(word.as_str(), ";" | "+"))
            .count();
        if let Some(mut command) = rest(stage, from) {
            command.argv.truncate(length);
            command.unknown.retain(|index| *index < offset(length));
            hide(&mut command, "{}");
            command.folder = Folder::Unknown;
            if !command.argv.is_empty() {
                stages.push(command);
            }
        }
        words.nth(length);
    }
    if stages.is_empty() { None } else { inner(stages, false) }
}

/// `watch`: its words make a script.
fn watched(stage: &Stage, home: Option<&str>) -> Option<Found> {
    let Some(at) = command_at(stage, &wrappers::WATCH) else { return Some(Found::Hidden) };
    let text = stage.argv.get(at..).unwrap_or_default().join(" ");
    if !stage.unknown.is_empty() {
        return Some(Found::Hidden);
    }
    script_of(&text, stage, home)
}

fn script_of(text: &str, stage: &Stage, home: Option<&str>) -> Option<Found> {
    match parsed(text, stage, home) {
        Some(stages) => inner(stages, false),
        None => Some(Found::Hidden),
    }
}

/// Programs that take a script as an option's value.
fn scripted(stage: &Stage, name: &str, home: Option<&str>) -> Option<Found> {
    let (_, flag) = wrappers::SCRIPTED.iter().find(|(known, _)| *known == name)?;
    let mut words = (0_usize..).zip(&stage.argv).skip(1);
    while let Some((at, word)) = words.next() {
        let glued = word.strip_prefix("--command=").or_else(|| {
            word.strip_prefix(flag).filter(|rest| !rest.is_empty() && !word.starts_with("--"))
        });
        // `-qc script`: the last of a cluster.
        let clustered = word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
        if let Some(text) = glued {
            if is_unknown(stage, at) {
                return Some(Found::Hidden);
            }
            return script_of(text, stage, home);
        }
        if word == "--command" || clustered {
            let (next, text) = words.next()?;
            if is_unknown(stage, next) {
                return Some(Found::Hidden);
            }
            return script_of(text, stage, home);
        }
    }
    // Without it they run a shell, which runs what it reads, or the command that stands
    // among their arguments; `flock` is a wrapper then.
    (name != "flock").then_some(Found::Hidden)
}

/// A shell with `-c`, or with its script on standard input.
fn shell(stage: &Stage, name: &str, home: Option<&str>) -> Option<Found> {
    let mut at = 1_usize;
    let (mut script, mut stdin, mut plain) = (false, false, true);
    while let Some(word) = stage.argv.get(at) {
        if is_unknown(stage, at) {
            return Some(Found::Hidden);
        }
        if word == "--" || word == "-" {
            stdin |= word == "-";
            at = at.saturating_add(1);
            break;
        }
        if !word.starts_with(['-', '+']) {
            break;
        }
        let flags = word.get(1..).unwrap_or_default();
        if word.starts_with("--") {
            plain = false;
            if matches!(word.as_str(), "--rcfile" | "--init-file") {
                at = at.saturating_add(1);
            }
        } else {
            script |= flags.contains('c') && word.starts_with('-');
            stdin |= flags.contains('s');
            plain &= flags.bytes().all(|flag| b"ceux".contains(&flag)) && word.starts_with('-');
            if flags.ends_with(['o', 'O']) {
                at = at.saturating_add(1);
            }
        }
        at = at.saturating_add(1);
    }
    if is_unknown(stage, at) {
        return Some(Found::Hidden);
    }
    if !script {
        let reads = stdin || stage.argv.get(at).is_none_or(|word| word == "/dev/stdin");
        return match (&stage.input, reads) {
            (Some(text), true) => script_of(text, stage, home),
            (None, true) => Some(Found::Hidden),
            // A script in a file is a program like any other.
            (_, false) => None,
        };
    }
    let text = stage.argv.get(at)?;
    let Some(stages) = parsed(text, stage, home) else { return Some(Found::Hidden) };
    let own = match name {
        "bash" => plain,
        // Where the grammars differ, only what they share is taken for the same.
        "sh" | "dash" | "zsh" => {
            let differs = ['{', '$', '[', '*', '?', '(', '~', '=', '!', '#', '^', '`'];
            plain_for(name, plain, stage)
                && !text.contains(differs)
                && !text.contains("&>")
                && !text.contains("|&")
        }
        _ => false,
    };
    inner(stages, own)
}

/// `zsh -lc` and the like only read the user's own start files.
fn plain_for(name: &str, plain: bool, stage: &Stage) -> bool {
    plain || (name == "zsh" && stage.argv.get(1).is_some_and(|flags| flags == "-lc"))
}
