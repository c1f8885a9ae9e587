//! The command as it was typed, as the shell script that is proposed.

use serde_json::Value;

/// One word is a script of its own; several are the words of one command.
pub(super) fn script(words: &[String]) -> Option<String> {
    match words {
        [] => None,
        [script] => Some(script.clone()),
        words => Some(words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")),
    }
}

/// A word that the shell reads as exactly this word.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    // A word with `=` could be an assignment, which it is not meant to be.
    if !word.is_empty() && word.chars().all(plain) && !word.contains('=') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Whether the agent would read the script as something other than a script.
pub(super) fn is_structured(script: &str) -> bool {
    matches!(serde_json::from_str(script), Ok(Value::Object(_)))
}

#[cfg(test)]
mod tests {
    use super::script;

    #[test]
    fn one_word_is_a_script_and_several_are_a_command() {
        let check = |words: &[&str], expected: &str| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(script(&words).as_deref(), Some(expected));
        };
        check(&["ls -l | wc"], "ls -l | wc");
        check(&["ls", "-l", "a b"], "ls -l 'a b'");
        check(&["echo", "it's", "$HOME", "", ";"], r"echo 'it'\''s' '$HOME' '' ';'");
        check(&["A=b", "~", "--x=y"], "'A=b' '~' '--x=y'");
        assert_eq!(script(&[]), None);
    }
}
