//! Where the entries are kept and how one is found: sorted commands, searched
//! by halves, so that nothing is built before the first lookup.

use std::borrow::Cow;

use super::entry::{Check, Entry, Operands, Style, commands, sorted};

include!(concat!(env!("OUT_DIR"), "/known_safe.rs"));

/// A command of the table, and its entry.
#[derive(Clone, Debug)]
struct Command {
    words: Cow<'static, str>,
    entry: u16,
}

/// Entries, found by command.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    commands: Cow<'static, [Command]>,
    entries: Cow<'static, [Entry]>,
}

/// The table of known-safe commands: the built-in one, and what a user added.
#[derive(Clone, Debug)]
pub struct Table {
    builtin: Layer,
    added: Layer,
}

static BUILTIN: Table = Table {
    builtin: Layer { commands: Cow::Borrowed(&COMMANDS), entries: Cow::Borrowed(&ENTRIES) },
    added: Layer { commands: Cow::Borrowed(&[]), entries: Cow::Borrowed(&[]) },
};

impl Table {
    /// The table that Placet comes with.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// This table with a user's entries. They add; what the built-in table
    /// calls unsafe stays so. Entries should have no [`Entry::faults`].
    pub fn extended(&self, added: &[Entry]) -> Self {
        let mut entries = self.added.entries.to_vec();
        entries.extend(added.iter().cloned().map(|entry| Entry {
            flags: sorted(&entry.flags).into(),
            anywhere: sorted(&entry.anywhere).into(),
            ..entry
        }));
        let mut all = Vec::new();
        for (index, entry) in (0_u16..).zip(&entries) {
            let words = commands(&entry.command).into_iter();
            all.extend(words.map(|words| Command { words: words.into(), entry: index }));
        }
        all.sort_by(|one, other| one.words.cmp(&other.words));
        let added = Layer { commands: Cow::Owned(all), entries: Cow::Owned(entries) };
        Self { builtin: self.builtin.clone(), added }
    }

    /// All entries, the built-in ones first.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.builtin.entries.iter().chain(self.added.entries.iter())
    }

    pub(super) fn layers(&self) -> [&Layer; 2] {
        [&self.builtin, &self.added]
    }
}

impl Layer {
    /// The entry of exactly these words, or of the longest `words-*` that they begin with.
    pub(super) fn entry(&self, words: &str) -> Option<&Entry> {
        if let Some(entry) = self.exact(words) {
            return Some(entry);
        }
        let last = words.rfind(' ')?;
        let dashes = words.bytes().enumerate().rev().filter(|(_, byte)| *byte == b'-');
        dashes.take_while(|(at, _)| *at > last).find_map(|(at, _)| {
            let prefix = words.get(..=at)?;
            self.exact(&format!("{prefix}*"))
        })
    }

    /// Whether there are entries with more words.
    pub(super) fn leads_on(&self, words: &str) -> bool {
        let next = self.commands.partition_point(|command| *command.words <= *words);
        // A blank sorts before everything else that a command may hold.
        self.commands.get(next).is_some_and(|command| {
            command.words.strip_prefix(words).is_some_and(|rest| rest.starts_with(' '))
        })
    }

    fn exact(&self, words: &str) -> Option<&Entry> {
        let found = self.commands.binary_search_by(|command| (*command.words).cmp(words)).ok()?;
        self.entries.get(usize::from(self.commands.get(found)?.entry))
    }
}
