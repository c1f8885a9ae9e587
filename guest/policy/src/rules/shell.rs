//! Rules for the words of a shell stage.

use super::flags;
use super::index::{Field, Key};
use super::text::Text;
use super::{Certainty, Effect, Words};
use core::fmt;

/// A place in a rule's list of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// `**`: any number of words.
    Words,
    /// One word: one of these.
    Word(Vec<Text>),
}

/// What a shell rule matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shell {
    /// What the words begin with.
    pub(crate) words: Vec<Place>,
    /// No word may follow.
    pub(crate) exact: bool,
    /// Of each group one flag must be given.
    pub(crate) with: Vec<Vec<String>>,
    /// None of these flags may be given.
    pub(crate) without: Vec<String>,
    /// Names of assignments that may stand before the command; for allow rules.
    pub(crate) env: Vec<Text>,
    /// For saved grants: the workspace root that it counts in.
    pub(crate) root: Option<String>,
}

/// The last part of a program's name.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

impl Shell {
    pub(crate) fn keys(&self, keys: &mut Vec<Key>) {
        match self.words.first() {
            Some(Place::Word(programs)) => keys.extend(programs.iter().map(program_key)),
            Some(Place::Words) | None => keys.push(Key::open(Field::Program, "")),
        }
    }

    /// Whether the rule matches a stage, and how surely.
    pub(crate) fn matches(&self, effect: Effect, words: &Words<'_>) -> Option<Certainty> {
        if self.root.is_some() && self.root.as_deref() != words.root {
            return None;
        }
        if effect == Effect::Allow {
            return self.allows(words).then_some(Certainty::Certain);
        }
        if words.argv.is_empty() {
            return None;
        }
        let [mut certain, possible] = self.follow(effect, words);
        if !possible {
            return None;
        }
        for group in &self.with {
            let seen = group.iter().any(|flag| flags::may(flag, operands(words)));
            if !seen && words.all_known() {
                return None;
            }
            certain &= seen;
        }
        for flag in &self.without {
            if words.all_known() && flags::surely(flag, operands(words)) {
                return None;
            }
            certain &= words.all_known() && !flags::may(flag, operands(words));
        }
        Some(if certain { Certainty::Certain } else { Certainty::Possible })
    }

    fn allows(&self, words: &Words<'_>) -> bool {
        let permitted = |name: &String| self.env.iter().any(|allowed| allowed.matches(name));
        let flags = !(self.with.is_empty() && self.without.is_empty());
        let given = |flag: &String| flags::surely(flag, operands(words));
        !words.argv.is_empty()
            && words.assignments.iter().all(permitted)
            && (!flags || words.all_known())
            && self.with.iter().all(|group| group.iter().any(given))
            && !self.without.iter().any(|flag| flags::may(flag, operands(words)))
            && matches!(self.follow(Effect::Allow, words), [true, _])
    }

    /// Walks both lists of words at once: whether the rule's match surely, and
    /// whether they may. A word that is not known may be any number of words.
    fn follow(&self, effect: Effect, words: &Words<'_>) -> [bool; 2] {
        let mut sure = Places::start(&self.words);
        let mut maybe = sure;
        let mut possible = false;
        let mut unknown = words.unknown.iter().peekable();
        for (index, word) in (0_u32..).zip(words.argv) {
            if !self.exact && sure.ended(&self.words) {
                return [true, true];
            }
            possible |= !self.exact && maybe.ended(&self.words);
            if maybe.none() || (possible && sure.none()) {
                return [false, possible];
            }
            if unknown.next_if_eq(&&index).is_some() {
                sure = sure.step(&self.words, |_| false);
                maybe = maybe.onwards(&self.words);
                continue;
            }
            let fits = |texts: &[Text]| {
                texts.iter().any(|text| match (effect, index) {
                    (_, 0) => is_program(effect, text, word),
                    (Effect::Allow, _) => text.allows(word),
                    _ => text.matches(word),
                })
            };
            sure = sure.step(&self.words, fits);
            maybe = maybe.step(&self.words, fits);
        }
        let sure = sure.ended(&self.words);
        [sure, sure || possible || maybe.ended(&self.words)]
    }

    /// Whether everything that the other rule matches is matched by this one; each with
    /// its effect, since what refuses reads programs more widely.
    pub(crate) fn covers(&self, effect: Effect, other: &Shell, other_effect: Effect) -> bool {
        let same_length = self.words.len() == other.words.len();
        let longer = self.words.len() > other.words.len();
        if longer || (self.exact && !(other.exact && same_length)) {
            return false;
        }
        let places = self.words.iter().zip(&other.words).enumerate().all(|(at, pair)| match pair {
            (Place::Words, Place::Words) => true,
            (Place::Word(mine), Place::Word(theirs)) => theirs.iter().all(|text| {
                mine.iter().any(|wider| match at {
                    0 => covers_program((effect, wider), (other_effect, text)),
                    _ => wider.covers(text),
                })
            }),
            _ => false,
        });
        let flags_needed = self.with.iter().all(|group| {
            other.with.iter().any(|theirs| theirs.iter().all(|flag| group.contains(flag)))
        });
        places
            && flags_needed
            && self.without.iter().all(|flag| other.without.contains(flag))
            && other.env.iter().all(|name| self.env.iter().any(|wider| wider.covers(name)))
            && (self.root.is_none() || self.root == other.root)
    }
}

/// The words that flags are looked for in: all that are known, without the program.
fn operands<'a>(words: &Words<'a>) -> impl Iterator<Item = &'a str> + Clone {
    let unknown = words.unknown;
    (0_u32..)
        .zip(words.argv)
        .skip(1)
        .filter(move |(index, _)| unknown.binary_search(index).is_err())
        .map(|(_, word)| word.as_str())
}

/// Whether a program is the one that a rule names.
///
/// A name is a name: for deny and ask rules behind any path, for allow rules behind
/// none, since a path may lead to another program of that name. A rule that names a
/// path allows that path only, and refuses every program of that name.
pub(crate) fn is_program(effect: Effect, text: &Text, program: &str) -> bool {
    let names_path = names_path(text);
    let base = base_name(program);
    match effect {
        Effect::Allow => (names_path || text.is_any() || base == program) && text.allows(program),
        _ if names_path => {
            text.matches(program) || text.literal().is_some_and(|path| base_name(path) == base)
        }
        _ => text.matches(base),
    }
}

/// Whether a program's name in one rule covers that in another.
fn covers_program((effect, mine): (Effect, &Text), (other, theirs): (Effect, &Text)) -> bool {
    if mine == theirs || mine.is_any() {
        return true;
    }
    match (effect, theirs.literal()) {
        (Effect::Allow, _) => names_path(mine) == names_path(theirs) && mine.covers(theirs),
        // A rule that refuses a path refuses every program of that name.
        (_, Some(path)) if names_path(theirs) && other != Effect::Allow => {
            is_program(effect, mine, base_name(path))
        }
        (_, Some(program)) => is_program(effect, mine, program),
        (_, None) => names_path(mine) == names_path(theirs) && mine.covers(theirs),
    }
}

fn names_path(text: &Text) -> bool {
    text.pieces().iter().any(|piece| piece.contains('/'))
}

fn program_key(text: &Text) -> Key {
    match text.literal() {
        Some(program) => Key::whole(Field::Program, base_name(program)),
        // A star may stand for slashes there, so no last part can be told.
        None if names_path(text) => Key::open(Field::Program, ""),
        None => Key::open(Field::Program, text.prefix()),
    }
}

/// The places of a rule's list at which a walk may stand; place `n` is before the
/// `n`-th, and the last one behind all.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Places(u128);

impl Places {
    fn start(words: &[Place]) -> Places {
        Places(1).closed(words)
    }

    fn none(self) -> bool {
        self.0 == 0
    }

    fn at(self, index: usize) -> bool {
        (self.0 >> index) & 1 == 1
    }

    /// Whether the whole list was walked.
    fn ended(self, words: &[Place]) -> bool {
        self.at(words.len().min(127))
    }

    /// Adds what is reached without a word.
    fn closed(mut self, words: &[Place]) -> Places {
        for (index, place) in words.iter().enumerate().take(127) {
            if *place == Place::Words && self.at(index) {
                self.0 |= 1 << (index + 1);
            }
        }
        self
    }

    fn step(self, words: &[Place], fits: impl Fn(&[Text]) -> bool) -> Places {
        let mut next = Places(0);
        for (index, place) in words.iter().enumerate().take(127) {
            if !self.at(index) {
                continue;
            }
            match place {
                Place::Words => next.0 |= 1 << index,
                Place::Word(texts) if fits(texts) => next.0 |= 1 << (index + 1),
                Place::Word(_) => {}
            }
        }
        next.closed(words)
    }

    /// Where a walk may stand after words that are not known.
    fn onwards(self, words: &[Place]) -> Places {
        let mut next = self;
        for index in 0..words.len().min(127) {
            if next.at(index) {
                next.0 |= 1 << (index + 1);
            }
        }
        next
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Words => f.write_str("**"),
            Place::Word(texts) => match texts.as_slice() {
                [only] => write!(f, "{only}"),
                several => {
                    let listed: Vec<String> = several.iter().map(Text::to_string).collect();
                    write!(f, "({})", listed.join("|"))
                }
            },
        }
    }
}

impl fmt::Display for Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.words.iter().map(Place::to_string).collect();
        f.write_str(&words.join(" "))?;
        if self.exact {
            f.write_str(" and no further word")?;
        }
        for group in &self.with {
            write!(f, ", with {}", group.join(" or "))?;
        }
        if !self.without.is_empty() {
            write!(f, ", without {}", self.without.join(", "))?;
        }
        if !self.env.is_empty() {
            let names: Vec<String> = self.env.iter().map(Text::to_string).collect();
            write!(f, ", with {} set", names.join(", "))?;
        }
        if let Some(root) = &self.root {
            write!(f, ", in {root}")?;
        }
        Ok(())
    }
}
