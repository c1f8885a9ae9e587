//! What can be shown to a person in full: a choice that lasts is offered for nothing else.

use placet_visible::unseen;

/// Whether a person sees every character of a text, and there are not too many of them.
/// Lines and tabs are seen.
pub(crate) fn in_full(text: &str, most_chars: usize) -> bool {
    text.chars().nth(most_chars).is_none() && text.chars().all(is_seen)
}

fn is_seen(c: char) -> bool {
    matches!(c, '\n' | '\t') || !unseen(c)
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
