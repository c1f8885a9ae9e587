//! Counts a stage's cases and holds them against the names that must be there.

use std::collections::BTreeSet;

/// The cases of a stage.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Names of the cases that passed.
    pub(crate) passed: Vec<String>,
    /// What failed, each as a name or a sentence.
    pub(crate) failed: Vec<String>,
    /// Names of every case that reported, whatever its result.
    seen: Vec<String>,
}

impl Tally {
    /// A case that passed.
    pub(crate) fn pass(&mut self, name: &str) {
        let name = self.once(name);
        self.passed.push(name);
    }

    /// A case that failed; `why` is empty for a plain failure.
    pub(crate) fn fail(&mut self, name: &str, why: &str) {
        let name = self.once(name);
        self.failed.push(if why.is_empty() { name } else { format!("{name}: {why}") });
    }

    /// Something that is wrong with the stage and is no case.
    pub(crate) fn problem(&mut self, sentence: String) {
        self.failed.push(sentence);
    }

    /// Fails every listed name that never reported, and every name that the list lacks.
    pub(crate) fn compare(&mut self, listed: &[String], list: &str) {
        let expected: BTreeSet<&String> = listed.iter().collect();
        let seen: BTreeSet<&String> = self.seen.iter().collect();
        let mut wrong: Vec<String> = expected
            .difference(&seen)
            .map(|name| format!("{name}: absent, although {list} lists it"))
            .collect();
        wrong.extend(seen.difference(&expected).map(|name| format!("{name}: not in {list}")));
        self.failed.append(&mut wrong);
        if self.seen.is_empty() {
            self.problem("not a single case ran".to_owned());
        }
    }

    /// Names that came up twice are told apart, so that none hides another.
    fn once(&mut self, name: &str) -> String {
        let count = 1 + self.seen.iter().filter(|seen| base(seen) == name).count();
        let name = if count == 1 { name.to_owned() } else { format!("{name}#{count}") };
        self.seen.push(name.clone());
        name
    }

    /// The names in the order of a list file.
    pub(crate) fn sorted_names(&self) -> Vec<String> {
        let mut names = self.seen.clone();
        names.sort_unstable();
        names
    }
}

fn base(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((base, number)) if number.parse::<usize>().is_ok() => base,
        _ => name,
    }
}

/// Reads lines of the form `ok NAME  SECONDS` and `FAILED NAME`.
pub(crate) fn plain_line(tally: &mut Tally, line: &str) {
    let name = |rest: &str| rest.split_whitespace().next().map(str::to_owned);
    if let Some(name) = line.strip_prefix("ok ").and_then(name) {
        tally.pass(&name);
    } else if let Some(name) = line.strip_prefix("FAILED ").and_then(name) {
        tally.fail(name.trim_end_matches(':'), "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn plain_lines_are_counted() {
        let mut tally = Tally::default();
        for line in ["ok one  0.10", "FAILED two", "okay then", "  ok not", "2 passed, 0 failed"] {
            plain_line(&mut tally, line);
        }
        assert_eq!((tally.passed, tally.failed), (names(&["one"]), names(&["two"])));
    }

    #[test]
    fn an_absent_and_an_unlisted_case_fail() {
        let mut tally = Tally::default();
        tally.pass("a");
        tally.pass("new");
        tally.compare(&names(&["a", "gone"]), "cases.txt");
        assert_eq!(
            tally.failed,
            ["gone: absent, although cases.txt lists it", "new: not in cases.txt"]
        );
    }

    #[test]
    fn an_empty_stage_fails() {
        let mut tally = Tally::default();
        tally.compare(&[], "cases.txt");
        assert_eq!(tally.failed.len(), 1);
    }

    #[test]
    fn a_name_that_comes_twice_is_two_cases() {
        let mut tally = Tally::default();
        tally.pass("a");
        tally.fail("a", "ignored");
        assert_eq!(tally.sorted_names(), ["a", "a#2"]);
        assert_eq!(tally.failed, ["a#2: ignored"]);
    }
}
