//! Commands made from others: spacing, quoting, wrapping, and damage.

use super::simple::single_quoted;
use crate::random::Random;

/// A variation of the command; what it does may be the same or not.
pub fn mutate(random: &mut Random, command: &str) -> String {
    let mut text = command.to_owned();
    for _ in 0..=random.below(2) {
        text = once(random, &text);
    }
    text
}

fn once(random: &mut Random, text: &str) -> String {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let place = random.pick(&places).copied().unwrap_or(0);
    let (before, after) = text.split_at_checked(place).unwrap_or((text, ""));
    let mut rest = after.chars();
    let c = rest.next().map(String::from).unwrap_or_default();
    let rest = rest.as_str();
    match random.below(20) {
        0 => text.replace(' ', "  "),
        1 => text.replace(' ', " \\\n "),
        2 => text.replace("; ", "\n"),
        3 => format!("{before}\\\n{after}"),
        4 => format!("{before}''{after}"),
        5 => format!("{before}\"{c}\"{rest}"),
        6 => format!("{before}\\{after}"),
        7 => format!("{before}'{c}'{rest}"),
        8 => format!("{{ {text}\n}}"),
        9 => format!("({text}\n)"),
        10 => format!("env {text}"),
        11 => format!("if true; then {text}\nfi"),
        12 => format!("bash -c {}", single_quoted(text)),
        13 => format!("eval {}", single_quoted(text)),
        14 => format!("f() {{ {text}\n}}; f"),
        15 => format!("echo \"$({text}\n)\""),
        16 => format!("! {text} || {text}"),
        17 => format!("{before}{rest}"),
        18 => {
            let odd = random.word(&[
                ";", "|", "&", "(", ")", "<", ">", "`", "$", "\"", "'", "\\", "#", "{", "}", "\n",
                " ", "=", "*", "!", "[", "]", "$(", "<<E",
            ]);
            format!("{before}{odd}{after}")
        }
        _ => format!("time {text} & wait"),
    }
}
