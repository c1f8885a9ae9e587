//! The shape of the source files: documented, and short enough to read.

use super::source::Source;

/// No Rust file is longer than this.
const LINES_MAX: usize = 800;
/// Half of the Rust files are at most this long.
const LINES_MEDIAN_MAX: usize = 250;

/// Every Rust file begins with a sentence about what it is for.
pub(crate) fn module_docs(sources: &[Source]) -> Vec<String> {
    sources
        .iter()
        .filter(|source| source.is_rust())
        .filter(|source| !source.raw.first().is_some_and(|line| line.starts_with("//! ")))
        .map(|source| format!("{}:1: the file does not begin with `//! `", source.path))
        .collect()
}

/// No file beyond the ceiling, and the median below its limit.
pub(crate) fn file_lengths(sources: &[Source]) -> Vec<String> {
    let rust = || sources.iter().filter(|source| source.is_rust());
    let mut found: Vec<String> = rust()
        .filter(|source| source.raw.len() > LINES_MAX)
        .map(|source| format!("{}: {} lines, more than {LINES_MAX}", source.path, source.raw.len()))
        .collect();
    let mut lengths: Vec<usize> = rust().map(|source| source.raw.len()).collect();
    lengths.sort_unstable();
    if let Some(median) = lengths.get(lengths.len() / 2)
        && *median > LINES_MEDIAN_MAX
    {
        found.push(format!(
            "half of the Rust files have {median} lines or more, limit {LINES_MEDIAN_MAX}"
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_module_sentence_is_found() {
        let bad = ["use a;\n", "", "// a comment\n", "\n//! late\n"];
        for text in bad {
            assert_eq!(module_docs(&[Source::new("a/src/lib.rs", text)]).len(), 1, "{text:?}");
        }
        assert!(module_docs(&[Source::new("a/src/lib.rs", "//! What it is.\n")]).is_empty());
        assert!(module_docs(&[Source::new("a/readme.md", "text")]).is_empty());
    }

    #[test]
    fn a_file_that_is_too_long_is_found() {
        let short = || Source::new("a/src/b.rs", "//! x\n");
        let long = Source::new("a/src/a.rs", &"//! x\n".repeat(LINES_MAX + 1));
        assert_eq!(file_lengths(&[long, short(), short()]).len(), 1);
        let at_the_limit = Source::new("a/src/a.rs", &"//! x\n".repeat(LINES_MAX));
        assert!(file_lengths(&[at_the_limit, short(), short()]).is_empty());
    }

    #[test]
    fn a_median_that_is_too_long_is_found() {
        let file = |lines: usize| Source::new("a/src/a.rs", &"//! x\n".repeat(lines));
        assert_eq!(file_lengths(&[file(1), file(251), file(251)]).len(), 1);
        assert!(file_lengths(&[file(1), file(250), file(700)]).is_empty());
    }
}
