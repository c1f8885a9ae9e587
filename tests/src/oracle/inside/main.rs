//! The program inside the oracle's sandbox, three things in one file:
//!
//! - as `placet-oracle-enter` it makes the namespaces and the root that they see,
//! - as `placet-oracle-run` it is process 1 there and runs commands one by one,
//! - under every other name it is a stub: it writes down how it was started.
//!
//! Nothing but bash, its libraries and stubs exists inside; see `enter` for what
//! keeps the machine out of reach.

mod enter;
mod run;
mod stub;

use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let ended = match name.as_bytes() {
        b"placet-oracle-enter" => enter::enter(arguments.collect()),
        b"placet-oracle-run" => run::run(),
        _ => return stub::stub(name, arguments.collect()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
