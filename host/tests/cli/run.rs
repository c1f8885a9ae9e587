//! `placet run`: without anybody to ask, and with a person at a terminal.

use crate::common::{CHOICE, Ended, Home, Host, Terminal, program};
use crate::refused;
use std::fs;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Runs it in the workspace, where nobody can be asked.
fn run(home: &Home, arguments: &[&str]) -> Ended {
    let mut command = home.command(&[&["run"], arguments].concat());
    let output = command.current_dir(home.workspace()).stdin(Stdio::null()).output().unwrap();
    Ended {
        code: output.status.code().expect("it ended by itself"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The session that the last line names.
fn session(err: &str) -> String {
    let last = err.trim_end().lines().last().unwrap_or_default();
    let session = last.strip_prefix("placet: log: placet log show ");
    session.unwrap_or_else(|| panic!("the last line names no session: {err}")).to_owned()
}

/// How many approvals of a session wait, and how many were decided.
fn approvals(home: &Home, session: &str) -> (usize, usize) {
    let opened = home.bodies(session, "approvalOpened").len();
    let resolved = home.bodies(session, "approvalResolved").len();
    (opened - resolved, resolved)
}

fn made(home: &Home, file: &str) -> bool {
    home.workspace().join(file).exists()
}

#[test]
fn what_is_covered_runs_with_its_own_output_and_status() {
    let home = Home::new();
    fs::write(home.workspace().join("a b"), "").unwrap();
    let check = |arguments: &[&str], code: i32, out: &str| {
        println!("{arguments:?}");
        let ended = run(&home, arguments);
        assert_eq!((ended.code, ended.out.as_str()), (code, out), "{}", ended.err);
        assert!(home.records(&session(&ended.err)).len() > 5);
    };
    check(&["ls"], 0, "a b\n");
    check(&["ls; ls nope"], 2, "a b\nls: cannot access 'nope': No such file or directory\n");
    check(&["ls", "a b"], 0, "a b\n");
    check(&["--", "ls", "-1"], 0, "a b\n");
    check(
        &["--mode", "allowAll", "--", "ls", "-1", "--mode"],
        2,
        "ls: unrecognized option '--mode'\nTry 'ls --help' for more information.\n",
    );
    check(&["--mode", "allowAll", "printf 'x\\ny'; exit 7"], 7, "x\ny");
    check(&["--mode", "allowAll", "kill -9 $$"], 137, "");
    check(&["--mode", "allowAll", "--cwd", "..", "cd workspace; ls"], 0, "a b\n");
}

#[test]
fn without_a_terminal_what_nothing_covers_is_refused_with_a_code_of_its_own() {
    let home = Home::new();
    let ended = run(&home, &["touch made"]);
    assert_eq!((ended.code, ended.out.as_str()), (10, ""), "{}", ended.err);
    assert!(!made(&home, "made"));
    for words in ["no terminal", "denyUnmatched", "`touch made`", "--mode promptUnmatched"] {
        assert!(ended.err.contains(words), "`{words}` in: {}", ended.err);
    }
    let started = home.bodies(&session(&ended.err), "sessionStarted");
    assert!(started[0].to_string().contains("denyUnmatched"), "{started:?}");
}

#[test]
fn a_question_that_nobody_can_be_asked_is_left_for_later() {
    let home = Home::new();
    let ended = run(&home, &["--mode", "promptUnmatched", "touch made && mkdir ran && ls"]);
    assert_eq!((ended.code, ended.out.as_str()), (12, ""), "{}", ended.err);
    let session = session(&ended.err);
    assert!(ended.err.contains(&format!("placet run --session {session}")), "{}", ended.err);
    assert_eq!(approvals(&home, &session), (1, 0));

    let again = run(&home, &["--session", &session]);
    assert_eq!((again.code, again.out.as_str()), (12, ""), "{}", again.err);
    assert_eq!(approvals(&home, &session), (1, 1), "recovery closed the first");
    assert!(!made(&home, "made"));

    let mut terminal = Terminal::open(&home, &["run", "--session", &session]);
    terminal.shows(CHOICE);
    terminal.types("1\n");
    terminal.shows("stage 2 of 3: \"mkdir\" \"ran\" [unresolved] <- to decide");
    terminal.shows(CHOICE);
    terminal.types("1\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("\nmade\nran\n") && made(&home, "made"), "{shown}");
    assert_eq!(approvals(&home, &session), (0, 3));
    refused_with(&run(&home, &["--session", &session]), 2, &["nothing is pending", &session]);
}

/// Refused before anything happened.
fn refused_with(ended: &Ended, code: i32, words: &[&str]) {
    refused(ended, code, words);
}

#[test]
fn what_makes_no_sense_is_said_before_anything_runs() {
    let home = Home::new();
    for (arguments, word) in [
        ([].as_slice(), "COMMAND"),
        (&["--mode", "askMe", "ls"], "promptUnmatched"),
        (&["--mode", "allowAll", "--session", "x"], "--session"),
        (&["--cwd", ".", "--session", "x"], "--session"),
        (&["--nope", "ls"], "--nope"),
    ] {
        let ended = run(&home, arguments);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(word), "{arguments:?}: {}", ended.err);
    }
    assert!(!home.database().exists(), "no home was made for that");
    refused_with(&run(&home, &["--session", "nobody", "ls"]), 2, &["no session nobody"]);
    refused_with(&run(&home, &["--mode", "allowAll", "--cwd", "nope", "ls"]), 2, &["nope"]);
    fs::write(home.path().join("placet.toml"), "[authority]\nstdio = \"onRequest\"\n").unwrap();
    refused_with(&run(&home, &["--mode", "allowAll", "ls"]), 3, &["allowAll"]);
    fs::write(home.path().join("placet.toml"), "[nope]\n").unwrap();
    assert_eq!(run(&home, &["ls"]).code, 3);
}

#[test]
fn help_says_how_and_with_which_exit_codes() {
    let home = Home::new();
    let check = |verb: &str, words: &[&str]| {
        let ended = home.run(&[verb, "--help"]);
        assert_eq!((ended.code, ended.err.as_str()), (0, ""));
        for word in words.iter().chain(&["Examples:", "Usage: placet"]) {
            assert!(ended.out.contains(word), "`{word}` in: {}", ended.out);
        }
    };
    check("run", &["10  policy refused it", "12  it waits for a decision", "denyUnmatched", "--"]);
    check("pending", &["placet decide APPROVAL CHOICE", "--json"]);
    check("decide", &["14  somebody else decided first", "--stage", "--feedback"]);
}

#[test]
fn a_command_behind_a_question_waits_for_its_turn() {
    let home = Home::new();
    let ended = run(&home, &["--mode", "promptUnmatched", "touch first"]);
    let session = session(&ended.err);
    let mut terminal = Terminal::open(&home, &["run", "--session", &session, "ls; touch second"]);
    let shown = terminal.shows(CHOICE);
    assert!(
        shown.contains("the command comes after it") && shown.contains("| touch first"),
        "{shown}"
    );
    terminal.types("1\n");
    let shown = terminal.shows(CHOICE);
    assert!(made(&home, "first") && shown.contains("| ls; touch second"), "{shown}");
    terminal.types("1\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("first\n") && made(&home, "second"), "{shown}");
}

#[test]
fn a_session_that_another_host_holds_is_not_taken_from_it() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    refused(&run(&home, &["--session", &session, "ls"]), 4, &["another host", "placet pending"]);
    assert_eq!(host.close(), (0, String::new()));
    assert_eq!(run(&home, &["--session", &session, "ls"]).code, 0);
}

#[test]
fn a_command_that_placet_runs_cannot_run_placet() {
    let home = Home::new();
    let inner = format!("{} run --mode allowAll 'touch made'", program().display());
    let ended = run(&home, &["--mode", "allowAll", &inner]);
    assert_eq!(ended.code, 10, "{}", ended.err);
    assert!(ended.out.contains("do it from outside"), "{}", ended.out);
    assert!(!made(&home, "made"));
}

#[test]
fn more_output_than_is_kept_is_said_to_be_missing() {
    let home = Home::new();
    let ended = run(&home, &["--mode", "allowAll", "seq 100000"]);
    assert_eq!((ended.code, ended.out.len()), (0, 64 * 1024), "{}", ended.err);
    assert!(ended.out.starts_with("1\n2\n3\n") && ended.err.contains("more output"));
}

/// A run of this command, once it has begun to print.
fn printing(home: &Home, script: &str) -> Child {
    let mut command = home.command(&["run", "--mode", "allowAll", script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.current_dir(home.workspace()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
    child
}

fn ended(mut child: Child) -> (i32, String) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_command_that_is_interrupted_or_not_read_any_more_is_ended() {
    let check = |end: &dyn Fn(&mut Child)| {
        let home = Home::new();
        let mut child = printing(&home, "while echo x; do sleep 0.01; done; touch went_on");
        end(&mut child);
        let (code, err) = ended(child);
        assert_eq!(code, 13, "{err}");
        assert!(err.contains("did not run to its end"), "{err}");
        let ends = home.bodies(&session(&err), "itemEnded");
        assert!(ends[0].to_string().contains("cancelled"), "{ends:?}");
        assert!(!made(&home, "went_on"));
    };
    for signal in ["INT", "TERM", "HUP"] {
        check(&|child| {
            let pid = child.id().to_string();
            assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        });
    }
    check(&|child| drop(child.stdout.take()));
}

#[test]
fn a_person_sees_stages_and_menu_and_no_key_is_a_default() {
    let home = Home::new();
    let mut terminal = Terminal::open(&home, &["run", "cat 'a b' | tee \"$HOME/x\"; exit 7"]);
    let shown = terminal.shows(CHOICE);
    let stage = |number: u32| {
        let beginning = format!("  stage {number} of 3: ");
        shown.lines().find(|line| line.starts_with(&beginning)).unwrap_or_else(|| panic!("{shown}"))
    };
    assert!(shown.contains("\n  | cat 'a b' | tee \"$HOME/x\"; exit 7\n"), "{shown}");
    assert!(stage(1).ends_with("\"cat\" \"a b\" [knownSafe]"), "{shown}");
    assert!(stage(2).contains("[unresolved]") && stage(2).ends_with("<- to decide"), "{shown}");
    assert!(stage(3).ends_with("\"exit\" \"7\" [knownSafe]"), "{shown}");
    assert!(shown.contains("\n  1  Allow once  (scope: once)\n"), "{shown}");
    assert!(shown.contains("\n  3  Reject  (scope: once; takes feedback)\n"), "{shown}");
    for nothing in ["", " ", "y", "yes", "0", "4", "-1", "1x", "allow_once", "\u{1b}[A"] {
        terminal.types(&format!("{nothing}\n"));
        let answer = terminal.shows(CHOICE);
        assert!(answer.contains("is no choice: type a number from 1 to 3"), "{answer}");
    }
    terminal.types("3\n");
    terminal.shows("feedback to the agent (an empty line gives none): ");
    terminal.types("use the other folder\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 11, "{shown}");
    let session = session(&shown);
    assert_eq!(approvals(&home, &session), (0, 1));
    assert!(home.bodies(&session, "executionStarted").is_empty(), "nothing ran");
    let told = home.records(&session).iter().any(|record| {
        String::from_utf8_lossy(record.body.as_ref().unwrap()).contains("use the other folder")
    });
    assert!(!told, "feedback is never stored");
}

#[test]
fn a_choice_for_the_session_shows_what_it_covers_and_holds_in_it() {
    let home = Home::new();
    let mut terminal = Terminal::open(&home, &["run", "touch made; exit 3"]);
    // One decision settles the whole of it only where one stage is open.
    terminal.shows(CHOICE);
    terminal.types("\u{3}");
    assert_eq!(terminal.ends().0, 12);

    let mut terminal = Terminal::open(&home, &["run", "touch made"]);
    let shown = terminal.shows(CHOICE);
    let folder = home.workspace().canonicalize().unwrap();
    let preview = shown.lines().find(|line| line.starts_with("     covers: ")).unwrap();
    assert!(
        preview.contains("touch made") && preview.contains(folder.to_str().unwrap()),
        "{shown}"
    );
    terminal.types("2\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    fs::remove_file(home.workspace().join("made")).unwrap();
    let session = session(&shown);
    let again = run(&home, &["--session", &session, "touch made"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(made(&home, "made"), "it ran unasked");
    assert_eq!(run(&home, &["--session", &session, "touch other"]).code, 12);
}

#[test]
fn what_cannot_be_seen_is_made_visible() {
    let home = Home::new();
    let script = "touch a\u{202e}b 'c\u{200b}d' '\u{1b}[2K' 'n\n  1  Allow all\nl'";
    let mut terminal = Terminal::open(&home, &["run", script]);
    let shown = terminal.shows(CHOICE);
    for hidden in ['\u{202e}', '\u{200b}', '\u{1b}'] {
        assert!(!shown.contains(hidden), "{shown:?}");
    }
    let words = r#""touch a\u{202e}b 'c\u{200b}d' '\u{1b}[2K' 'n\n  1  Allow all\nl'" (incomplete"#;
    assert!(shown.contains(words), "{shown}");
    assert!(shown.contains("\n  |   1  Allow all\n"), "{shown}");
    assert!(!shown.contains("\n  1  Allow all"), "{shown}");
    // What cannot be shown in full gets no choice that lasts.
    assert!(!shown.contains("     covers: ") && shown.contains("  2  Reject"), "{shown}");
    terminal.types("\u{3}");
    assert_eq!(terminal.ends().0, 12);
}

#[test]
fn who_leaves_decides_nothing() {
    let check = |leave: &dyn Fn(&mut Terminal)| {
        let home = Home::new();
        let mut terminal = Terminal::open(&home, &["run", "touch made"]);
        terminal.shows(CHOICE);
        leave(&mut terminal);
        let (code, shown) = terminal.ends();
        assert_eq!(code, 12, "{shown}");
        let session = session(&shown);
        assert!(shown.contains(&format!("placet run --session {session}")), "{shown}");
        assert!(shown.contains("placet pending"), "{shown}");
        assert_eq!(approvals(&home, &session), (1, 0));
        assert!(!made(&home, "made"));
    };
    check(&|terminal| terminal.types("\u{3}"));
    check(&|terminal| terminal.types("\u{4}"));
    check(&Terminal::ends_input);
    check(&|terminal| {
        terminal.types("4\n");
        terminal.shows("feedback to the agent");
        terminal.types("\u{3}");
    });
}

#[test]
fn a_terminal_that_goes_away_decides_nothing_and_the_host_ends_in_order() {
    let home = Home::new();
    let mut terminal = Terminal::open(&home, &["run", "touch made"]);
    terminal.shows(CHOICE);
    let listed = home.run(&["pending", "--json"]).out;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let session = listed["approvals"][0]["sessionId"].as_str().unwrap().to_owned();
    terminal.goes_away();
    let closed = || !home.bodies(&session, "sessionClosed").is_empty();
    assert!((0..6000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        closed()
    }));
    assert_eq!(approvals(&home, &session), (1, 0));
    assert!(!made(&home, "made"));
}

#[test]
fn what_was_typed_before_the_question_does_not_answer_it() {
    let home = Home::new();
    // The components are compiled anew, so that the question comes late.
    fs::remove_dir_all(home.path().join("cache")).unwrap();
    let mut terminal = Terminal::open(&home, &["run", "touch made"]);
    terminal.types("1\n");
    assert!(!terminal.shows("1\n").contains("may this run"), "it was typed too late");
    terminal.shows(CHOICE);
    terminal.types("x\n");
    terminal.shows("is no choice");
    terminal.shows(CHOICE);
    terminal.types("\u{3}");
    assert_eq!(terminal.ends().0, 12);
    assert!(!made(&home, "made"));
}

#[test]
fn a_command_that_reads_as_a_turn_of_the_agent_is_a_command_all_the_same() {
    let home = Home::new();
    for script in [
        r#"{"tool":"write_file","args":{"path":"made","content":"x"}}"#,
        r#" {"say":"hello"}"#,
        r#"{"a":1}"#,
    ] {
        let ended = run(&home, &["--mode", "allowAll", script]);
        assert_eq!(ended.code, 127, "the shell looks for it: {}{}", ended.out, ended.err);
        assert!(ended.out.contains("command not found"), "{}", ended.out);
        assert!(!made(&home, "made"));
    }
}

#[test]
fn what_another_client_left_is_asked_about_whatever_its_kind() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    let turn = host.turn(
        &session,
        r#"{"actions":[
            {"tool":"beam","args":{"to":"\u202ethere"},"subject":{"kind":"teleport\n","to":"x"}},
            {"tool":"fetch","args":{"url":"https://example.org"},
             "subject":{"kind":"network","host":"example.org","port":443,"protocol":"https"}}]}"#,
    );
    host.event("approval/requested", &turn);
    assert_eq!(host.close(), (0, String::new()));

    let mut terminal = Terminal::open(&home, &["run", "--session", &session]);
    let shown = terminal.shows(CHOICE);
    let lines: Vec<&str> = shown.lines().collect();
    for line in [
        "  kind: teleport\\u{a}",
        "  tool: \"beam\"",
        "  1  Allow once  (scope: once)",
        "  2  Reject  (scope: once; takes feedback)",
    ] {
        assert!(lines.contains(&line), "`{line}` in {shown}");
    }
    assert!(!shown.contains('\u{202e}'), "{shown}");
    terminal.types("2\n");
    terminal.shows("feedback");
    terminal.types("\n");
    let shown = terminal.shows(CHOICE);
    for line in ["  kind: network", "  host: \"example.org\"", "  port: 443"] {
        assert!(shown.lines().any(|shown| shown == line), "`{line}` in {shown}");
    }
    assert!(shown.contains("covers: "), "{shown}");
    terminal.types("1\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(approvals(&home, &session).0, 0);
}

#[test]
fn rules_for_one_run_count_there_alone() {
    let home = Home::new();
    let rules = home.workspace().join("ci.toml");
    fs::write(&rules, "[[rule]]\neffect = \"allow\"\nshell = [\"touch\", \"made\"]\n").unwrap();
    let ended = run(&home, &["touch", "made"]);
    assert_eq!((ended.code, made(&home, "made")), (10, false), "{}", ended.err);
    let ended = run(&home, &["--rules", "ci.toml", "touch", "made"]);
    assert_eq!((ended.code, made(&home, "made")), (0, true), "{}", ended.err);
    fs::write(&rules, "[[rule]]\neffect = \"alow\"\n").unwrap();
    for (file, word) in [("ci.toml", "ci.toml:2:10: error: "), ("nowhere.toml", "nowhere.toml")] {
        let ended = run(&home, &["--rules", file, "ls"]);
        assert_eq!((ended.code, ended.out.as_str()), (3, ""), "{}", ended.err);
        assert!(ended.err.contains(word), "{}", ended.err);
    }
}
