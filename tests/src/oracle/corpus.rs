//! The commands that lie beside the repository, where they do: a corpus of what
//! agents run, and reports of users with commands in their text.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

/// Every command of the corpus; none where it is absent.
pub fn commands() -> anyhow::Result<Vec<String>> {
    let lines = lines("shell_commands.jsonl")?;
    let command = |line: &Value| line["command"].as_str().map(str::to_owned);
    lines.iter().map(|line| command(line).context("a line without a command")).collect()
}

/// Whatever stands between backticks in a report.
pub fn reported() -> anyhow::Result<Vec<String>> {
    let lines = lines("field_reports.jsonl")?;
    let inputs = lines.iter().filter_map(|line| line["input"].as_str());
    Ok(inputs.flat_map(|input| input.split('`').skip(1).step_by(2)).map(str::to_owned).collect())
}

/// Whether every word stands as it is: nothing is expanded.
pub fn is_plain(command: &str) -> bool {
    !command.contains(['$', '`', '*', '?', '[', '{', '~'])
}

fn lines(name: &str) -> anyhow::Result<Vec<Value>> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut files = above.map(|folder| folder.join("shared/corpus").join(name));
    let Some(file) = files.find(|file| file.is_file()) else { return Ok(Vec::new()) };
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}
