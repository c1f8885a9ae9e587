//! Which rules may match, without looking at the others.
//!
//! Every rule has keys: a text that its subjects begin with (`open`) or are
//! (`whole`), behind one letter for what the text is of. All keys that begin a
//! subject's own text are found with one binary search and a walk along links.

/// What a key is the text of. Keys of different fields never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// The last part of a program's name.
    Program,
    /// A path below the workspace, below home, or from the root.
    WorkspacePath,
    HomePath,
    RootPath,
    /// The same for sockets.
    WorkspaceSocket,
    HomeSocket,
    RootSocket,
    /// A host name's labels from the last to the first, each with a dot behind it.
    HostName,
    /// An address in bits, behind `4` or `6`.
    Address,
    /// This machine itself.
    Machine,
    Process,
    /// A tool by name alone, and one by `server/name`.
    Tool,
    ServerTool,
}

impl Field {
    fn letter(self) -> char {
        match self {
            Field::Program => 'p',
            Field::WorkspacePath => 'w',
            Field::HomePath => 'h',
            Field::RootPath => 'r',
            Field::WorkspaceSocket => 'W',
            Field::HomeSocket => 'H',
            Field::RootSocket => 'R',
            Field::HostName => 'n',
            Field::Address => 'a',
            Field::Machine => 'm',
            Field::Process => 'c',
            Field::Tool => 't',
            Field::ServerTool => 's',
        }
    }
}

/// A key of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) field: Field,
    pub(crate) text: String,
    open: bool,
}

impl Key {
    /// The rule's subjects are this text.
    pub(crate) fn whole(field: Field, text: impl Into<String>) -> Key {
        Key { field, text: text.into(), open: false }
    }

    /// The rule's subjects begin with this text.
    pub(crate) fn open(field: Field, text: impl Into<String>) -> Key {
        Key { field, text: text.into(), open: true }
    }

    /// Whether nothing of a field can be told apart by it.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.open && self.text.is_empty()
    }
}

/// The keys of many rules, sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    entries: Vec<Entry>,
    /// The fields that have keys at all: most sets of rules are about few of them.
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Entry {
    text: String,
    /// The longest other key that this one begins with.
    up: Option<u32>,
    whole: Vec<u32>,
    open: Vec<u32>,
}

impl Index {
    /// Sorts the keys of rules, which are given by their number.
    pub(crate) fn new(keys: impl IntoIterator<Item = (Key, u32)>) -> Index {
        let mut fields: Vec<Field> = Vec::new();
        let mut sorted: Vec<(String, bool, u32)> = keys
            .into_iter()
            .map(|(key, rule)| {
                if !fields.contains(&key.field) {
                    fields.push(key.field);
                }
                (lettered(key.field, &key.text), key.open, rule)
            })
            .collect();
        sorted.sort();
        let mut entries: Vec<Entry> = Vec::new();
        let mut above: Vec<u32> = Vec::new();
        for (text, open, rule) in sorted {
            if entries.last().is_none_or(|last| last.text != text) {
                let begins = |number: &u32| {
                    entries.get(*number as usize).is_some_and(|e| text.starts_with(&e.text))
                };
                while above.last().is_some_and(|number| !begins(number)) {
                    above.pop();
                }
                let up = above.last().copied();
                above.push(u32::try_from(entries.len()).unwrap_or(u32::MAX));
                entries.push(Entry { text, up, whole: Vec::new(), open: Vec::new() });
            }
            if let Some(entry) = entries.last_mut() {
                if open { entry.open.push(rule) } else { entry.whole.push(rule) }
            }
        }
        Index { entries, fields }
    }

    /// Whether a rule has a key of one of these fields.
    pub(crate) fn has(&self, fields: &[Field]) -> bool {
        fields.iter().any(|field| self.fields.contains(field))
    }

    /// Adds the rules that may match this text, with some that do not and some twice.
    pub(crate) fn find(&self, field: Field, text: &str, found: &mut Vec<u32>) {
        if !self.has(&[field]) {
            return;
        }
        let text = lettered(field, text);
        // Keys that begin the text stand before it, and so does nothing else that
        // does not begin with the same: they are the greatest key before the text
        // or are linked from it.
        let after = self.entries.partition_point(|entry| entry.text <= text);
        let mut at = after.checked_sub(1);
        while let Some(entry) = at.and_then(|number| self.entries.get(number)) {
            if text.starts_with(&entry.text) {
                found.extend(&entry.open);
                if entry.text.len() == text.len() {
                    found.extend(&entry.whole);
                }
            }
            at = entry.up.map(|number| number as usize);
        }
    }
}

fn lettered(field: Field, text: &str) -> String {
    let mut key = String::with_capacity(text.len() + 1);
    key.push(field.letter());
    key.push_str(text);
    key
}
