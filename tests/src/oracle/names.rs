//! What a command finds in its scratch folder beside what is always there: stubs
//! for every name that it could start, and the files that it reads.

use std::collections::BTreeSet;

use super::places;

/// More than these no command needs.
const NAMES_MAX: usize = 48;

/// The names of a command, each after a letter: `p` for a program, `f` for a file.
///
/// Every word of the text is read generously: as it is written, and with its quotes
/// taken away.
pub fn names(command: &str) -> Vec<String> {
    let files = files(command);
    let bare: String = command.chars().filter(|c| !"'\"\\".contains(*c)).collect();
    let mut names: BTreeSet<String> = files.iter().map(|file| format!("f{file}")).collect();
    for text in [command, &bare] {
        for word in text.split(|c: char| !part_of_name(c)) {
            let word = word.strip_prefix("/usr/local/bin/").unwrap_or(word);
            let known = places::NAMES.split_whitespace().any(|name| name == word);
            let possible = possible(word) && !word.starts_with(['-', '/']);
            if possible && !known && !files.contains(word) && !writes(command, word) {
                names.insert(format!("p{word}"));
            }
        }
    }
    names.into_iter().take(NAMES_MAX).collect()
}

/// Files that are read: after `<`, `.` and `source`.
fn files(command: &str) -> BTreeSet<&str> {
    let signs = ["<", "< ", ". ", "source "];
    let after = signs.iter().flat_map(|sign| {
        command.match_indices(sign).filter_map(|(at, sign)| command.get(at + sign.len()..))
    });
    let words = after.filter_map(|rest| rest.split(|c| !part_of_name(c) && c != '~').next());
    words
        .filter(|word| possible(word) && !word.starts_with('/') && !writes(command, word))
        .collect()
}

/// A file that the command writes is left to it.
fn writes(command: &str, word: &str) -> bool {
    let bare = word.trim_start_matches("./");
    [">", "> "].iter().any(|sign| command.contains(&format!("{sign}{bare}")))
}

fn possible(word: &str) -> bool {
    let dots = word.chars().all(|c| c == '.');
    !word.is_empty() && word.len() < 100 && !dots && !word.ends_with('/')
}

fn part_of_name(c: char) -> bool {
    c.is_alphanumeric() || "_./+-@:%^,=!".contains(c) || !c.is_ascii()
}
