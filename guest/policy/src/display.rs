//! What can be shown to a person in full: a choice that lasts is offered for nothing else.

/// Characters that take no room, or look like an ordinary blank and are none: from, to.
const UNSEEN: &[(char, char)] = &[
    ('\u{a0}', '\u{a0}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{2000}', '\u{200f}'),
    ('\u{2028}', '\u{202f}'),
    ('\u{205f}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{e000}', '\u{f8ff}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{ffff}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1345f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{10ffff}'),
];

/// Whether a person sees every character of a text, and there are not too many of them.
/// Lines and tabs are seen.
pub(crate) fn in_full(text: &str, most_chars: usize) -> bool {
    text.chars().nth(most_chars).is_none() && text.chars().all(is_seen)
}

fn is_seen(c: char) -> bool {
    matches!(c, '\n' | '\t')
        || (!c.is_control() && !UNSEEN.iter().any(|(from, to)| (*from..=*to).contains(&c)))
}

/// Words as a shell would read them again: quoted where they must be.
pub(crate) fn words(words: &[String]) -> String {
    let plain = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '.' | '_' | '-' | '/' | ':' | '@' | '%' | '+' | ',' | '=')
    };
    let quoted = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// A destination with everything that it covers: a port that is not named is every port.
pub(crate) fn destination(host: &str, port: Option<u16>, protocol: Option<&str>) -> String {
    let place = match port {
        Some(port) if host.contains(':') => format!("[{host}]:{port}"),
        Some(port) => format!("{host}:{port}"),
        None => format!("{host}, every port"),
    };
    match protocol {
        Some(protocol) => format!("{place} ({protocol})"),
        None => format!("{place} (no protocol named)"),
    }
}
