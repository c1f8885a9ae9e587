//! Which words may occur where: libraries stay in their folder, the guest stays pure, nothing is left half done.

use super::source::Source;

/// A library and the folders that may name it.
const CONFINED: [(&str, &[&str]); 2] = [
    ("rusqlite", &["host/src/log/", "host/tests/", "tests/"]),
    ("wasmtime", &["host/src/engine/", "tests/"]),
];

/// What would make the guest depend on more than its arguments, or differ between machines.
const IMPURE: [&str; 9] = [
    "HashMap",
    "HashSet",
    "f32",
    "f64",
    "SystemTime",
    "Instant",
    "std::fs",
    "std::env",
    "std::net",
];

const PURE: [&str; 2] = ["guest/", "policies/"];

/// Left-overs that may not be committed, with what to do instead.
const UNFINISHED: [(&str, &str); 3] = [
    ("#[ignore", "an ignored test proves nothing; fix it or delete it"),
    ("todo!", "finish it, or return an error"),
    ("unimplemented!", "finish it, or return an error"),
];

/// rusqlite only in the log, wasmtime only in the engine.
pub(crate) fn confined_libraries(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        for (library, homes) in CONFINED {
            if homes.iter().any(|home| source.path.starts_with(home)) {
                continue;
            }
            for (line, text) in numbered(&source.code) {
                if has_word(text, library) {
                    found.push(format!(
                        "{}:{line}: `{library}` belongs in {}",
                        source.path, homes[0]
                    ));
                }
            }
        }
    }
    found
}

/// No clock, float, hash order or I/O in the guest and the modes.
pub(crate) fn pure_guest(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        if !PURE.iter().any(|folder| source.path.starts_with(folder)) {
            continue;
        }
        // A build script is no part of the guest.
        if source.path.ends_with("/build.rs") {
            continue;
        }
        for (line, text) in source.product_code() {
            let grouped = grouped_std(text);
            for word in IMPURE {
                if has_word(text, word) || grouped.iter().any(|path| path == word) {
                    found
                        .push(format!("{}:{line}: `{word}` is barred from the guest", source.path));
                }
            }
        }
    }
    found
}

/// No ignored test, no placeholder.
pub(crate) fn finished(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        for (line, text) in numbered(&source.code) {
            for (word, instead) in UNFINISHED {
                if text.contains(word) {
                    found.push(format!("{}:{line}: `{word}`: {instead}", source.path));
                }
            }
        }
    }
    found
}

/// No path of somebody's machine outside of tests.
pub(crate) fn machine_paths(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        for (line, text) in source.product_raw() {
            for folder in ["work", "root", "home"] {
                if names_below(text, folder) {
                    found.push(format!("{}:{line}: a path below /{folder}", source.path));
                }
            }
        }
    }
    found
}

fn numbered(lines: &[String]) -> impl Iterator<Item = (usize, &str)> {
    lines.iter().enumerate().map(|(index, line)| (index + 1, line.as_str()))
}

/// Whether the line holds the word, not as a part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line.get(..start).and_then(|text| text.chars().next_back());
        let after = line.get(start + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}

/// `std::fs` and so on where they are imported as `std::{fs, env::Args}`.
fn grouped_std(line: &str) -> Vec<String> {
    let Some((_, group)) = line.split_once("std::{") else { return Vec::new() };
    let (mut depth, mut top_level) = (0_usize, String::new());
    for character in group.chars() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ if depth == 0 => top_level.push(character),
            _ => {}
        }
    }
    top_level
        .split(',')
        .filter_map(|word| word.trim().split("::").next())
        .map(|first| format!("std::{first}"))
        .collect()
}

/// Whether the line names something below `/folder/`, at the root of a path.
fn names_below(line: &str, folder: &str) -> bool {
    line.match_indices(&format!("/{folder}/")).any(|(start, matched)| {
        let before = line.get(..start).and_then(|text| text.chars().next_back());
        let after = line.get(start + matched.len()..).and_then(|text| text.chars().next());
        let at_root = !before
            .is_some_and(|character| character.is_alphanumeric() || "._-/~}>$".contains(character));
        at_root && after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(path: &str, text: &str) -> Vec<Source> {
        vec![Source::new(path, text)]
    }

    #[test]
    fn a_library_outside_its_folder_is_found() {
        let text = "use rusqlite::Connection;\n";
        assert_eq!(confined_libraries(&one("host/src/transport/mod.rs", text)).len(), 1);
        assert_eq!(confined_libraries(&one("guest/policy/src/a.rs", "wasmtime::Engine;")).len(), 1);
        assert!(confined_libraries(&one("host/src/log/sqlite.rs", text)).is_empty());
        assert!(
            confined_libraries(&one("host/src/a.rs", "// rusqlite\nmy_rusqlite();")).is_empty()
        );
    }

    #[test]
    fn an_impure_word_in_the_guest_is_found() {
        for word in IMPURE {
            let text = format!("fn f() {{ let x = {word}::new(); }}");
            assert_eq!(pure_guest(&one("guest/policy/src/a.rs", &text)).len(), 1, "{word}");
            assert_eq!(pure_guest(&one("policies/on-request/src/a.rs", &text)).len(), 1, "{word}");
            assert!(pure_guest(&one("host/src/a.rs", &text)).is_empty(), "{word}");
            let test = format!("#[cfg(test)]\nmod tests {{\n    {text}\n}}\n");
            assert!(pure_guest(&one("guest/policy/src/a.rs", &test)).is_empty(), "{word}");
        }
    }

    #[test]
    fn a_grouped_import_is_found() {
        let text = "use std::{collections::{BTreeMap, BTreeSet}, fs, fmt};";
        assert_eq!(pure_guest(&one("guest/policy/src/a.rs", text)).len(), 1);
    }

    #[test]
    fn a_leftover_is_found_even_in_a_test() {
        assert_eq!(finished(&one("host/tests/a.rs", "#[test]\n#[ignore]\nfn f() {}")).len(), 1);
        assert_eq!(finished(&one("host/src/a.rs", "fn f() { todo!() }")).len(), 1);
        assert_eq!(finished(&one("host/src/a.rs", "fn f() { unimplemented!(\"x\") }")).len(), 1);
        assert!(finished(&one("host/src/a.rs", "// todo!\nlet x = \"#[ignore]\";")).is_empty());
    }

    #[test]
    fn a_machine_path_is_found_in_code_comments_and_documents() {
        for text in ["let x = \"/work/main\";", "// see /home/someone/notes", "run `/root/bin/x`"] {
            assert_eq!(machine_paths(&one("host/src/a.rs", text)).len(), 1, "{text}");
            assert_eq!(machine_paths(&one("docs/a.md", text)).len(), 1, "{text}");
            assert!(machine_paths(&one("host/tests/a.rs", text)).is_empty(), "{text}");
        }
        for text in ["$PLACET_HOME/home/x", "a/work/b", "/home/ is a folder"] {
            assert!(machine_paths(&one("docs/a.md", text)).is_empty(), "{text}");
        }
    }
}
