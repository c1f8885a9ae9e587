//! Reads what `cargo test` prints: which binary runs, its cases and their results.

use super::tally::Tally;

/// Collects the cases of one `cargo test` call, line by line.
#[derive(Debug, Default)]
pub(crate) struct Libtest {
    /// The cases so far.
    pub(crate) tally: Tally,
    binary: String,
    /// A case whose result has not come yet, because something else was written in between.
    waiting: Option<String>,
    announced: usize,
    reported: usize,
}

impl Libtest {
    /// Takes one line of output.
    pub(crate) fn line(&mut self, line: &str) {
        let text = line.trim();
        if let Some(binary) = binary_of(text) {
            self.close_section();
            self.binary = binary;
        } else if let Some(count) = announcement(text) {
            self.close_section();
            self.announced = count;
        } else if let Some(summary) = text.strip_prefix("test result: ") {
            self.summary(summary);
        } else if let Some((name, result)) = case(text) {
            self.result(name, result);
        } else if let Some(name) = self.waiting.take_if(|_| text == "ok" || text == "FAILED") {
            self.result(name, text);
        } else if let Some(name) = text.strip_suffix(": test") {
            // A line of `cargo test -- --list`.
            let name = self.qualified(&plain_name(name));
            self.tally.pass(&name);
        }
    }

    /// Ends the reading: a binary that died before its last case is a failure.
    pub(crate) fn finish(&mut self) {
        self.close_section();
    }

    fn result(&mut self, name: String, result: &str) {
        let qualified = self.qualified(&name);
        if result.starts_with("ignored") {
            self.tally.fail(&qualified, "ignored");
        } else if result.ends_with("ok") {
            self.tally.pass(&qualified);
        } else if result.ends_with("FAILED") {
            self.tally.fail(&qualified, "");
        } else {
            self.waiting = Some(name);
            return;
        }
        self.reported += 1;
    }

    /// `ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s`
    fn summary(&mut self, summary: &str) {
        let count = |word: &str| {
            let part = summary.split(['.', ';']).map(str::trim).find(|part| part.ends_with(word));
            part.and_then(|part| part.split(' ').next()).and_then(|number| number.parse().ok())
        };
        let filtered: usize = count("filtered out").unwrap_or(0);
        if filtered > 0 {
            self.tally.problem(format!("{}: {filtered} cases were filtered out", self.binary));
        }
    }

    fn close_section(&mut self) {
        if self.reported < self.announced {
            let lost = self.announced - self.reported;
            self.tally.problem(format!(
                "{}: {lost} of {} cases never reported",
                self.binary, self.announced
            ));
        }
        (self.announced, self.reported, self.waiting) = (0, 0, None);
    }

    fn qualified(&self, name: &str) -> String {
        format!("{}::{name}", self.binary)
    }
}

/// `Running unittests src/lib.rs (target/debug/deps/placet-0123456789abcdef)`, `Doc-tests placet`.
fn binary_of(text: &str) -> Option<String> {
    if let Some(name) = text.strip_prefix("Doc-tests ") {
        return Some(format!("{name}(doc)"));
    }
    let (source, path) = text.strip_prefix("Running ")?.strip_suffix(')')?.split_once(" (")?;
    let file = path.rsplit(['/', '\\']).next()?;
    let stem = file.rsplit_once('-').map_or(file, |(stem, _)| stem);
    // A crate's program carries the name of its library.
    let is_program = source == "unittests src/main.rs" || source.starts_with("unittests src/bin/");
    Some(if is_program { format!("{stem}(bin)") } else { stem.to_owned() })
}

/// `running 3 tests`
fn announcement(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("running ")?;
    rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"))?.parse().ok()
}

/// `test log::append ... ok`
fn case(text: &str) -> Option<(String, &str)> {
    let (name, result) = text.strip_prefix("test ")?.split_once(" ...")?;
    Some((plain_name(name), result.trim()))
}

/// Without what moves when somebody edits the file: `src/lib.rs - f (line 3) - compile`.
fn plain_name(name: &str) -> String {
    let mut kept = name;
    for suffix in [" - should panic", " - compile fail", " - compile"] {
        kept = kept.strip_suffix(suffix).unwrap_or(kept);
    }
    match kept.rsplit_once(" (line ") {
        Some((before, line)) if line.ends_with(')') => before.to_owned(),
        _ => kept.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Tally {
        let mut libtest = Libtest::default();
        text.lines().for_each(|line| libtest.line(line));
        libtest.finish();
        libtest.tally
    }

    const GOOD: &str = "\
     Running unittests src/lib.rs (target/debug/deps/placet-0123456789abcdef)

running 2 tests
test log::append ... ok
test log::read - should panic ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running unittests src/main.rs (target/debug/deps/placet-fedcba9876543210)

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/exec.rs (target/debug/deps/exec-0123456789abcdef)

running 1 test
test log::append has been running for over 60 seconds
test log::append ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests placet_tests

running 1 test
test src/lib.rs - check (line 3) - compile ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn each_case_gets_the_name_of_its_binary() {
        let tally = read(GOOD);
        assert_eq!(
            tally.passed,
            [
                "placet::log::append",
                "placet::log::read",
                "exec::log::append",
                "placet_tests(doc)::src/lib.rs - check"
            ]
        );
        assert!(tally.failed.is_empty());
    }

    #[test]
    fn a_failed_and_an_ignored_case_fail() {
        let text = GOOD
            .replace("test log::append ... ok", "test log::append ... FAILED")
            .replace("should panic ... ok", "should panic ... ignored, not today");
        assert_eq!(
            read(&text).failed,
            ["placet::log::append", "placet::log::read: ignored", "exec::log::append"]
        );
    }

    #[test]
    fn a_binary_that_died_fails() {
        let text = GOOD.replace("test log::append ... ok\n", "");
        assert_eq!(
            read(&text).failed,
            ["placet: 1 of 2 cases never reported", "exec: 1 of 1 cases never reported"]
        );
    }

    #[test]
    fn output_between_a_name_and_its_result_is_no_result() {
        let text = GOOD
            .replace("test log::append ... ok", "test log::append ... noise\nmore\nok")
            .replace("- should panic ... ok", "- should panic ...\nFAILED");
        let tally = read(&text);
        assert_eq!(tally.failed, ["placet::log::read"]);
        assert_eq!(tally.passed.len(), 3);
    }

    #[test]
    fn a_filter_fails() {
        let text = GOOD.replace("0 filtered out", "4 filtered out");
        assert_eq!(read(&text).failed.len(), 4);
    }

    #[test]
    fn a_list_has_the_names_of_a_run() {
        let listed = read(
            "     Running unittests src/lib.rs (target/debug/deps/placet-0123456789abcdef)\n\
             log::append: test\nlog::read: test\n\n2 tests, 0 benchmarks\n   Doc-tests placet_tests\n\
             src/lib.rs - check (line 9) - compile: test\n",
        );
        assert_eq!(
            listed.sorted_names(),
            ["placet::log::append", "placet::log::read", "placet_tests(doc)::src/lib.rs - check"]
        );
    }
}
