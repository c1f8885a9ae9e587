//! The table of known-safe commands: what reads, and nothing else.
//!
//! Five entries for now; each prints, lists or counts whatever its arguments
//! are. A stage counts only when all its words are known before running, when
//! it assigns nothing and when it writes to no file.

use crate::shell;

/// Commands that only read, by their exact first word.
const SAFE: [&str; 5] = ["cat", "echo", "ls", "pwd", "wc"];

/// Whether a stage only reads.
pub(crate) fn known_safe(stage: &shell::Stage) -> bool {
    stage.complete && stage.argv.first().is_some_and(|program| SAFE.contains(&program.as_str()))
}

/// Why a complete stage is not known safe.
pub(crate) fn why_not(stage: &shell::Stage) -> String {
    let program = stage.argv.first().map_or("", String::as_str);
    format!("`{program}` is not known to read only")
}
