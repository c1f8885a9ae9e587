//! Runs commands and holds what ran against what was shown.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use super::cover::{Cover, Shown};
use super::names::names;
use super::sandbox::{Ran, Sandbox};
use super::trace;

/// What came of many commands.
#[derive(Debug, Default)]
pub struct Report {
    /// Commands that ran.
    pub commands: usize,
    /// Of these, commands of which every stage was complete.
    pub complete_commands: usize,
    /// Programs that started.
    pub starts: usize,
    /// Of these, covered by a complete stage.
    pub complete_starts: usize,
    /// Builtins, functions and programs that bash traced.
    pub traced: usize,
    /// Commands that had to be ended.
    pub cut_short: usize,
    /// Commands in which bash found an error of syntax, there or in what they ran.
    pub misread: usize,
    /// What nobody was shown.
    pub uncovered: Vec<Finding>,
}

/// Something ran that no stage covers.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The command.
    pub command: String,
    /// What ran, as a list of words.
    pub ran: String,
}

impl Report {
    /// Adds the figures and findings of another.
    pub fn add(&mut self, other: Report) {
        self.commands += other.commands;
        self.complete_commands += other.complete_commands;
        self.starts += other.starts;
        self.complete_starts += other.complete_starts;
        self.traced += other.traced;
        self.cut_short += other.cut_short;
        self.misread += other.misread;
        self.uncovered.extend(other.uncovered);
    }

    /// The figures, in one line.
    pub fn figures(&self) -> String {
        let share = |part: usize, of: usize| {
            let permille = part.saturating_mul(1_000).checked_div(of).unwrap_or(1_000);
            format!("{}.{} %", permille / 10, permille % 10)
        };
        format!(
            "{} commands ({} complete), {} starts ({} by a complete stage), {} traced, {} cut short, {} with a syntax error, {} uncovered",
            self.commands,
            share(self.complete_commands, self.commands),
            self.starts,
            share(self.complete_starts, self.starts),
            self.traced,
            self.cut_short,
            self.misread,
            self.uncovered.len(),
        )
    }
}

/// Runs all of them in two sandboxes, every `traced`th once more with bash's trace.
pub fn check_all(inside: &Path, commands: &[String], traced: usize) -> anyhow::Result<Report> {
    let halves = commands.split_at(commands.len() / 2);
    let half = |commands: &[String]| -> anyhow::Result<Report> {
        let mut sandbox = Sandbox::start(inside)?;
        let mut report = Report::default();
        for (at, command) in commands.iter().enumerate() {
            let trace = traced > 0 && at % traced == 0;
            report.add(check(&mut sandbox, command, trace)?);
        }
        Ok(report)
    };
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| half(halves.1));
        (half(halves.0), second.join())
    });
    let mut report = first?;
    report.add(second.map_err(|_| anyhow::anyhow!("the second sandbox panicked"))??);
    Ok(report)
}

/// Runs one command, with `traced` a second time under bash's trace.
pub fn check(sandbox: &mut Sandbox, command: &str, traced: bool) -> anyhow::Result<Report> {
    let mut report = Report::default();
    // Bash takes no NUL in a command, so there is nothing to run.
    if command.contains('\0') {
        return Ok(report);
    }
    let shown = Shown::of(command);
    let names = names(command);
    report.commands = 1;
    report.complete_commands = usize::from(shown.complete());
    let ran = sandbox.run(command, &names, false)?;
    record(command, &ran)?;
    judge(&shown, command, &ran, &mut report);
    if traced && trace::faithful(command) && report.uncovered.is_empty() {
        // What two processes traced at once may be mixed up: it has to show twice.
        let mut again = Report::default();
        judge_trace(&shown, command, &sandbox.run(command, &names, true)?, &mut again);
        if !again.uncovered.is_empty() {
            again = Report::default();
            judge_trace(&shown, command, &sandbox.run(command, &names, true)?, &mut again);
        }
        report.add(again);
    }
    Ok(report)
}

/// Appends what ran to the file `$PLACET_ORACLE_RECORD`: other parsers are held to it
/// outside of these tests (`bench/rable`).
fn record(command: &str, ran: &Ran) -> anyhow::Result<()> {
    let Some(file) = std::env::var_os("PLACET_ORACLE_RECORD") else { return Ok(()) };
    let words = |argv: &Vec<Vec<u8>>| {
        argv.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>()
    };
    let starts: Vec<_> = ran.starts.iter().map(|start| words(&start.argv)).collect();
    let line = format!("{}\n", serde_json::json!({"command": command, "starts": starts}));
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    Ok(file.write_all(line.as_bytes())?)
}

fn judge(shown: &Shown, command: &str, ran: &Ran, report: &mut Report) {
    report.starts += ran.starts.len();
    report.cut_short += usize::from(ran.ended != "ended");
    let errors = ["syntax error", "unexpected EOF", "unexpected end"];
    report.misread += usize::from(errors.iter().any(|error| ran.errors.contains(error)));
    for start in &ran.starts {
        match shown.covers(start) {
            Cover::Complete => report.complete_starts += 1,
            Cover::Incomplete => {}
            Cover::None => {
                let words: Vec<_> =
                    start.argv.iter().map(|word| String::from_utf8_lossy(word)).collect();
                let program = String::from_utf8_lossy(&start.program);
                let ran = format!("{words:?} as {program}, changed {:?}", start.changed);
                report.uncovered.push(Finding { command: command.to_owned(), ran });
                return;
            }
        }
    }
}

/// Builtins that declare: bash traces their assignments apart.
const DECLARE: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

fn judge_trace(shown: &Shown, command: &str, ran: &Ran, report: &mut Report) {
    for words in trace::commands(&ran.trace) {
        report.traced += 1;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let first = words.first().copied().unwrap_or_default();
        let covered = if DECLARE.contains(&first) {
            shown.covers_name(first)
        } else {
            shown.covers_words(&words) != Cover::None
        };
        if !covered {
            let ran = format!("{words:?} in bash's trace");
            report.uncovered.push(Finding { command: command.to_owned(), ran });
            return;
        }
    }
}
