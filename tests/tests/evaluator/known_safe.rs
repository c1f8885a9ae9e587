//! The table of known-safe commands: its files are right, every entry means
//! what it says, our own commands and (where it lies beside the repository)
//! the corpus get the label that they should.

use anyhow::{Context as _, Result, ensure};
use placet_policy::safe::entry::{self, Operands, Style, Takes, Values};
use placet_policy::safe::file::File;
use placet_policy::safe::{Entry, Judgement, Table, judge, judge_open};
use placet_policy::shell;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Commands of our own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ours {
    safe: Vec<String>,
    /// Each with a part of the reason that must be given.
    not: BTreeMap<String, String>,
    /// Safe whatever words `xargs` adds.
    open: Vec<String>,
    #[serde(rename = "not-open")]
    not_open: Vec<String>,
}

/// Commands that a peer calls safe and our definition does not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Excluded {
    /// `writes`, `network`, `credential` or `runs code`.
    kind: String,
    /// Why, for all of them.
    why: String,
    /// With `*` for anything.
    commands: Vec<String>,
}

/// The words of a command, or nothing where the stages' rewrite must help first.
fn words(command: &str) -> Option<Vec<Vec<String>>> {
    let parsed = shell::stages(command, None);
    let plain = |stage: &shell::Stage| {
        stage.complete
            && stage.assignments.is_empty()
            && stage
                .redirects
                .iter()
                .all(|to| !to.write || to.target.as_deref() == Some("/dev/null"))
    };
    let whole = !parsed.opaque && parsed.stages.iter().all(plain);
    whole.then(|| parsed.stages.into_iter().map(|stage| stage.argv).collect())
}

/// Why a command is not known to be safe, or nothing.
fn against(command: &str, table: &Table) -> Option<String> {
    let Some(stages) = words(command) else { return Some("its words are not known".to_owned()) };
    stages.iter().find_map(|argv| match judge(argv, table) {
        Judgement::Safe => None,
        Judgement::Not { why } => Some(why),
    })
}

fn safe(argv: &[String]) -> bool {
    judge(argv, Table::builtin()) == Judgement::Safe
}

fn ours() -> Result<Ours> {
    placet_tests::vectors::read("known_safe.json")
}

fn say(line: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

#[test]
fn our_own_commands_have_their_label() -> Result<()> {
    let ours = ours()?;
    let mut wrong = Vec::new();
    for command in &ours.safe {
        if let Some(why) = against(command, Table::builtin()) {
            wrong.push(format!("{command}: should be safe, but: {why}"));
        }
    }
    for (command, part) in &ours.not {
        match against(command, Table::builtin()) {
            None => wrong.push(format!("{command}: should not be safe")),
            Some(why) if !why.contains(part.as_str()) => {
                wrong.push(format!("{command}: the reason should say `{part}`: {why}"));
            }
            Some(_) => {}
        }
    }
    say(&format!("known safe: {} safe and {} other commands", ours.safe.len(), ours.not.len()))?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn words_that_are_added_must_not_do_more() -> Result<()> {
    let ours = ours()?;
    for (commands, expected) in [(&ours.open, true), (&ours.not_open, false)] {
        for command in commands {
            let argv = words(command).and_then(|mut stages| stages.pop()).context("no stage")?;
            let found = judge_open(&argv, Table::builtin());
            ensure!((found == Judgement::Safe) == expected, "{command}: {found:?}");
        }
    }
    Ok(())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest/policy/known-safe")
}

/// What is wrong with a file of the table.
fn faults(text: &str) -> Vec<String> {
    match toml::from_str::<File>(text) {
        Ok(file) => file.entries().err().unwrap_or_default(),
        Err(error) => vec![error.message().to_owned()],
    }
}

#[test]
fn the_files_of_the_table_are_without_fault() -> Result<()> {
    let mut entries = 0;
    for file in std::fs::read_dir(folder())? {
        let path = file?.path();
        let text = std::fs::read_to_string(&path)?;
        let faults = faults(&text);
        ensure!(faults.is_empty(), "{}: {}", path.display(), faults.join("\n"));
        entries += toml::from_str::<File>(&text)?.safe.len();
    }
    let builtin = Table::builtin().entries().count();
    ensure!(entries == builtin, "{entries} in the files, {builtin} built in");
    let commands: usize =
        Table::builtin().entries().map(|entry| entry::commands(&entry.command).len()).sum();
    say(&format!("known safe: {entries} entries for {commands} commands"))
}

#[test]
fn what_is_wrong_in_a_file_is_said() -> Result<()> {
    let cases = [
        ("command = \"a\"\nflag = \"-x\"", "unknown field"),
        ("command = \"b\"\n[[safe]]\ncommand = \"a\"", "sort them"),
        ("command = \"a\"\nflags = \"-x -x\"", "twice"),
        ("command = \"a\"\nflags = \"-x\"\nnever = { \"-x\" = \"writes\" }", "twice"),
        ("command = \"a\"\nflags = \"-long\"", "never be written"),
        ("command = \"a\"\nstyle = \"single\"\nflags = \"--long\"", "never be written"),
        ("command = \"a\"\nneeds = \"-x\"", "does not allow"),
        ("command = \"a\"\nrefuse = \"writes\"\nflags = \"-x\"", "nothing else"),
        ("command = \"a* b\"", "only the last word"),
        ("command = \"a b*\"", "only the last word"),
        ("command = \"/bin/a\"", "never be a word"),
        ("command = \"a {c,b}\"", "no sorted list"),
        ("command = \"a  b\"", "single blanks"),
        ("command = \"a\"\nmost = 1", "counts operands"),
        ("command = \"a\"\nflags = \"@none\"", "no group none"),
        ("command = \"a\"\nnever = { \"\" = \"writes\" }", "without flags"),
        ("command = \"a\"\noperands-need = \"-x\"\nflags = \"-x\"", "allows no operands"),
        ("command = \"a\"\nstyle = \"raw\"\nflags = \"-x\"", "raw"),
        ("command = \"a\"\n[groups.g]\nflags = \"-x\"", "nothing uses"),
    ];
    for (text, expected) in cases {
        let found = faults(&format!("[[safe]]\n{text}")).join("\n");
        ensure!(found.contains(expected), "{text:?}: {found:?}");
    }
    Ok(())
}

/// A command of this entry that is safe: the shortest that does, or one of our own.
fn example(entry: &Entry, command: &str, ours: &Ours) -> Option<Vec<String>> {
    let all = || entry::flags(&entry.flags).chain(entry::flags(&entry.anywhere));
    let flag = |list: &str| -> Vec<String> {
        let Some(name) = list.split_ascii_whitespace().next() else { return Vec::new() };
        match all().find(|(flag, _)| *flag == name) {
            Some((name, Takes::Value(Values::Of(list)))) => {
                vec![name.to_owned(), list.split('|').next().unwrap_or_default().to_owned()]
            }
            Some((name, Takes::Value(Values::Any))) => vec![name.to_owned(), "x".to_owned()],
            _ => vec![name.to_owned()],
        }
    };
    let words: Vec<String> = command.replace('*', "x").split(' ').map(str::to_owned).collect();
    let mut tried: Vec<Vec<String>> = Vec::new();
    for flags in [Vec::new(), flag(&entry.needs), flag(&entry.operands_need)] {
        for operands in [Vec::new(), vec!["x".to_owned()], vec!["+x".to_owned()]] {
            tried.push(words.iter().cloned().chain(flags.clone()).chain(operands).collect());
        }
    }
    let own = ours.safe.iter().filter_map(|text| self::words(text)).flatten();
    tried.extend(own.filter(|argv| argv.starts_with(&words)));
    tried.into_iter().find(|argv| safe(argv))
}

/// The ways to write a flag that takes the label away.
fn spellings(name: &str, entry: &Entry) -> Vec<Vec<String>> {
    let mut ways = vec![vec![name.to_owned()], vec![name.to_owned(), "x".to_owned()]];
    if matches!(entry.style, Style::Words | Style::Raw) {
        return ways;
    }
    ways.push(vec![format!("{name}=x")]);
    let known: Vec<&str> = entry::flags(&entry.flags)
        .chain(entry::flags(&entry.anywhere))
        .map(|flag| flag.0)
        .collect();
    if entry.style == Style::Single {
        ways.push(vec![format!("-{name}")]);
        ways.push(vec![format!("-{name}=x")]);
    } else if name.starts_with("--") {
        let prefixes = (3..name.len()).filter_map(|end| name.get(..end));
        let unknown = prefixes.filter(|prefix| !known.contains(prefix));
        ways.extend(unknown.map(|prefix| vec![prefix.to_owned()]));
    } else {
        ways.push(vec![format!("{name}x")]);
        let plain = entry::flags(&entry.flags)
            .filter(|(flag, takes)| flag.len() == 2 && *takes == Takes::Nothing);
        ways.extend(plain.map(|(flag, _)| vec![format!("{flag}{}", &name[1..])]));
    }
    ways
}

#[test]
fn every_entry_is_left_by_every_flag_that_takes_the_label_away() -> Result<()> {
    let ours = ours()?;
    let (mut tried, mut wrong) = (0, Vec::new());
    for entry in Table::builtin().entries().filter(|entry| entry.refuse.is_empty()) {
        let commands = entry::commands(&entry.command);
        let bases = commands.iter().filter_map(|command| {
            Some((command.split(' ').count(), example(entry, command, &ours)?))
        });
        // The others of a list differ in nothing but the name.
        let bases: Vec<(usize, Vec<String>)> = bases.take(3).collect();
        if bases.is_empty() && entry.operands != Operands::Commands {
            wrong.push(format!(
                "`{}` has no safe command; add one to known_safe.json",
                entry.command
            ));
        }
        let never: Vec<&str> =
            entry.never.iter().flat_map(|(names, _)| names.split_ascii_whitespace()).collect();
        let mut ways: Vec<Vec<String>> =
            never.iter().flat_map(|name| spellings(name, entry)).collect();
        if !entry.any_flag && entry.style != Style::Raw {
            ways.push(vec!["--no-such-flag".to_owned()]);
            ways.push(vec!["--no-such-flag=x".to_owned()]);
            ways.push(vec!["-%".to_owned()]);
        }
        for (length, base) in &bases {
            for way in &ways {
                for at in [*length, base.len()] {
                    let mut argv = base.clone();
                    argv.splice(at..at, way.iter().cloned());
                    tried += 1;
                    if safe(&argv) {
                        wrong.push(format!("{argv:?} is safe"));
                    }
                }
            }
        }
    }
    say(&format!("known safe: {tried} commands with a flag that takes the label away"))?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn a_users_entries_add_and_lift_nothing() -> Result<()> {
    let added: Vec<Entry> = [
        "command = \"mytool {list,show}\"\nflags = \"-n=\"\noperands = \"any\"",
        "command = \"git frobnicate\"",
        "command = \"sort\"\nflags = \"-o=\"\noperands = \"any\"",
    ]
    .into_iter()
    .map(|text| toml::from_str(text).context(text))
    .collect::<Result<_>>()?;
    ensure!(added.iter().all(|entry| entry.faults().is_empty()));
    let table = Table::builtin().extended(&added);
    for (command, expected) in [
        ("mytool list -n 5 x", true),
        ("mytool show", true),
        ("mytool show --write", false),
        ("mytool write", false),
        ("git frobnicate", true),
        ("git status", true),
        ("git -c a=b frobnicate", false),
        ("sort x", true),
        ("sort -o x y", false),
    ] {
        let why = against(command, &table);
        ensure!(why.is_none() == expected, "{command}: {why:?}");
    }
    Ok(())
}

/// Whether a command fits a pattern with `*`.
fn fits(pattern: &str, command: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = command.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        last = Some(part);
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    match last {
        None => rest.is_empty(),
        Some(part) => rest.is_empty() || command.ends_with(part),
    }
}

/// Programs that run the command that stands behind them.
const WRAPPERS: [&str; 10] =
    ["bash", "env", "ksh", "nice", "script", "sh", "time", "timeout", "xargs", "zsh"];

/// Whether the stages must first be looked into: what is not known before it
/// runs, assignments, and wrappers.
fn waits_for_stages(command: &str) -> bool {
    let Some(stages) = words(command) else { return true };
    let wrapped = ["arch -arm64 ", "caffeinate ls", "rtk proxy "];
    wrapped.iter().any(|wrapper| command.starts_with(wrapper))
        || stages
            .iter()
            .filter_map(|argv| argv.first())
            .any(|program| WRAPPERS.contains(&program.as_str()))
}

#[test]
fn the_corpus_has_no_wrong_label_and_few_are_missing() -> Result<()> {
    let shared = std::env::var_os("PLACET_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let excluded: Vec<Excluded> = placet_tests::vectors::read("known_safe_excluded.json")?;
    for group in &excluded {
        let kinds = ["writes", "network", "credential", "runs code"];
        ensure!(kinds.contains(&group.kind.as_str()), "{group:?}");
        ensure!(!group.why.is_empty());
        for pattern in &group.commands {
            let plain = !pattern.contains('*') && words(pattern).is_some();
            ensure!(!plain || against(pattern, Table::builtin()).is_some(), "{pattern} is safe");
        }
    }
    let Ok(text) = std::fs::read_to_string(shared.join("corpus/shell_commands.jsonl")) else {
        return say("known safe: no corpus beside the repository");
    };
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Line {
        command: String,
        read_only: bool,
    }
    let (mut wrong, mut missing, mut stale) = (Vec::new(), Vec::new(), Vec::new());
    let (mut labelled, mut safe, mut waiting) = (0, 0, 0);
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    let mut met: Vec<&str> = Vec::new();
    for line in text.lines() {
        let Line { command, read_only } = serde_json::from_str(line)?;
        let why = against(&command, Table::builtin());
        if !read_only {
            if why.is_none() {
                wrong.push(command);
            }
            continue;
        }
        labelled += 1;
        let found = excluded.iter().find_map(|group| {
            let pattern = group.commands.iter().find(|pattern| fits(pattern, &command))?;
            Some((group.kind.as_str(), pattern.as_str()))
        });
        match (found, why) {
            (Some((_, pattern)), None) if !pattern.contains('*') => {
                stale.push(format!("{command} is excluded and safe"));
            }
            (Some((kind, pattern)), Some(_)) => {
                *used.entry(kind).or_default() += 1;
                met.push(pattern);
            }
            (_, None) => safe += 1,
            (None, Some(_)) if waits_for_stages(&command) => waiting += 1,
            (None, Some(why)) => missing.push(format!("{command}   ({why})")),
        }
    }
    for pattern in excluded.iter().flat_map(|group| &group.commands) {
        if !met.contains(&pattern.as_str()) {
            stale.push(format!("no command of the corpus is excluded by `{pattern}`"));
        }
    }
    let counted = safe + missing.len();
    let left_out: usize = used.values().sum();
    say(&format!(
        "known safe: of {labelled} labelled true {left_out} are excluded {used:?}, {waiting} need \
         the new stages, {safe} of the other {counted} are safe ({}.{} %)",
        safe * 100 / counted,
        safe * 1000 / counted % 10
    ))?;
    if std::env::var_os("PLACET_MISSING").is_some() {
        say(&missing.join("\n"))?;
    }
    ensure!(wrong.is_empty(), "labelled false and known safe:\n{}", wrong.join("\n"));
    ensure!(stale.is_empty(), "{}", stale.join("\n"));
    ensure!(safe * 10 >= counted * 9, "too few are safe; missing:\n{}", missing.join("\n"));
    Ok(())
}
