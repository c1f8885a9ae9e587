//! What the demo prints, and how that is read back: steps, sentences, facts and quoted output.

use std::collections::BTreeMap;

const FACT: &str = "   - ";
const QUOTE: &str = "   | ";

/// Begins a numbered step.
pub(crate) fn step(number: usize, title: &str) {
    println!("\n{number}. {title}");
}

/// A sentence for people.
pub(crate) fn tell(sentence: &str) {
    println!("   {sentence}");
}

/// A named value, one line.
pub(crate) fn fact(name: &str, value: impl std::fmt::Display) {
    println!("{FACT}{name}: {value}");
}

/// Output of something else, quoted line by line.
pub(crate) fn quote(text: &str) {
    for line in text.lines() {
        println!("{QUOTE}{line}");
    }
}

/// The facts in the demo's output, and what each was followed by as a quotation.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    facts: BTreeMap<String, String>,
    quotes: BTreeMap<String, String>,
    last: String,
}

impl Told {
    /// Takes one line of output.
    pub(crate) fn line(&mut self, line: &str) {
        if let Some((name, value)) = line.strip_prefix(FACT).and_then(|text| text.split_once(": "))
        {
            self.facts.insert(name.to_owned(), value.to_owned());
            self.last = name.to_owned();
        } else if let Some(text) = line.strip_prefix(QUOTE) {
            let quoted = self.quotes.entry(self.last.clone()).or_default();
            quoted.push_str(text);
            quoted.push('\n');
        }
    }

    /// The value of a fact.
    pub(crate) fn fact(&self, name: &str) -> Result<&str, String> {
        self.facts.get(name).map(String::as_str).ok_or_else(|| format!("the demo told no `{name}`"))
    }

    /// What was quoted after a fact.
    pub(crate) fn quote(&self, name: &str) -> Result<&str, String> {
        let quoted = self.quotes.get(name).map(String::as_str);
        quoted.ok_or_else(|| format!("the demo quoted nothing after `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_and_quotations_are_read_back() {
        let mut told = Told::default();
        for line in ["1. A step", "   - session: a: b", "   a sentence: x", "   | one", "   | "] {
            told.line(line);
        }
        assert_eq!(told.fact("session"), Ok("a: b"));
        assert_eq!(told.quote("session"), Ok("one\n\n"));
        assert!(told.fact("a sentence").is_err());
    }
}
