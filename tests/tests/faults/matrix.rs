//! The process ends at every boundary in turn: four scenarios, k = 1 to N.

use crate::aftermath;
use crate::client::{Client, Gone};
use crate::place::Place;
use crate::steps;
use crate::told::Told;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Host processes at a time; the machines that run this have two cores.
const WORKERS: usize = 2;

/// Each scenario passes at least so many boundaries.
const BOUNDARIES_MIN: usize = 20;

/// One matrix at a time, so that there are never more hosts than workers.
static TURN: Mutex<()> = Mutex::new(());

struct Scenario {
    name: &'static str,
    /// What happens before the host that is ended; what was told then.
    before: fn(&Place) -> Vec<Told>,
    /// What a client does with the host that is ended.
    act: fn(&Place, &mut Client) -> Result<(), Gone>,
}

#[test]
fn decide() {
    every_boundary(&Scenario {
        name: "decide",
        before: |_| Vec::new(),
        act: |place, client| {
            let session = steps::start(place, client, "promptUnmatched")?;
            let turn = steps::turn(client, &session, &steps::command(place))?;
            steps::allow(place, client, &session, &turn)
        },
    });
}

#[test]
fn start() {
    every_boundary(&Scenario {
        name: "start",
        before: |_| Vec::new(),
        act: |place, client| {
            let session = steps::start(place, client, "promptUnmatched")?;
            let turn = steps::turn(client, &session, &steps::command(place))?;
            steps::asked(client, &turn, 0).map(drop)
        },
    });
}

#[test]
fn recovery() {
    every_boundary(&Scenario {
        name: "recovery",
        before: |place| {
            // Killed between the stages: the successor begins again at the first.
            let mut host = place.host();
            let client = &mut host.client;
            let session = steps::start(place, client, "promptUnmatched").unwrap();
            let turn = steps::turn(client, &session, &steps::command(place)).unwrap();
            let asked = steps::asked(client, &turn, 0).unwrap();
            let decision = steps::decision(&session, &asked, "allow_once");
            client.ok("approval/decide", decision).unwrap();
            steps::asked(client, &turn, 2).unwrap();
            vec![host.kill()]
        },
        act: |place, client| {
            let (session, _) = place.session().unwrap();
            let resumed = steps::resume(client, &session)?;
            let turn = resumed["session"]["activeTurnId"].as_str().unwrap().to_owned();
            steps::allow(place, client, &session, &turn)
        },
    });
}

#[test]
fn keeping() {
    every_boundary(&Scenario {
        name: "keeping",
        before: |_| Vec::new(),
        act: |place, client| {
            let session = steps::start(place, client, "promptUnmatched")?;
            let command = format!("touch made && {}", steps::command(place));
            let turn = steps::turn(client, &session, &command)?;
            steps::allow_and_keep(place, client, &session, &turn)
        },
    });
}

/// What became of one run.
struct Run {
    /// The boundaries that were passed, by name.
    passed: Vec<String>,
    aborted: bool,
    wrong: Vec<String>,
}

fn every_boundary(scenario: &Scenario) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let began = Instant::now();
    let counted = run(scenario, None);
    assert_eq!(counted.wrong, Vec::<String>::new(), "{} without a fault", scenario.name);
    let boundaries = counted.passed.len();
    assert!(boundaries >= BOUNDARIES_MIN, "{}: only {:?}", scenario.name, counted.passed);

    let runs: Mutex<BTreeMap<u64, Run>> = Mutex::default();
    let next = AtomicU64::new(1);
    let over = AtomicU64::new(u64::MAX);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    // On past N, for the order of things differs a little from run to run.
                    let k = next.fetch_add(1, Ordering::SeqCst);
                    if k > over.load(Ordering::SeqCst) {
                        return;
                    }
                    let run = run(scenario, Some(k));
                    if !run.aborted && k > boundaries as u64 {
                        over.fetch_min(k, Ordering::SeqCst);
                    }
                    runs.lock().unwrap().insert(k, run);
                }
            });
        }
    });
    let runs = runs.into_inner().unwrap();
    let mut at: BTreeMap<&str, usize> = BTreeMap::new();
    for run in runs.values().filter(|run| run.aborted) {
        *at.entry(run.passed.last().unwrap()).or_default() += 1;
    }
    let aborted: usize = at.values().sum();
    // Past the harness's capture: the figures are a result.
    let _ = writeln!(
        std::io::stderr(),
        "fault points of {}: N = {boundaries}, ended at {aborted} of them {at:?}, {:.1} s",
        scenario.name,
        began.elapsed().as_secs_f64()
    );
    let wrong: Vec<String> = runs
        .iter()
        .flat_map(|(k, run)| {
            let at = run.passed.last().map_or("", String::as_str);
            run.wrong.iter().map(move |what| format!("k = {k} ({at}): {what}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}:\n{}", scenario.name, wrong.join("\n"));
    for name in &counted.passed {
        assert!(at.contains_key(name.as_str()), "{}: never ended at {name}", scenario.name);
    }
    assert!(aborted >= BOUNDARIES_MIN, "{}: ended at {aborted} only", scenario.name);
}

/// Says where a panic happened, and what the hosts said on stderr.
struct Where<'a>(&'a Scenario, Option<u64>, &'a Place);

impl Drop for Where<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Where(scenario, at, place) = self;
            eprintln!("in {} with a fault at {at:?}: {}", scenario.name, place.complaints());
        }
    }
}

/// One run in a home of its own, ended at a boundary or not at all.
fn run(scenario: &Scenario, at: Option<u64>) -> Run {
    let place = Place::new();
    let _where = Where(scenario, at, &place);
    let mut told = (scenario.before)(&place);
    let log = place.home().with_file_name("boundaries.txt");
    let mut environment = vec![("PLACET_FAULT_LOG", log.display().to_string())];
    environment.extend(at.map(|k| ("PLACET_FAULT_AT", k.to_string())));
    let mut host = place.host_with(&environment);
    let acted =
        steps::greet(&mut host.client).and_then(|()| (scenario.act)(&place, &mut host.client));
    let (status, said) = host.close();
    told.push(said);
    let aborted = status.signal() == Some(rustix::process::Signal::ABORT.as_raw());
    let mut wrong = Vec::new();
    if !aborted && (acted.is_err() || status.code() != Some(0)) {
        wrong.push(format!("the host ended by itself with {status}"));
    }
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let name = |line: &str| line.split_once(' ').map(|(_, name)| name.to_owned());
    let passed: Vec<String> = text.lines().filter_map(name).collect();
    wrong.extend(aftermath::wrongs(&place, told));
    Run { passed, aborted, wrong }
}
