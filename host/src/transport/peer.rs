//! Who is at the other end of a socket, and whether it may be.
//!
//! A peer must be of the same user, and must not come out of an action that this or
//! another host started: a command that may not decide must not let itself be decided.

use super::frames::WireError;
use crate::exec::inside::{is_inside_an_action, started};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};
use tokio::net::UnixStream;

/// Whether the peer may connect.
pub(super) fn admit(stream: &UnixStream) -> Result<(), WireError> {
    let refused = |why: &str| Err(WireError::new(-32600, "peerRefused", why));
    let Ok(peer) = stream.peer_cred() else {
        return refused("the system does not say who connects");
    };
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return refused("this host serves its own user only");
    }
    // A peer of a process namespace that is not seen from here has no number, or zero.
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
    match pid.and_then(|pid| is_inside(pid, stream)) {
        Some(false) => Ok(()),
        Some(true) => {
            refused("a command that placet runs may not reach the host; run this outside")
        }
        None => refused("it cannot be told that this is no command that placet runs"),
    }
}

/// Whether the peer, which had this number when it connected, is inside an action.
///
/// A number is given again when its process has ended. So the process that connected
/// must still be there afterwards: then what was seen of the number was seen of it.
fn is_inside(pid: u32, stream: impl AsFd) -> Option<bool> {
    let peer = handle(stream).ok()?;
    let before = started(pid)?;
    let inside = is_inside_an_action(pid)?;
    let same = match peer {
        Some(peer) => lives(&peer),
        // The kernel is older than 6.5: what had the number before it was looked at
        // cannot be told, only that it did not change hands meanwhile.
        None => started(pid)? == before,
    };
    same.then_some(inside)
}

/// A handle of the process that connected; none where the kernel has none to give.
fn handle(stream: impl AsFd) -> io::Result<Option<OwnedFd>> {
    let mut number: libc::c_int = -1;
    let mut length: libc::socklen_t = size_of::<libc::c_int>().try_into().unwrap_or_default();
    // SAFETY: the socket is open as long as `stream` is borrowed, and the kernel writes
    // no more than `length` bytes to `number`.
    let result = unsafe {
        libc::getsockopt(
            stream.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            (&raw mut number).cast(),
            &raw mut length,
        )
    };
    if result == 0 && number >= 0 {
        // SAFETY: the kernel has just opened it for this call.
        return Ok(Some(unsafe { OwnedFd::from_raw_fd(number) }));
    }
    let error = io::Error::last_os_error();
    match Errno::from_io_error(&error) {
        Some(Errno::NOPROTOOPT) => Ok(None),
        _ => Err(error),
    }
}

/// Whether the process of a handle has not ended.
fn lives(process: &OwnedFd) -> bool {
    let mut watched = [PollFd::new(process, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut watched, Some(&now)), Ok(0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::{handle, is_inside, lives};
    use std::io::Read as _;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::{Command, Stdio};

    /// Who connects in a process of its own; it is this very test.
    const CONNECTS_TO: &str = "TEST_CONNECTS_TO";

    #[test]
    #[expect(clippy::zombie_processes, reason = "who would wait ends at once, which is the point")]
    fn a_peer_that_has_ended_is_not_taken_for_who_has_its_number() {
        if let Some(socket) = std::env::var_os(CONNECTS_TO) {
            // Its end of the connection stays open in the process that it leaves behind.
            let stream = UnixStream::connect(socket).unwrap();
            let held = std::os::fd::OwnedFd::from(stream);
            Command::new("cat").stdout(held).spawn().unwrap();
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let own = UnixStream::connect(&path).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert_eq!(is_inside(std::process::id(), &accepted), Some(false), "this very process");
        drop(own);
        let mut peer = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "transport::peer::tests::a_peer_that_has_ended_is_not_taken_for_who_has_its_number",
            ])
            .env(CONNECTS_TO, &path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // The process that holds the connection ends with this.
        let _input = peer.stdin.take();
        let (mut stream, _) = listener.accept().unwrap();
        assert!(peer.wait().unwrap().success());
        stream.set_nonblocking(true).unwrap();
        assert!(stream.read(&mut [0]).is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock));
        // Whoever has the number by now (it is this process, say): it did not connect.
        let told = is_inside(std::process::id(), &stream);
        match handle(&stream) {
            Ok(Some(handle)) => assert!(!lives(&handle) && told.is_none(), "{told:?}"),
            Ok(None) => assert_eq!(told, Some(false), "this kernel cannot tell"),
            Err(_) => assert_eq!(told, None),
        }
    }
}
