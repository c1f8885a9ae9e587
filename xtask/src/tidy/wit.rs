//! Every item of the contract in wit/ has a doc comment.
//!
//! Read line by line, in the layout that the files have: one item on a line,
//! its doc comment directly above. Imports, exports and `use` name items that
//! are documented where they are defined.

use super::source::Source;

/// Items without a `///` above them, and lines that hide more than one item.
pub(crate) fn documented(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.path.ends_with(".wit")) {
        let mut reader = Reader::default();
        for (index, line) in source.raw.iter().enumerate() {
            if let Some(complaint) = reader.line(line.trim()) {
                found.push(format!("{}:{}: {complaint}", source.path, index + 1));
            }
        }
    }
    found
}

#[derive(Default)]
struct Reader {
    documented: bool,
    in_use: bool,
    open_brackets: usize,
}

impl Reader {
    fn line(&mut self, line: &str) -> Option<String> {
        if line.starts_with("///") {
            self.documented = true;
            return None;
        }
        if line.starts_with("//") || line.starts_with('@') {
            return None;
        }
        let documented = std::mem::take(&mut self.documented);
        if self.in_use || line.starts_with("use ") {
            self.in_use = !line.contains(';');
            return None;
        }
        let continued = self.open_brackets > 0;
        let outside = self.outside_brackets(line);
        let refers = ["import ", "export ", "include "].iter().any(|word| line.starts_with(word))
            && !line.contains(':');
        if continued || line.is_empty() || line.starts_with('}') || refers {
            return None;
        }
        let item = outside.trim_end_matches([',', ';', ' ']);
        let is_crowded = item.contains(',') || (item.contains('{') && !item.ends_with('{'));
        if is_crowded {
            return Some(format!("more than one item on a line: `{line}`"));
        }
        (!documented).then(|| format!("no `///` above `{line}`"))
    }

    /// The line without what stands in brackets; counts the brackets that stay open.
    fn outside_brackets(&mut self, line: &str) -> String {
        let mut outside = String::new();
        let mut before = ' ';
        for character in line.chars() {
            match character {
                '(' | '<' => self.open_brackets += 1,
                '>' if before == '-' => outside.push(character),
                ')' | '>' => self.open_brackets = self.open_brackets.saturating_sub(1),
                _ if self.open_brackets == 0 => outside.push(character),
                _ => {}
            }
            before = character;
        }
        outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        documented(&[Source::new("wit/a.wit", text)])
    }

    const GOOD: &str = "\
/// The package.
package a:b@0.1.0;

/// An interface.
interface i {
    use types.{
        action, context,
    };

    /// A record.
    record r {
        /// A field.
        a: option<list<u8>>,
    }

    /// A variant.
    variant v {
        /// One case.
        one(string),
        /// Another.
        two,
    }

    /// A function.
    f: func(a: string, b: list<u8>) -> result<r, string>;

    /// A function over two lines.
    g: func(
        a: string,
        b: string,
    ) -> u32;
}

/// A world.
world w {
    import i;
    export i;
}
";

    #[test]
    fn a_documented_contract_is_fine() {
        assert_eq!(complaints(GOOD), Vec::<String>::new());
    }

    #[test]
    fn each_missing_comment_is_found() {
        let comments = GOOD.lines().filter(|line| line.trim().starts_with("///")).count();
        for missing in 0..comments {
            let mut count = 0;
            let text: Vec<&str> = GOOD
                .lines()
                .filter(|line| {
                    let is_comment = line.trim().starts_with("///");
                    count += usize::from(is_comment);
                    !(is_comment && count == missing + 1)
                })
                .collect();
            assert_eq!(complaints(&text.join("\n")).len(), 1, "without comment {missing}");
        }
    }

    #[test]
    fn two_items_on_a_line_are_found() {
        assert_eq!(complaints("/// An enum.\nenum e { a, b }\n").len(), 1);
        assert_eq!(complaints("/// An enum.\nenum e {\n    /// Two.\n    a, b,\n}\n").len(), 1);
    }
}
