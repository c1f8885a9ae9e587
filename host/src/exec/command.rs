//! Starting bash, in the supervisor: the only unsafe code of this part.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::io::{Errno, close, fcntl_getfd};
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

use super::job::WireJob;

/// Where bash is looked for after the absolute folders of `PATH`.
const BASH_FOLDERS: [&str; 3] = ["/bin", "/usr/bin", "/usr/local/bin"];

/// Closes every descriptor but the standard ones, so that neither the command nor
/// this process holds open what a careless ancestor left inheritable (a lock, say).
pub(super) fn close_inherited() -> io::Result<()> {
    let open: Vec<RawFd> = fs::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    for number in open {
        // SAFETY: called first thing in `supervisor::main`, single threaded: no
        // object of this process owns a descriptor above 2, and what is open here
        // stays so until the next line. (The folder that listed itself is not.)
        unsafe {
            if fcntl_getfd(BorrowedFd::borrow_raw(number)).is_ok() {
                close(number);
            }
        }
    }
    Ok(())
}

/// Starts the command of `job`; the error is a sentence for people.
pub(super) fn spawn(job: WireJob, output: OwnedFd) -> Result<Pid, String> {
    let cwd = PathBuf::from(OsString::from(job.cwd));
    check_folder(&cwd)?;
    let environment: Vec<(OsString, OsString)> =
        job.environment.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let errors = output.try_clone().map_err(|error| sentence(&error))?;
    let mut command = Command::new(find_bash(&environment)?);
    command
        .arg0("bash")
        .args(["--noprofile", "--norc", "-c", "--"])
        .arg(job.command)
        .env_clear()
        .envs(environment)
        .current_dir(&cwd)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        // A group of its own: `kill 0` in the command does not reach us.
        .process_group(0);
    let supervisor = getpid();
    // SAFETY: between fork and exec this calls prctl and getppid, nothing else;
    // neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() != Some(supervisor) {
                return Err(io::Error::from(Errno::SRCH));
            }
            Ok(())
        });
    }
    // The handle goes: waiting for children is the supervisor's, for all at once.
    let child = command.spawn().map_err(|error| sentence(&error))?;
    Pid::from_raw(child.id().cast_signed()).ok_or_else(|| "bash has no process number.".into())
}

fn check_folder(cwd: &Path) -> Result<(), String> {
    if !cwd.is_absolute() {
        return Err(format!("The working folder {} is not absolute.", cwd.display()));
    }
    match fs::metadata(cwd) {
        Ok(data) if data.is_dir() => Ok(()),
        Ok(_) => Err(format!("The working folder {} is not a folder.", cwd.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(format!("The working folder {} does not exist.", cwd.display()))
        }
        Err(error) => Err(format!("The working folder {} cannot be used: {error}.", cwd.display())),
    }
}

/// bash by the absolute folders of `PATH`, then the usual ones. A relative folder
/// there is left out: it would let the workspace say what bash is.
fn find_bash(environment: &[(OsString, OsString)]) -> Result<PathBuf, String> {
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
    path.map(std::env::split_paths)
        .into_iter()
        .flatten()
        .filter(|folder| folder.is_absolute())
        .chain(BASH_FOLDERS.map(PathBuf::from))
        .map(|folder| folder.join("bash"))
        .find(|file| is_program(file))
        .ok_or_else(|| "bash was not found in PATH.".into())
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn sentence(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::TOOBIG) => {
            "The command and its environment are larger than the system lets a program be started with."
                .into()
        }
        _ => format!("bash could not be started: {error}."),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_relative_folder_in_path_does_not_choose_bash() {
        let environment = [(OsString::from("PATH"), OsString::from(":.:node_modules/.bin:/bin"))];
        assert!(find_bash(&environment).unwrap().is_absolute());
        assert!(find_bash(&[]).unwrap().is_absolute());
    }

    #[test]
    fn a_folder_that_is_none_is_said_in_a_sentence() {
        assert!(check_folder(Path::new("/")).is_ok());
        assert!(check_folder(Path::new("tmp")).unwrap_err().ends_with("is not absolute."));
        assert!(check_folder(Path::new("/proc/self/stat")).unwrap_err().ends_with("not a folder."));
        assert!(check_folder(Path::new("/none/here")).unwrap_err().ends_with("does not exist."));
    }
}
