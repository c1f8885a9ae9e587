//! The life of hosts on one home: started, driven by several clients, killed, checked.

use super::book::Book;
use super::driver::{Driver, Life};
use super::figures::Figures;
use super::judge::Judge;
use super::turns::{Slot, Work};
use super::wrong::{Kind, Wrong};
use crate::live::client::{Client, PATIENCE};
use crate::live::place::{Host, Place, Process};
use crate::live::processes::pause;
use crate::live::told::{Sent, Told};
use crate::random::Random;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Connections of each host: its own, and the others on its socket.
const CLIENTS: usize = 4;

/// Sessions that each client keeps at work.
const SESSIONS_EACH: usize = 2;

/// When a kill comes, most of them in this time from the host's start.
const LIFE_MS: (usize, usize) = (150, 800);

/// The others, one in so many, while the host starts and recovers its sessions.
const YOUNG_ONE_IN: usize = 8;

/// Some kills wait a little for a decision to be on its way.
const AIM: Duration = Duration::from_millis(100);

/// Lives after which the effects of all commands are read again, not only the recent ones.
const LIVES_BETWEEN_FULL_LOOKS: u64 = 100;

/// Decisions with an answer that are sent again in the next life.
const REPLAYS: usize = 3;

/// How long and how often.
#[derive(Clone, Debug)]
pub struct Options {
    /// No kill after this time.
    pub time: Duration,
    /// No kill after so many.
    pub kills: u64,
    /// Where choices come from.
    pub seed: u64,
}

/// Tortures hosts on a home of its own.
pub fn run(options: &Options) -> Figures {
    let mut place = Place::new();
    std::fs::create_dir(place.workspace().join("ran")).unwrap_or_default();
    let mut torture = Torture::new(&place, options.seed);
    let begin = Instant::now();
    while begin.elapsed() < options.time && torture.figures.kills < options.kills {
        torture.life(&place, false);
        torture.figures.took = begin.elapsed();
        if !torture.figures.wrongs.is_empty() {
            break;
        }
    }
    if torture.figures.wrongs.is_empty() {
        torture.life(&place, true);
    }
    if torture.figures.wrongs.is_empty() {
        torture.whole(&place);
        place.no_survivor();
    }
    let mut figures = torture.figures;
    if !figures.wrongs.is_empty() {
        let said = place.complaints();
        let tail: Vec<&str> = said.lines().rev().take(20).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        figures.left = Some(format!("{}\n{}", place.keep().display(), tail.join("\n")));
    }
    figures
}

struct Torture {
    work: Work,
    random: Random,
    slots: Vec<Slot>,
    book: Book,
    judge: Judge,
    figures: Figures,
    /// What the next life sends again.
    again: Vec<Sent>,
    /// Items of the life before.
    recent: BTreeSet<String>,
}

impl Torture {
    fn new(place: &Place, seed: u64) -> Torture {
        let work = Work::new(place);
        let slots = (0..CLIENTS * SESSIONS_EACH).map(|_| Slot::new(&work)).collect();
        Torture {
            work,
            random: Random::new(seed),
            slots,
            book: Book::default(),
            judge: Judge::default(),
            figures: Figures::new(seed),
            again: Vec::new(),
            recent: BTreeSet::new(),
        }
    }

    /// One host from its start to its end, and what it leaves.
    fn life(&mut self, place: &Place, last: bool) {
        self.figures.lives += 1;
        let born = Instant::now();
        let Host { mut process, client } = place.host_with(&[]);
        let delay = self.delay();
        let aimed = self.random.once_in(2);
        let in_flight = AtomicUsize::new(0);
        let sessions: Vec<Option<String>> =
            self.slots.iter().map(|slot| slot.session.clone()).collect();
        let again = std::mem::take(&mut self.again);
        let mut own = Some(client);
        let (mut lives, mut killed) = (Vec::new(), born);
        std::thread::scope(|scope| {
            let mut drivers = Vec::new();
            for (index, slots) in self.slots.chunks_mut(SESSIONS_EACH).enumerate() {
                let seed = self.random.number();
                let (work, in_flight, sessions, again) =
                    (&self.work, &in_flight, &sessions, &again);
                let own = own.take();
                drivers.push(scope.spawn(move || {
                    let until = born + if last { PATIENCE } else { delay };
                    let client = own.or_else(|| connected(place, until))?;
                    let random = Random::new(seed);
                    let mut driver = Driver::new(work, client, random, slots, in_flight);
                    driver.last = last;
                    let next = (index + 1) * SESSIONS_EACH;
                    let others = sessions.iter().cycle().skip(next).take(SESSIONS_EACH);
                    if !last {
                        driver.others = others.flatten().cloned().collect();
                    }
                    let is_own = |sent: &&Sent| {
                        let known = driver.slots.iter().filter_map(|slot| slot.session.as_deref());
                        known.into_iter().any(|session| sent.params["sessionId"] == session)
                    };
                    driver.again = again.iter().filter(is_own).cloned().collect();
                    Some(driver.run())
                }));
            }
            if !last {
                std::thread::sleep((born + delay).saturating_duration_since(Instant::now()));
                let until = Instant::now() + if aimed { AIM } else { Duration::ZERO };
                while in_flight.load(Ordering::SeqCst) == 0 && Instant::now() < until {
                    std::hint::spin_loop();
                }
                killed = Instant::now();
                process.kill();
            }
            lives = drivers.into_iter().filter_map(|one| one.join().ok().flatten()).collect();
        });
        self.end(place, process, lives, (!last).then_some(killed));
    }

    /// How long a host lives.
    fn delay(&mut self) -> Duration {
        let (from, to) = LIFE_MS;
        let young = self.random.once_in(YOUNG_ONE_IN);
        let (from, to) = if young { (5, from) } else { (from, to) };
        Duration::from_millis((from + self.random.below(to - from)) as u64)
    }

    fn end(
        &mut self,
        place: &Place,
        mut process: Process,
        mut lives: Vec<Life>,
        killed: Option<Instant>,
    ) {
        let stuck: Vec<String> = lives.iter_mut().filter_map(|life| life.stuck.take()).collect();
        for what in &stuck {
            self.figures.wrongs.push(Wrong::new(Kind::Unfinished, what.as_str()));
        }
        if !stuck.is_empty() {
            process.kill();
        }
        lives.iter_mut().for_each(|life| life.client.eof());
        let status = process.ended();
        let fine = match (killed, status) {
            (Some(_), Some(status)) => status.signal() == Some(Signal::KILL.as_raw()),
            (None, Some(status)) => status.success() || !stuck.is_empty(),
            (_, None) => false,
        };
        if !fine {
            let what = format!("life {}: the host ended with {status:?}", self.figures.lives);
            self.figures.wrongs.push(Wrong::new(Kind::Ended, what));
        }
        let ended: Vec<_> = lives.into_iter().map(Life::end).collect();
        if let Some(killed) = killed {
            self.figures.kills += 1;
            let on_their_way = ended.iter().flat_map(|(_, unanswered)| unanswered);
            let mut on_their_way =
                on_their_way.filter(|one| one.sent.method == "approval/decide" && one.at < killed);
            self.figures.kills_in_flight += u64::from(on_their_way.next().is_some());
        }
        let told: Vec<&Told> = ended.iter().map(|(told, _)| told).collect();
        self.check(place, &told);
        for (told, unanswered) in &ended {
            let known = unanswered.iter().filter_map(|one| self.known(&one.sent));
            let known: Vec<Sent> = known.collect();
            self.again.extend(known);
            let acked = told.sent.iter().filter(|sent| {
                sent.method == "approval/decide"
                    && told.answer(sent.id).is_some_and(|frame| frame.get("result").is_some())
            });
            self.again.extend(acked.take(REPLAYS).cloned());
        }
    }

    /// A command to send again: a decision always, another one where the log has it, for
    /// taken now it would be new work.
    fn known(&self, sent: &Sent) -> Option<Sent> {
        let text = |member: &str| sent.params[member].as_str().unwrap_or_default().to_owned();
        let taken = self.book.commands.contains_key(&(text("sessionId"), text("commandId")));
        let again = sent.method == "approval/decide" || (sent.method == "turn/start" && taken);
        again.then(|| sent.clone())
    }

    /// Holds what was told and done against the log; no host lives.
    fn check(&mut self, place: &Place, told: &[&Told]) {
        let before = self.judge.decisions;
        if let Err(error) = self.book.read(&place.database()) {
            self.figures.wrongs.push(Wrong::new(Kind::Record, format!("the log: {error}")));
        }
        for told in told {
            self.judge.told(told, &self.book);
        }
        let folder = place.workspace().join("ran");
        let touched = std::mem::take(&mut self.book.touched);
        let recent = std::mem::replace(&mut self.recent, touched);
        let (mark, book) = (&self.work.mark, &self.book);
        let full = self.figures.lives.is_multiple_of(LIVES_BETWEEN_FULL_LOOKS);
        if full {
            self.judge.effects(&folder, mark, book.items.keys(), book);
        } else {
            self.judge.effects(&folder, mark, recent.iter().chain(&self.recent), book);
        }
        self.figures.idle_lives += u64::from(self.judge.decisions == before);
        self.take_wrongs();
    }

    fn take_wrongs(&mut self) {
        let lives = self.figures.lives;
        let found = self.book.wrongs.drain(..).chain(self.judge.wrongs.drain(..));
        let found =
            found.map(|Wrong { kind, what }| Wrong::new(kind, format!("life {lives}: {what}")));
        self.figures.wrongs.extend(found);
        self.figures.decisions = self.judge.decisions;
        self.figures.replayed = self.judge.replayed;
        self.figures.refused = self.judge.refused;
        self.figures.frames = self.judge.frames;
        self.figures.count(&self.book);
    }

    /// At the end: everything is over, and read once more from the beginning it is the same.
    fn whole(&mut self, place: &Place) {
        for what in self.book.unfinished() {
            self.figures.wrongs.push(Wrong::new(Kind::Unfinished, what));
        }
        let mut again = Book::default();
        if let Err(error) = again.read(&place.database()) {
            self.figures.wrongs.push(Wrong::new(Kind::Record, format!("the log: {error}")));
        }
        if again.records != self.book.records {
            let what = format!("{} records, read before {}", again.records, self.book.records);
            self.figures.wrongs.push(Wrong::new(Kind::Record, what));
        }
        self.book.wrongs.append(&mut again.wrongs);
        for session in again.names() {
            let wrong = place.verify(session).map(|what| Wrong::new(Kind::Record, what));
            self.figures.wrongs.extend(wrong);
        }
        let folder = place.workspace().join("ran");
        // A command that is ended between its open and its write leaves an empty one.
        let is_written = |file: &std::fs::DirEntry| file.metadata().is_ok_and(|it| it.len() > 0);
        let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let files = files.filter(is_written).count() as u64;
        let book = &self.book;
        let lines = self.judge.effects(&folder, &self.work.mark, book.items.keys(), book);
        self.figures.effects = lines;
        if lines != files {
            let what = format!("{files} files of commands, of which the log knows {lines} lines");
            self.judge.wrongs.push(Wrong::new(Kind::Unasked, what));
        }
        self.take_wrongs();
    }
}

/// A connection on the host's socket, if it has one in time.
fn connected(place: &Place, until: Instant) -> Option<Client> {
    loop {
        match place.connect() {
            Some(client) => return Some(client),
            None if Instant::now() < until => pause(),
            None => return None,
        }
    }
}
