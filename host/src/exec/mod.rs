//! Running an allowed command: the supervisor and its driver.
//!
//! A command never is a child of the host. [`runner`] (in the host) starts the
//! same binary as `placet __exec`; that process, [`supervisor`], starts bash,
//! adopts whatever bash leaves behind and ends all of it when the command ends,
//! when it is interrupted, or when the host dies. The two are joined by one
//! socket pair, which is the life line: its end is the host's end.
//!
//! Nothing survives its action: a process that a command left in the background
//! is ended when the command's own process has ended. One that kills its own
//! supervisor is left to the host, which ends it ([`kin`]), and one that kills the
//! host too keeps the [`mark`] by which every host refuses it ([`inside`]).
//!
//! What this does not hold: a command that asks another daemon to work for it
//! (`systemd-run`, `at`, a container engine), and one with the privileges of root.
//!
//! Linux only: child subreapers, pidfds and `/proc`.

mod command;
mod driver;
pub mod environment;
pub mod inside;
mod job;
pub mod kin;
mod mark;
mod processes;
pub mod runner;
pub mod shield;
pub mod supervisor;
mod text;

pub use runner::{ExecError, Interrupter, Job, Outcome, Running, Status, own_binary, start};

/// The first argument that makes the `placet` binary a supervisor.
pub const SUPERVISOR_ARGUMENT: &str = "__exec";
