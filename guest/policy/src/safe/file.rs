//! A file of the built-in table, as the build script and the tests read it:
//! entries, and groups of flags that several of them share as `@name`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::entry::{Entry, Reason, Text, sorted};

/// One family of commands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Flags that several entries share.
    #[serde(default)]
    pub groups: BTreeMap<String, Group>,
    /// The entries, sorted by command.
    pub safe: Vec<Entry>,
}

/// Flags that an entry takes over by naming the group in its `flags`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Flags that only read.
    #[serde(default)]
    pub flags: String,
    /// Flags that take the label away.
    #[serde(default)]
    pub never: BTreeMap<String, String>,
}

impl File {
    /// The entries with their groups put in, or everything that is wrong.
    pub fn entries(self) -> Result<Vec<Entry>, Vec<String>> {
        let mut faults = Vec::new();
        let mut used: Vec<String> = Vec::new();
        let mut entries = Vec::new();
        let mut before = String::new();
        for mut entry in self.safe {
            if *entry.command < *before {
                faults.push(format!("`{}` stands behind `{before}`: sort them", entry.command));
            }
            before = entry.command.to_string();
            let mut never: Vec<Reason> = entry.never.to_vec();
            let mut take = |list: &str, faults: &mut Vec<String>| {
                let mut words = Vec::new();
                for word in list.split_ascii_whitespace() {
                    let Some(name) = word.strip_prefix('@') else {
                        words.push(word.to_owned());
                        continue;
                    };
                    let Some(group) = self.groups.get(name) else {
                        faults.push(format!("there is no group {name}"));
                        continue;
                    };
                    used.push(name.to_owned());
                    words.extend(group.flags.split_ascii_whitespace().map(str::to_owned));
                    let reasons = group.never.iter();
                    never.extend(reasons.map(|(names, why)| (owned(names), owned(why))));
                }
                Cow::Owned(sorted(&words.join(" ")))
            };
            entry.flags = take(&entry.flags, &mut faults);
            entry.anywhere = take(&entry.anywhere, &mut faults);
            entry.never = Cow::Owned(never);
            let own = entry.faults().into_iter();
            faults.extend(own.map(|fault| format!("`{}` {fault}", entry.command)));
            entries.push(entry);
        }
        for name in self.groups.keys() {
            if !used.contains(name) {
                faults.push(format!("nothing uses the group {name}"));
            }
        }
        if faults.is_empty() { Ok(entries) } else { Err(faults) }
    }
}

fn owned(text: &str) -> Text {
    Cow::Owned(text.to_owned())
}
