//! The `placet` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else opens a descriptor or starts a thread.
    if std::env::args_os().nth(1).is_some_and(|verb| verb == placet::exec::SUPERVISOR_ARGUMENT) {
        return placet::exec::supervisor::main();
    }
    placet::cli::main()
}
