//! What a session grant covers, by kind.
//!
//! A grant is kept as a digest: equality is all that is ever asked of it.

use crate::canonical;
use crate::codec::{Grant, Subject};
use crate::ids;
use crate::types::Action;

/// The grant that a session choice on this subject would give, if its kind has one.
///
/// Shell: the raw bytes and the working folder. Tool: name and canonical
/// arguments. Unknown kinds have none, so nothing is ever equivalent to them.
pub(crate) fn grant(subject: &Subject, action: &Action) -> Option<Grant> {
    let (kind, key) = match subject {
        Subject::Shell { command, .. } => (
            "shell",
            ids::digest(&[b"shell", command.as_bytes(), action.working_folder.as_bytes()]),
        ),
        Subject::Tool { tool } => {
            let key = match canonical::json(&action.raw_args) {
                Some(args) => ids::digest(&[b"tool", tool.as_bytes(), args.as_bytes()]),
                None => ids::digest(&[b"tool-raw", tool.as_bytes(), action.raw_args.as_bytes()]),
            };
            ("tool", key)
        }
        Subject::Unknown { .. } => return None,
    };
    Some(Grant { kind: kind.to_owned(), key })
}
