//! Reads bash's own trace (`set -x`): the words of each simple command, quoted as
//! bash quotes them. Builtins and functions are seen here, which no stub sees.

/// The simple commands of a trace. Left out are compound commands and bare
/// assignments, which bash traces too.
pub fn commands(trace: &[u8]) -> Vec<Vec<String>> {
    let text = String::from_utf8_lossy(trace);
    let mut rest = text.as_ref();
    let mut commands = Vec::new();
    while let Some((words, more)) = line(rest) {
        rest = more;
        let first = words.first().map(String::as_str).unwrap_or_default();
        let compound = ["[[", "((", "for", "case", "select"].contains(&first);
        if !first.is_empty() && !compound && !assigns(first) {
            commands.push(words);
        }
    }
    commands
}

/// Whether a trace of this command says what would have run without it: the
/// command must not look at the option, nor change what is traced.
pub fn faithful(command: &str) -> bool {
    !["PS4", "set", "OPTS", "XTRACE", "$-", "BASH_ENV", "${-", "-x"]
        .iter()
        .any(|sign| command.contains(sign))
}

fn assigns(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.split('[').next().unwrap_or_default().trim_end_matches('+');
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    })
}

/// One line, which may hold quoted line ends; none when it was cut short.
fn line(text: &str) -> Option<(Vec<String>, &str)> {
    let text = text.trim_start_matches('+');
    // A blank follows the signs, unless two processes wrote at the same time.
    let garbled = !text.starts_with(' ');
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\n' => {
                words.extend(word);
                if garbled {
                    words.clear();
                }
                return text.get(at + 1..).map(|rest| (words, rest));
            }
            ' ' => words.extend(word.take()),
            '\'' => {
                let current = word.get_or_insert_default();
                loop {
                    match chars.next()?.1 {
                        '\'' => break,
                        c => current.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?.1),
            '$' if chars.as_str().starts_with('\'') => {
                chars.next();
                ansi(&mut chars, word.get_or_insert_default())?;
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    None
}

/// The inside of `$'..'`, of which bash writes letters and octal numbers.
fn ansi(chars: &mut std::str::CharIndices<'_>, word: &mut String) -> Option<()> {
    let mut bytes = Vec::new();
    loop {
        match chars.next()?.1 {
            '\'' => break,
            '\\' => match chars.next()?.1 {
                'n' => bytes.push(b'\n'),
                't' => bytes.push(b'\t'),
                'r' => bytes.push(b'\r'),
                'a' => bytes.push(7),
                'b' => bytes.push(8),
                'v' => bytes.push(11),
                'f' => bytes.push(12),
                'E' | 'e' => bytes.push(27),
                first @ '0'..='7' => {
                    let mut digits = String::from(first);
                    while digits.len() < 3 && chars.as_str().starts_with(|c: char| c.is_digit(8)) {
                        digits.push(chars.next()?.1);
                    }
                    bytes.push(u8::from_str_radix(&digits, 8).unwrap_or_default());
                }
                c => bytes.extend(c.to_string().as_bytes()),
            },
            c => bytes.extend(c.to_string().as_bytes()),
        }
    }
    word.push_str(&String::from_utf8_lossy(&bytes));
    Some(())
}
