//! Source files as the checks see them: raw lines, lines without comments and strings, and which are tests.

use std::path::Path;

use anyhow::Context;

/// One text file of the repository.
#[derive(Debug)]
pub(crate) struct Source {
    /// Relative to the repository, with forward slashes.
    pub(crate) path: String,
    /// The lines as they are.
    pub(crate) raw: Vec<String>,
    /// The lines with comments and the insides of strings blanked; equal to `raw` unless it is Rust.
    pub(crate) code: Vec<String>,
    /// Whether a line belongs to a test, by its place in the file or by the file.
    test: Vec<bool>,
}

impl Source {
    /// Reads a file's text; `path` decides what kind of file it is.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let raw: Vec<String> = text.lines().map(str::to_owned).collect();
        let (code, test) = if path.ends_with(".rs") {
            let code: Vec<String> = scrub(text).lines().map(str::to_owned).collect();
            let test = test_lines(&code, is_test_file(path));
            (code, test)
        } else {
            (raw.clone(), vec![is_test_file(path); raw.len()])
        };
        Self { path: path.to_owned(), raw, code, test }
    }

    /// Whether the file is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Number and text of each scrubbed line that is not a test, counted from 1.
    pub(crate) fn product_code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines(&self.code)
    }

    /// Number and text of each raw line that is not a test, counted from 1.
    pub(crate) fn product_raw(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines(&self.raw)
    }

    fn lines<'a>(&'a self, lines: &'a [String]) -> impl Iterator<Item = (usize, &'a str)> {
        lines
            .iter()
            .enumerate()
            .filter(|(index, _)| !self.test.get(*index).copied().unwrap_or(false))
            .map(|(index, line)| (index + 1, line.as_str()))
    }
}

/// The text files of the repository, without what is built or fetched.
pub(crate) fn read_tree(root: &Path) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder)
            .with_context(|| format!("could not list {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if entry.file_type()?.is_dir() {
                if !["target", ".git", "node_modules", "__pycache__"].contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if is_text(&name) || folder.ends_with(".ci") {
                let text = std::fs::read_to_string(&path)
                    .with_context(|| format!("could not read {}", path.display()))?;
                let relative = path.strip_prefix(root).unwrap_or(&path);
                let relative = relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
                sources.push(Source::new(&relative, &text));
            }
        }
    }
    sources.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(sources)
}

fn is_text(name: &str) -> bool {
    ["rs", "toml", "wit", "md", "py", "sh", "txt"]
        .iter()
        .any(|extension| name.rsplit_once('.').is_some_and(|(_, end)| end == *extension))
}

fn is_test_file(path: &str) -> bool {
    let folders = format!("/{path}");
    ["/tests/", "/benches/", "/fuzz/"].iter().any(|folder| folders.contains(folder))
        || path.ends_with("/tests.rs")
        || path.ends_with("_tests.rs")
}

/// Marks the items behind `#[cfg(test)]`; rustfmt puts their closing brace under their first column.
fn test_lines(code: &[String], whole_file: bool) -> Vec<bool> {
    let mut test = vec![whole_file; code.len()];
    let mut index = 0;
    while let Some(line) = code.get(index) {
        if line.trim() != "#[cfg(test)]" {
            index += 1;
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let mut opened = false;
        while let Some(line) = code.get(index) {
            if let Some(mark) = test.get_mut(index) {
                *mark = true;
            }
            index += 1;
            let text = line.trim();
            let at_indent = line.len() - line.trim_start().len() == indent;
            let closes = at_indent && text.starts_with('}');
            let is_whole = text.ends_with(';') || text.ends_with('}');
            if (opened && closes) || (!opened && is_whole && !text.starts_with("#[")) {
                break;
            }
            opened |= text.ends_with('{');
        }
    }
    test
}

/// Blanks comments and the insides of string and character literals, keeping every line break.
fn scrub(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let mut out = String::with_capacity(text.len());
    let mut index = 0;
    while index < chars.len() {
        let end = literal_end(&chars, index);
        if end > index {
            let quoted = at(index) != '/';
            for (offset, character) in chars.iter().enumerate().take(end).skip(index) {
                let edge = quoted && (offset == index || offset + 1 == end);
                out.push(if edge || *character == '\n' { *character } else { ' ' });
            }
            index = end;
        } else {
            out.push(at(index));
            index += 1;
        }
    }
    out
}

/// Where the comment or literal that begins at `start` ends; `start` when none begins there.
fn literal_end(chars: &[char], start: usize) -> usize {
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let in_word = start > 0 && (at(start - 1).is_alphanumeric() || at(start - 1) == '_');
    match (at(start), at(start + 1)) {
        ('/', '/') => find(chars, start, "\n"),
        ('/', '*') => block_comment_end(chars, start),
        ('"', _) => string_end(chars, start + 1),
        ('r', '"' | '#') if !in_word => raw_string_end(chars, start + 1).unwrap_or(start),
        ('b' | 'c', 'r') if !in_word => raw_string_end(chars, start + 2).unwrap_or(start),
        ('\'', '\\') => find(chars, start + 3, "'") + 1,
        ('\'', _) if at(start + 2) == '\'' => start + 3,
        _ => start,
    }
}

fn find(chars: &[char], from: usize, pattern: &str) -> usize {
    let pattern: Vec<char> = pattern.chars().collect();
    (from..chars.len())
        .find(|index| chars.get(*index..*index + pattern.len()) == Some(pattern.as_slice()))
        .unwrap_or(chars.len())
}

fn block_comment_end(chars: &[char], start: usize) -> usize {
    let (mut depth, mut index) = (0_usize, start);
    while index < chars.len() {
        match (chars.get(index), chars.get(index + 1)) {
            (Some('/'), Some('*')) => depth += 1,
            (Some('*'), Some('/')) => depth -= 1,
            _ => {
                index += 1;
                continue;
            }
        }
        index += 2;
        if depth == 0 {
            return index;
        }
    }
    chars.len()
}

fn string_end(chars: &[char], inside: usize) -> usize {
    let mut index = inside;
    while let Some(character) = chars.get(index) {
        match character {
            '\\' => index += 2,
            '"' => return index + 1,
            _ => index += 1,
        }
    }
    chars.len()
}

/// `hashes` is where the hashes or the quote of a raw string begin.
fn raw_string_end(chars: &[char], hashes: usize) -> Option<usize> {
    let count = chars.iter().skip(hashes).take_while(|character| **character == '#').count();
    if chars.get(hashes + count) != Some(&'"') {
        return None;
    }
    let close = format!("\"{}", "#".repeat(count));
    Some((find(chars, hashes + count + 1, &close) + close.len()).min(chars.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_blanked() {
        let text = "let a = \"todo \\\" x\"; // todo\n/* a /* b */ todo */ let b = r#\"todo\"#;";
        let scrubbed = scrub(text);
        assert!(!scrubbed.contains("todo"), "{scrubbed}");
        assert_eq!(scrubbed.lines().count(), 2);
        assert!(scrubbed.contains("let b = r"), "{scrubbed}");
    }

    #[test]
    fn a_lifetime_is_no_literal() {
        assert_eq!(
            scrub("fn f<'a>(x: &'a str) -> char { 'x' }"),
            "fn f<'a>(x: &'a str) -> char { ' ' }"
        );
        assert_eq!(scrub(r"let q = '\''; let z = 1;"), r"let q = '  '; let z = 1;");
    }

    #[test]
    fn test_modules_are_left_out() {
        let source = Source::new(
            "host/src/a.rs",
            "use a;\n#[cfg(test)]\nmod tests {\n    fn f() {\n    }\n}\nfn g() {}\n#[cfg(test)]\nmod t;\nfn h() {}",
        );
        let kept: Vec<usize> = source.product_code().map(|(line, _)| line).collect();
        assert_eq!(kept, [1, 7, 10]);
    }

    #[test]
    fn a_file_of_tests_has_no_product_code() {
        assert_eq!(Source::new("host/tests/a.rs", "fn f() {}").product_code().count(), 0);
        assert_eq!(Source::new("tests/src/a.rs", "fn f() {}").product_code().count(), 0);
    }
}
