//! Makes the sandbox. What keeps the machine out of reach:
//!
//! - fresh user, mount, process, network, IPC, host name and cgroup namespaces;
//!   nobody inside is root here or there, and nothing that runs has a capability,
//! - the root is a read-only file system in memory that holds bash, libraries and
//!   stubs; the machine's own is unmounted, so that no path leads to it,
//! - `/proc` shows the processes of the sandbox, nothing else, and is read-only,
//! - no device but null and zero; writable are the scratch folder and the record,
//!   both small and in memory.
//!
//! The process that started this one writes the map of users (it has the right to).

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use placet_tests::oracle::places;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount,
};
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, configure_capability_in_ambient_set,
    set_capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid, unshare_unsafe,
};

const MEBIBYTE: usize = 1024 * 1024;

/// Where the new root is put together; in a namespace of its own, so nobody sees it.
const ROOT: &str = "/tmp";

/// `arguments`: bash, then the files that it and the stub need.
pub(crate) fn enter(arguments: Vec<OsString>) -> Result<(), String> {
    let mut files = Vec::new();
    // Read before the namespaces: afterwards these files may be out of reach.
    for file in arguments {
        let path = PathBuf::from(file);
        let bytes =
            fs::read(&path).map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
        files.push((path, bytes));
    }
    if files.is_empty() {
        return Err("No bash was named.".into());
    }
    let (_, bash) = files.remove(0);
    let own = fs::read("/proc/self/exe").map_err(|e| format!("/proc/self/exe: {e}"))?;
    if geteuid().is_root() {
        // Refused where only one user is mapped; the groups of nobody matter inside.
        let _ = set_thread_groups(&[]);
    }
    // SAFETY: the table of descriptors stays shared with nobody; there is one thread.
    let unshared = unsafe {
        unshare_unsafe(
            UnshareFlags::NEWUSER
                | UnshareFlags::NEWNS
                | UnshareFlags::NEWPID
                | UnshareFlags::NEWNET
                | UnshareFlags::NEWIPC
                | UnshareFlags::NEWUTS
                | UnshareFlags::NEWCGROUP,
        )
    };
    step("unshare", unshared)?;
    mapped()?;
    step(
        "setgid",
        set_thread_res_gid(Gid::from_raw(1000), Gid::from_raw(1000), Gid::from_raw(1000)),
    )?;
    step(
        "setuid",
        set_thread_res_uid(Uid::from_raw(1000), Uid::from_raw(1000), Uid::from_raw(1000)),
    )?;
    step(
        "private",
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC),
    )?;
    build(&bash, &own, &files)?;
    keep_capabilities()?;
    let status = Command::new(format!("{ROOT}{}", places::INSIDE))
        .arg0("placet-oracle-run")
        .env_clear()
        .current_dir(ROOT)
        .status()
        .map_err(|e| format!("The runner could not be started: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("The runner ended with {status}.")) }
}

/// Waits until the users of the new namespace are mapped.
fn mapped() -> Result<(), String> {
    let told = std::io::stdout().write_all(b"U").and_then(|()| std::io::stdout().flush());
    told.map_err(|e| format!("stdout: {e}"))?;
    let mut answer = [0];
    std::io::stdin().read_exact(&mut answer).map_err(|e| format!("no map of users: {e}"))
}

fn build(bash: &[u8], own: &[u8], files: &[(PathBuf, Vec<u8>)]) -> Result<(), String> {
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    // The stub is this program, with whatever the tests' library has come to.
    let stub = own.len().div_ceil(MEBIBYTE);
    tmpfs(ROOT, &format!("size={}m,nr_inodes=4k,mode=755", stub.saturating_add(64)))?;
    for folder in
        ["oracle/record", "usr/bin", "usr/local", "decoy", "dev", "proc", "scratch", "old", "etc"]
    {
        make(&at(folder))?;
    }
    for link in ["bin", "sbin", "usr/sbin"] {
        step("link", symlink(places::STUBS, at(link)))?;
    }
    step("link", symlink(places::SCRATCH_STUBS, at("usr/local/bin")))?;
    step("link", symlink("/scratch/tmp", at("tmp")))?;
    program(&at(places::BASH), bash)?;
    program(&at(places::INSIDE), own)?;
    file(&at(places::TRACE_START), TRACE.as_bytes())?;
    file(
        &at("etc/passwd"),
        b"root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/scratch/home:/bin/sh\n",
    )?;
    for (path, bytes) in files {
        program(&at(path), bytes)?;
    }
    for name in places::NAMES.split_whitespace() {
        step("link", fs::hard_link(at(places::INSIDE), at(places::STUBS).join(name)))?;
        step("link", fs::hard_link(at(places::INSIDE), at(places::DECOYS).join(name)))?;
    }
    for device in ["null", "zero"] {
        file(&at("dev").join(device), b"")?;
        step("bind", mount_bind(Path::new("/dev").join(device), at("dev").join(device)))?;
    }
    for (name, number) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        step("link", symlink(format!("/proc/self/fd{number}"), at("dev").join(name)))?;
    }
    tmpfs(&format!("{ROOT}/oracle/record"), "size=16m,nr_inodes=64,mode=755")?;
    let scratch = stub.saturating_add(32);
    tmpfs(&format!("{ROOT}/scratch"), &format!("size={scratch}m,nr_inodes=2k,mode=755"))?;
    program(&at(places::SCRATCH_STUB), own)?;
    step("read-only", mount_remount(ROOT, safe | MountFlags::RDONLY, ""))
}

/// What bash runs before a command that is traced: its own file, so that the
/// command itself is read as always.
const TRACE: &str =
    "exec 250>>/oracle/record/trace; BASH_XTRACEFD=250; PS4='+ '; unset BASH_ENV; set -x\n";

fn tmpfs(target: &str, options: &str) -> Result<(), String> {
    let data = std::ffi::CString::new(options).unwrap_or_default();
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    step(target, mount("tmpfs", target, "tmpfs", safe, data.as_c_str()))
}

/// The runner, no root either, needs one capability to finish: process files and root.
fn keep_capabilities() -> Result<(), String> {
    let held = step("capabilities", capabilities(None))?;
    let sets = CapabilitySets { inheritable: CapabilitySet::SYS_ADMIN, ..held };
    step("capabilities", set_capabilities(None, sets))?;
    step("capabilities", configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true))
}

fn at(path: impl AsRef<Path>) -> PathBuf {
    Path::new(ROOT).join(path.as_ref().strip_prefix("/").unwrap_or(path.as_ref()))
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

fn file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// Executable, and not writable even by its owner.
fn program(path: &Path, bytes: &[u8]) -> Result<(), String> {
    path.parent().map_or(Ok(()), make)?;
    file(path, bytes)?;
    let mode = fs::Permissions::from_mode(0o555);
    fs::set_permissions(path, mode).map_err(|e| format!("{}: {e}", path.display()))
}

pub(crate) fn step<T, E: std::fmt::Display>(what: &str, result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| format!("{what}: {error}"))
}
