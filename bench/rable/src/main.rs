//! Holds rable and our parser against what bash ran, and times both.
//!
//! The file comes from the oracle: `PLACET_ORACLE_RECORD=/some/file cargo test --test
//! oracle`. Then `cargo run --release -- /some/file`.

mod shown;

use std::time::{Duration, Instant};

use placet_policy::shell;
use shown::{Line, of_ours, of_rable};

/// What one parser makes of all commands.
#[derive(Default)]
struct Figures {
    parsed: usize,
    complete: usize,
    uncovered: usize,
    starts: usize,
    complete_starts: usize,
    examples: Vec<String>,
}

fn main() {
    let file = std::env::args().nth(1).expect("a file of the oracle");
    let text = std::fs::read_to_string(file).expect("the file");
    let mut commands = Vec::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        let starts: Vec<Vec<String>> =
            serde_json::from_value(line["starts"].clone()).expect("starts");
        commands.push((line["command"].as_str().expect("a command").to_owned(), starts));
    }
    let (mut rable, mut ours) = (Figures::default(), Figures::default());
    let (mut wrong_spans, mut spans) = (0, 0);
    for (command, starts) in &commands {
        let parsed = rable::parse(command, false).ok();
        if let Some(nodes) = &parsed {
            let (wrong, all) = shown::spans(nodes, command);
            wrong_spans += wrong;
            spans += all;
        }
        add(&mut rable, command, starts, parsed.map(|nodes| of_rable(&nodes)));
        let parsed = shell::stages(command, Some("/scratch/home"));
        add(&mut ours, command, starts, (!parsed.opaque).then(|| of_ours(&parsed)));
    }
    for (name, figures) in [("rable", &rable), ("ours", &ours)] {
        println!(
            "{name}: {} commands, {} parsed, {} complete; {} starts, {} by a complete stage; {} commands with something uncovered",
            commands.len(),
            figures.parsed,
            figures.complete,
            figures.starts,
            figures.complete_starts,
            figures.uncovered
        );
        for example in figures.examples.iter().take(25) {
            println!("    {example}");
        }
    }
    println!("rable: {wrong_spans} of {spans} commands have a span that does not hold their words");
    times(&commands);
}

/// A command that is not parsed is one opaque stage and covers everything.
fn add(figures: &mut Figures, command: &str, starts: &[Vec<String>], lines: Option<Vec<Line>>) {
    figures.starts += starts.len();
    let Some(lines) = lines else { return };
    figures.parsed += 1;
    figures.complete += usize::from(lines.iter().all(|line| line.complete));
    let mut missing = None;
    for start in starts {
        let covers: Vec<_> = lines.iter().filter(|line| line.covers(start)).collect();
        if covers.is_empty() {
            missing = Some(start);
        }
        figures.complete_starts += usize::from(covers.iter().any(|line| line.complete));
    }
    if let Some(start) = missing {
        figures.uncovered += 1;
        if command.len() < 70 {
            figures.examples.push(format!("{command:?} ran {start:?}"));
        }
    }
}

fn times(commands: &[(String, Vec<Vec<String>>)]) {
    let mut each: Vec<(Duration, Duration)> = Vec::new();
    for (command, _) in commands {
        each.push((
            best(|| drop(std::hint::black_box(rable::parse(command, false)))),
            best(|| drop(std::hint::black_box(shell::stages(command, None)))),
        ));
    }
    let middle = |mut times: Vec<Duration>| {
        times.sort();
        (times[times.len() / 2], times[times.len() * 99 / 100], times[times.len() - 1])
    };
    let rable = middle(each.iter().map(|(rable, _)| *rable).collect());
    let ours = middle(each.iter().map(|(_, ours)| *ours).collect());
    println!("median, 99 %, most: rable {rable:?}, ours {ours:?}");
    // Deep nesting would take rable's stack: a thread with a large one.
    let nested = std::thread::Builder::new().stack_size(1 << 30).spawn(|| {
        for (open, close) in [("echo $(", ")"), ("(", ")"), ("echo \"$(", ")\""), ("{ ", "; }"), ("echo `", "`")] {
            for depth in [5, 10, 20, 40, 80] {
                let text = [&open.repeat(depth), "ls", &close.repeat(depth)].concat();
                let start = Instant::now();
                let parsed = rable::parse(&text, false).is_ok();
                let rable = start.elapsed();
                let start = Instant::now();
                let opaque = shell::stages(&text, None).opaque;
                let ours = start.elapsed();
                println!("{open:12} {depth:3} deep: rable {rable:?} (parsed: {parsed}), ours {ours:?} (opaque: {opaque})");
                if rable > Duration::from_secs(5) {
                    break;
                }
            }
        }
    });
    nested.expect("a thread").join().expect("no overflow");
}

fn best(mut run: impl FnMut()) -> Duration {
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..3).map(|_| time(&mut run)).min().unwrap_or_default()
}
