//! The sandbox itself: it records what starts, and nothing gets out of it.

use std::net::TcpListener;

use placet_tests::oracle::sandbox::{Ran, Sandbox};

use super::inside;

fn run(sandbox: &mut Sandbox, command: &str) -> Ran {
    sandbox.run(command, &["pfoo".into(), "p./x".into()], false).unwrap()
}

/// What builtins print, on the one stream that is kept.
fn told(command: &str) -> String {
    let mut sandbox = Sandbox::start(inside()).unwrap();
    run(&mut sandbox, &format!("{{ {command}\n}} 1>&2")).errors
}

#[test]
fn starts_are_recorded_word_for_word() {
    let mut sandbox = Sandbox::start(inside()).unwrap();
    let command = "ls 'a b' $'x\\ny' \"\"; foo | PAGER=z /bin/rm -rf / $'\\xff'; ./x; nothing";
    let ran = run(&mut sandbox, command);
    let starts: Vec<_> = ran
        .starts
        .iter()
        .map(|start| (start.argv.concat(), start.program.clone(), start.changed.join(" ")))
        .collect();
    let line = |words: &[u8], program: &str, changed: &str| {
        (words.to_vec(), program.as_bytes().to_vec(), changed.to_owned())
    };
    assert!(starts.contains(&line(b"lsa bx\ny", "/usr/bin/ls", "")), "{starts:?}");
    assert!(starts.contains(&line(b"foo", "/scratch/bin/foo", "")), "{starts:?}");
    assert!(starts.contains(&line(b"/bin/rm-rf/\xff", "/usr/bin/rm", "PAGER")), "{starts:?}");
    assert!(starts.contains(&line(b"./x", "/scratch/work/x", "")), "{starts:?}");
    assert_eq!(starts.len(), 4, "{starts:?}");
    assert_eq!(ran.ended, "ended");
}

#[test]
fn a_trace_shows_builtins_and_functions() {
    let mut sandbox = Sandbox::start(inside()).unwrap();
    let ran = sandbox.run("f() { cd \"$1 b\"; }; f $'a\\n'", &[], true).unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.trace), "+ f 'a\n'\n+ cd 'a\n b'\n");
}

#[test]
fn nothing_of_the_machine_is_inside() {
    let ours = "bin decoy dev etc lib lib64 old oracle proc sbin scratch tmp usr";
    let root = told("cd /; echo *");
    assert!(root.split_whitespace().all(|name| ours.split(' ').any(|ours| name == ours)), "{root}");
    assert_eq!(
        told("echo /old/* /dev/*"),
        "/old/* /dev/fd /dev/null /dev/stderr /dev/stdin /dev/stdout /dev/zero\n"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    told(&format!("mkdir -p /tmp; echo x > '{}'", file.path().display()));
    assert_eq!(std::fs::read(file.path()).unwrap(), b"");
}

#[test]
fn only_the_scratch_folder_can_be_written() {
    for place in [
        "/x",
        "/usr/bin/x",
        "/usr/bin/rm",
        "/decoy/rm",
        "/oracle/bash",
        "/oracle/inside",
        "/oracle/trace.sh",
        "/etc/passwd",
        "/dev/x",
    ] {
        let errors = told(&format!("echo x > {place} && echo written"));
        assert!(errors.contains("Read-only") || errors.contains("denied"), "{place}: {errors}");
    }
    let stub = told("echo x > /scratch/.stub && echo written");
    assert!(stub.contains("denied"), "{stub}");
    assert_eq!(
        told("echo x > /scratch/work/y && echo x > /tmp/y && echo x > ~/y && echo written"),
        "written\n"
    );
}

#[test]
fn what_runs_has_no_rights() {
    let status = told("while read -r line; do echo \"$line\"; done < /proc/self/status");
    for (name, value) in [
        ("CapEff", "0000000000000000"),
        ("CapPrm", "0000000000000000"),
        ("CapInh", "0000000000000000"),
        ("CapAmb", "0000000000000000"),
        ("NoNewPrivs", "1"),
        ("Uid", "1000\t1000\t1000\t1000"),
    ] {
        assert!(status.contains(&format!("{name}:\t{value}\n")), "{name}: {status}");
    }
    assert_eq!(told("echo /proc/1/* /proc/sys* /proc/kcore"), "/proc/1/* /proc/sys* /proc/kcore\n");
    let errors = told("echo x > /proc/self/oom_score_adj");
    assert!(errors.contains("Read-only"), "{errors}");
}

#[test]
fn there_is_no_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let errors = told(&format!("echo x > /dev/tcp/127.0.0.1/{port} && echo sent"));
    assert!(errors.contains("Network is unreachable"), "{errors}");
    assert!(listener.accept().is_err());
}

/// Each of these ends, and the next command finds a sandbox as if it had not been.
#[test]
fn what_a_command_does_ends_with_it() {
    let mut sandbox = Sandbox::start(inside()).unwrap();
    for command in [
        "kill -9 -1",
        "kill -9 1",
        "kill -STOP $$",
        "kill -9 $PPID $$",
        "while :; do :; done",
        "while :; do ls; done",
        "trap '' TERM INT HUP; while :; do read; done < /dev/zero",
        "f() { f | f & }; f",
        "while :; do echo xxxxxxxxxxxxxxxx; done > big",
        "x=x; while :; do x=$x$x; done",
        "(while :; do :; done) & (while :; do :; done) &",
        "echo x > a.txt; echo y > /tmp/y; echo z > new",
        "exec 0<&- 1>&- 2>&-; ls",
        "ulimit -n 3; ls",
        "cd /; PATH=; ls",
        "f() { f; }; f",
        "echo {1..99999999}",
    ] {
        run(&mut sandbox, command);
        let ran = run(&mut sandbox, "read -r line < a.txt; echo \"$line\" * /tmp/* >&2; ls -l");
        assert_eq!(ran.errors, "one two -n a.txt b.txt c d.txt src x {x,y} /tmp/*\n", "{command}");
        assert_eq!(ran.starts.len(), 1, "{command}");
        assert_eq!(ran.starts[0].argv, [b"ls".to_vec(), b"-l".to_vec()], "{command}");
    }
}
