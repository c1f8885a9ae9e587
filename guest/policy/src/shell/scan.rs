//! The linear scan before the parser: size and control characters. Depth is
//! counted by the parser, which opens every level through one function.

use super::Opaque;
use crate::limits::SHELL_COMMAND_BYTES_MAX;

/// Refuses what the parser should not be given.
pub(super) fn check(command: &str) -> Result<(), Opaque> {
    let control = |byte: u8| (byte < b' ' && byte != b'\t' && byte != b'\n') || byte == 0x7f;
    if command.len() > SHELL_COMMAND_BYTES_MAX || command.bytes().any(control) {
        return Err(Opaque);
    }
    Ok(())
}
