//! What a program does to itself so that commands of the same user do not reach into it.

use std::ffi::CStr;
use std::io;

use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior};
use rustix::thread::set_name;

use super::kin;

/// The name of a host's main thread, by which [`super::inside`] knows it: `/proc` shows
/// it to everybody, and nobody but the process itself can change it.
pub(super) const HOST_NAME: &CStr = c"placet-host";

/// Makes this process undumpable: without privileges no other process may trace it,
/// read or write its memory, or take or open what it has open, its standard input say.
///
/// # Errors
/// When the system refuses.
pub fn hide() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Makes this process a host: to be called on its main thread, before any other and
/// before any child.
///
/// # Errors
/// When the system refuses.
pub fn host() -> io::Result<()> {
    set_name(HOST_NAME)?;
    set_child_subreaper(Some(getpid()))?;
    kin::begin();
    Ok(())
}
