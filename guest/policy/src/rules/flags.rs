//! Whether a flag is given in a command's words.
//!
//! Programs read flags in many ways, so there are two answers: a flag *may* be
//! given where any way of reading the words finds it, and it is *surely* given
//! where no way of reading them does not.

/// Whether this text can be a flag in a rule: dashes, a name, and for a long one a
/// value behind `=`.
pub(crate) fn is_flag(text: &str) -> bool {
    let (dashes, name, value) = split(text);
    (1..=2).contains(&dashes)
        && !name.is_empty()
        && !name.contains(char::is_whitespace)
        && (value.is_none() || dashes == 2)
}

/// Whether some program may find the flag in these words: spelt out, with a value
/// (`--output=x`, `-ox`), shortened (`--outp`), with one dash or two (`-output`), or
/// in a cluster (`-xo`). The letters of a short cluster of a rule (`-rf`) may
/// stand apart.
pub(crate) fn may<'a>(flag: &str, words: impl Iterator<Item = &'a str> + Clone) -> bool {
    let (dashes, name, _) = split(flag);
    let clustered = dashes == 1
        && name.chars().all(|letter| words.clone().any(|word| in_cluster(letter, word)));
    clustered || words.clone().any(|word| word == flag || may_be(flag, word))
}

/// Whether every program finds the flag in these words: it is spelt out, before any
/// `--`, where it cannot be another flag's value, and nothing takes it back.
pub(crate) fn surely<'a>(flag: &str, words: impl Iterator<Item = &'a str> + Clone) -> bool {
    let mut after_flag = false;
    let mut found = false;
    for word in words.clone() {
        if word == "--" {
            break;
        }
        found |= !after_flag && word == flag;
        after_flag = word.starts_with('-') && !word.contains('=');
    }
    found && !words.clone().any(|word| word != flag && (may_be(flag, word) || denies(flag, word)))
}

/// Dashes, name and value of a word.
fn split(word: &str) -> (usize, &str, Option<&str>) {
    let rest = word.trim_start_matches('-');
    let dashes = word.len() - rest.len();
    match rest.split_once('=') {
        Some((name, value)) => (dashes, name, Some(value)),
        None => (dashes, rest, None),
    }
}

/// Whether a word may be this long flag, or the beginning of it.
fn may_be(flag: &str, word: &str) -> bool {
    let (_, name, wanted) = split(flag);
    let (dashes, given, value) = split(word);
    let long = name.chars().nth(1).is_some();
    let same_value = wanted.is_none() || value.is_none() || wanted == value;
    match dashes {
        1 => long && given == name && same_value,
        2 => long && !given.is_empty() && name.starts_with(given) && same_value,
        _ => false,
    }
}

/// Whether a word may take the flag back: `--no-force`, or `--force=false` beside it.
fn denies(flag: &str, word: &str) -> bool {
    let ((_, name, _), (dashes, given, _)) = (split(flag), split(word));
    let negated = given.strip_prefix("no-").is_some_and(|rest| name.starts_with(rest));
    dashes == 2 && (negated || name == given)
}

/// Whether a word is a cluster of short flags with this letter in it.
fn in_cluster(letter: char, word: &str) -> bool {
    let (dashes, letters, _) = split(word);
    dashes == 1 && letters.contains(letter)
}

#[cfg(test)]
mod tests {
    use super::{is_flag, may, surely};

    /// How surely a flag is given in words: `no`, `may` or `sure`.
    fn check(flag: &str, words: &str, given: &str) {
        let words: Vec<&str> = words.split_whitespace().collect();
        let found = match (may(flag, words.iter().copied()), surely(flag, words.iter().copied())) {
            (false, false) => "no",
            (true, false) => "may",
            (true, true) => "sure",
            (false, true) => "sure, but it may not",
        };
        assert_eq!(found, given, "{flag} in {words:?}");
    }

    #[test]
    fn a_flag_is_found_however_it_is_written() {
        check("--force", "origin --force", "sure");
        check("--force", "origin", "no");
        check("--force", "--forc", "may");
        check("--force", "--f", "may");
        check("--force", "-force", "may");
        check("--force", "--force=x", "may");
        check("--force", "--force-with-lease", "no");
        check("--force", "force", "no");
        check("-f", "-f", "sure");
        check("-f", "-rf", "may");
        check("-f", "-fr", "may");
        check("-f", "--f", "no");
        check("-o", "-ofile", "may");
        check("-rf", "-r -f", "may");
        check("-rf", "-vfr", "may");
        check("-rf", "-r", "no");
        check("-rf", "-rf", "sure");
        check("-delete", ". -delete", "sure");
        check("-delete", ". --delete", "may");
        check("-auto-approve", "--auto-approve", "may");
    }

    #[test]
    fn a_flag_that_may_be_a_value_or_an_operand_is_not_sure() {
        check("--dry-run", "-o --dry-run", "may");
        check("--dry-run", "-o x --dry-run", "sure");
        check("--dry-run", "--option=x --dry-run", "sure");
        check("--dry-run", "-- --dry-run", "may");
        check("--dry-run", "-- -x", "no");
    }

    #[test]
    fn a_flag_that_is_taken_back_is_not_sure() {
        check("--dry-run", "--dry-run --no-dry-run", "may");
        check("--dry-run", "--dry-run --no-dry", "may");
        check("--dry-run", "--dry-run --dry-run=false", "may");
        check("--dry-run", "--dry-run --dry-run", "sure");
    }

    #[test]
    fn a_value_is_compared_where_it_is_given() {
        check("--dry-run=client", "--dry-run=client", "sure");
        check("--dry-run=client", "--dry-run=none", "no");
        check("--dry-run=client", "--dry-run client", "may");
        check("--dry-run=client", "--dry-run=client --dry-run=none", "may");
    }

    #[test]
    fn what_can_be_a_flag() {
        for (text, can) in [
            ("-f", true),
            ("--force", true),
            ("--a=b", true),
            ("-a=b", false),
            ("force", false),
            ("-", false),
            ("--", false),
            ("---x", false),
            ("--a b", false),
            ("", false),
        ] {
            assert_eq!(is_flag(text), can, "{text}");
        }
    }
}
