//! Decodes every frame that hosts wrote down during a test run, with the strict types of the Rust SDK.
//!
//!     frames FOLDER STAGE...
//!
//! FOLDER/STAGE holds the files of the hosts that one stage of the test command
//! started (PLACET_FRAMES). Prints a table of what was decoded, then a line for
//! each stage, `ok STAGE` or `FAILED STAGE: why`; a stage without frames fails.
//! Two cases more: `decoder`, which must find the faults of lines that are wrong
//! on purpose, and `allow_list`, whose every name must have been needed.

mod allowed;
mod decode;
mod selfcheck;
mod types;

use decode::{Fault, Kind};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// How many faults of a stage are shown in full.
const SHOWN: usize = 20;

/// What was found in a stage's folder, or in all of them.
#[derive(Default)]
struct Tally {
    frames: usize,
    /// How often each method came, by kind.
    counts: BTreeMap<(String, Kind), usize>,
    /// What no type knows and the allow list permits, by name.
    permitted: BTreeMap<String, usize>,
    faults: Vec<String>,
    /// Lines that a killed host did not finish.
    cut: usize,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((folder, stages)) = words.split_first().filter(|(_, stages)| !stages.is_empty())
    else {
        eprintln!("usage: frames FOLDER STAGE...");
        return ExitCode::from(2);
    };
    let mut all = Tally::default();
    let mut verdicts = vec![verdict("decoder", selfcheck::run(), "")];
    for stage in stages {
        let mut tally = Tally::default();
        if let Err(error) = read(&Path::new(folder).join(stage), &mut tally) {
            tally.faults.push(error.to_string());
        }
        if tally.frames == 0 {
            let why = "no frame was collected: did a host of this stage see PLACET_FRAMES?";
            tally.faults.push(why.to_owned());
        }
        verdicts.push(verdict(stage, tally.faults, &format!("{} frames", tally.frames)));
        all.counts.extend_with(tally.counts);
        all.permitted.extend_with(tally.permitted);
        all.cut += tally.cut;
        all.frames += tally.frames;
    }
    println!("{:>8}  {:<12}  method", "frames", "kind");
    for ((method, kind), count) in &all.counts {
        println!("{count:>8}  {:<12}  {method}", kind.to_string());
    }
    for (name, count) in &all.permitted {
        let why = allowed::reason(name).unwrap_or("");
        println!("permitted, {count} times: {name}: {why}");
    }
    let needless = allowed::names().filter(|name| !all.permitted.contains_key(*name));
    let needless = needless.map(|name| format!("nothing needs `{name}` any more")).collect();
    verdicts.push(verdict("allow_list", needless, ""));
    println!("{} frames decoded; {} lines were cut by a kill", all.frames, all.cut);
    verdicts.iter().for_each(|(line, _)| println!("{line}"));
    if verdicts.iter().all(|(_, passed)| *passed) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The line for a case, and whether it passed.
fn verdict(case: &str, faults: Vec<String>, what: &str) -> (String, bool) {
    if faults.is_empty() {
        return (format!("ok {case}  {what}"), true);
    }
    let mut line = format!("FAILED {case}: {} faults", faults.len());
    for fault in faults.iter().take(SHOWN) {
        line.push_str("\n  ");
        line.push_str(fault);
    }
    if faults.len() > SHOWN {
        line.push_str(&format!("\n  and {} more", faults.len() - SHOWN));
    }
    (line, false)
}

fn read(folder: &Path, tally: &mut Tally) -> Result<(), Box<dyn Error>> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| format!("the folder {} cannot be read: {error}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry?.path());
    }
    files.sort();
    for file in files {
        let bytes = std::fs::read(&file)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            if line.ends_with(b"\n") {
                take(line, &format!("{name}:{}", index + 1), tally);
            } else {
                tally.cut += 1;
            }
        }
    }
    Ok(())
}

fn take(line: &[u8], place: &str, tally: &mut Tally) {
    tally.frames += 1;
    let decoded = match decode::line(line) {
        Ok(decoded) => decoded,
        Err(why) => return tally.faults.push(format!("{place}: {why}")),
    };
    *tally.counts.entry((decoded.method.clone(), decoded.kind)).or_default() += 1;
    for fault in decoded.faults {
        match fault {
            Fault::Unknown(name) if allowed::reason(&name).is_some() => {
                *tally.permitted.entry(name).or_default() += 1;
            }
            fault => {
                let (kind, method) = (decoded.kind, &decoded.method);
                tally.faults.push(format!("{place}: {kind} of {method}: {fault}"));
            }
        }
    }
}

/// Adds counts to counts.
trait ExtendWith<K> {
    fn extend_with(&mut self, other: BTreeMap<K, usize>);
}

impl<K: Ord> ExtendWith<K> for BTreeMap<K, usize> {
    fn extend_with(&mut self, other: BTreeMap<K, usize>) {
        for (key, count) in other {
            *self.entry(key).or_default() += count;
        }
    }
}
