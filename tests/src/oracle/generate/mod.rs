//! Bash commands from a seed, directed by the grammar: lists, pipelines and
//! compound commands of every kind, words in every quoting, and the tricks by
//! which a shell runs what does not look like a command.
//!
//! About two thirds are *tame*: whatever their structure, every word is known before
//! the command runs. The others are *wild*: expansions, builtins that run code,
//! changes of what a name means.

mod compound;
mod mutate;
mod simple;
mod soup;
mod tricks;
mod words;

pub use mutate::mutate;
pub use soup::soup;

use crate::random::Random;

/// How deep compounds and substitutions are nested.
const DEPTH_MAX: usize = 3;

/// Writes one command after the other.
pub struct Generator {
    random: Random,
    wild: bool,
    depth: usize,
    out: String,
    /// Bodies of here-documents that begin after the next line end.
    bodies: Vec<String>,
    /// Numbers delimiters and names, so that they do not meet by chance.
    count: usize,
}

impl Generator {
    /// The commands that a seed gives.
    pub fn new(seed: u64) -> Generator {
        let random = Random::new(seed);
        Generator {
            random,
            wild: false,
            depth: 0,
            out: String::new(),
            bodies: Vec::new(),
            count: 0,
        }
    }

    /// The next command.
    pub fn command(&mut self) -> String {
        self.wild = self.random.once_in(3);
        self.depth = 0;
        self.out.clear();
        if self.wild && self.random.once_in(3) {
            self.trick();
            if self.random.once_in(3) {
                self.separator();
                self.list();
            }
        } else {
            self.list();
        }
        if !self.bodies.is_empty() {
            self.line_end();
        }
        if self.random.once_in(20) {
            self.put(" # and a comment $(ls) 'x");
        }
        std::mem::take(&mut self.out)
    }

    /// One to four pipelines.
    fn list(&mut self) {
        self.pipeline();
        let more = if self.depth == 0 { self.random.below(4) } else { self.random.below(2) };
        for _ in 0..more {
            self.separator();
            self.pipeline();
        }
    }

    /// What stands between two pipelines.
    fn separator(&mut self) {
        match self.random.below(9) {
            0 | 1 => self.put(" && "),
            2 | 3 => self.put(" || "),
            4 => self.put("; "),
            5 => self.put(";"),
            6 => {
                self.pick(&["&", " & ", " & "]);
            }
            7 => {
                self.put("&&");
                self.line_end();
            }
            _ => self.line_end(),
        }
    }

    fn pipeline(&mut self) {
        match self.random.below(30) {
            0 => self.put("! "),
            1 => self.put("time "),
            2 => self.put("time -p "),
            3 => self.put("! ! "),
            _ => {}
        }
        self.element();
        if self.random.once_in(4) {
            let bar = *self.random.pick(&[" | ", "|", " |& ", " |\n"]).unwrap_or(&" | ");
            if bar.ends_with('\n') {
                self.put(" |");
                self.line_end();
            } else {
                self.put(bar);
            }
            self.element();
        }
    }

    fn element(&mut self) {
        if self.depth < DEPTH_MAX && self.random.once_in(5 + 3 * self.depth) {
            self.deeper(Generator::compound);
        } else {
            self.simple();
        }
    }

    /// A line end, and the bodies of the here-documents before it.
    fn line_end(&mut self) {
        self.out.push('\n');
        for body in std::mem::take(&mut self.bodies) {
            self.out.push_str(&body);
        }
    }

    /// The same one level deeper.
    fn deeper(&mut self, part: impl FnOnce(&mut Generator)) {
        self.depth += 1;
        part(self);
        self.depth -= 1;
    }

    /// A list between brackets that end with `close`; its here-documents end inside.
    fn enclosed(&mut self, open: &str, close: &str) {
        let outside = std::mem::take(&mut self.bodies);
        self.put(open);
        self.deeper(Generator::list);
        if !self.bodies.is_empty() {
            self.line_end();
        }
        self.put(close);
        self.bodies = outside;
    }

    /// A small command as a text of its own, without line ends.
    fn text(&mut self) -> String {
        let out = std::mem::take(&mut self.out);
        let bodies = std::mem::take(&mut self.bodies);
        let depth = std::mem::replace(&mut self.depth, DEPTH_MAX);
        self.plain();
        self.depth = depth;
        self.bodies = bodies;
        std::mem::replace(&mut self.out, out)
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn pick(&mut self, from: &[&str]) {
        let text = self.random.word(from).to_owned();
        self.out.push_str(&text);
    }

    fn numbered(&mut self, name: &str) -> String {
        self.count += 1;
        format!("{name}{}", self.count % 100)
    }
}
