//! awk programs: no command, no file but the operands, no environment.
//!
//! Told apart are strings, regular expressions, comments, names and operators;
//! where a slash could begin either a division or an expression and the awks
//! differ, the program is refused.

use super::scan::{Scan, Verdict};
use crate::safe::read::Reading;

/// What a name does that takes the label away.
const NAMES: [(&str, &str); 7] = [
    ("ARGC", "can read files that its program names"),
    ("ARGV", "can read files that its program names"),
    ("ENVIRON", "can print the environment, which may hold credentials"),
    ("close", "is not known to read only with `close`"),
    ("fflush", "is not known to read only with `fflush`"),
    ("getline", "can run a command or read another file with `getline`"),
    ("system", "can run a command with `system`"),
];

/// Behind these a slash begins a regular expression.
const BEFORE_OPERAND: [&str; 9] =
    ["case", "delete", "do", "else", "exit", "in", "print", "printf", "return"];

/// Behind these stands a condition in parentheses, and then a statement.
const CONDITIONS: [&str; 4] = ["for", "if", "switch", "while"];

pub(super) fn check(reading: &Reading<'_>) -> Verdict {
    let mut programs: Vec<&str> = reading.values(&["-e", "--source"]).collect();
    if programs.is_empty() {
        programs.extend(reading.operands.first());
    }
    if programs.is_empty() {
        return Ok(());
    }
    if reading.operands.iter().any(|operand| operand.starts_with("/inet")) {
        return Err("can open a connection with `/inet`".to_owned());
    }
    // Several are one program, each beginning a line.
    Program::new(&programs.join("\n")).check()
}

/// What stood before, as far as a slash or a `>` asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// An operator, a brace, a line: an operand may follow.
    Operator,
    /// The end of an operand: a slash divides.
    Operand,
    /// `++`, `--`, a regular expression: a slash may be either.
    Unclear,
}

struct Program<'a> {
    scan: Scan<'a>,
    before: Before,
    /// For each open parenthesis or bracket, whether it holds the condition of a statement.
    open: Vec<bool>,
    /// How many were open where the running `print` began.
    print: Option<usize>,
    /// The last name was one of [`CONDITIONS`].
    condition: bool,
}

impl<'a> Program<'a> {
    fn new(text: &'a str) -> Self {
        let scan = Scan::new(text);
        Self { scan, before: Before::Operator, open: Vec::new(), print: None, condition: false }
    }

    fn check(&mut self) -> Verdict {
        while let Some(next) = self.scan.next() {
            match next {
                ' ' | '\t' => {}
                '\\' if self.scan.take('\n') => {}
                '#' => {
                    self.scan.take_while(|next| next != '\n');
                }
                'a'..='z' | 'A'..='Z' | '_' => self.name(next)?,
                '0'..='9' | '.' => {
                    self.scan.take_while(|next| next.is_ascii_alphanumeric() || next == '.');
                    self.before = Before::Operand;
                }
                '"' => {
                    self.string()?;
                    self.before = Before::Operand;
                }
                '/' => self.slash()?,
                '>' => self.greater()?,
                '|' if self.scan.take('|') => self.before = Before::Operator,
                '|' => return Err("can run a command with `|`".to_owned()),
                '@' => return Err("can load code with `@`".to_owned()),
                '(' | '[' => {
                    self.open.push(self.condition && next == '(');
                    self.before = Before::Operator;
                }
                ')' | ']' => {
                    let condition = self.open.pop().ok_or_else(unread)?;
                    self.before = if condition { Before::Operator } else { Before::Operand };
                }
                ';' | '\n' | '{' | '}' => {
                    // A line also ends behind a comma or an operator, where it goes on.
                    let goes_on = next == '\n' && self.before == Before::Operator;
                    if self.print.is_none_or(|open| open == self.open.len()) && !goes_on {
                        self.print = None;
                    }
                    self.before = Before::Operator;
                }
                '+' | '-' => {
                    let doubled = self.scan.take(next);
                    self.before = if doubled { Before::Unclear } else { Before::Operator };
                }
                '!' | '$' | '%' | '&' | '*' | ',' | ':' | '<' | '=' | '?' | '^' | '~' => {
                    self.before = Before::Operator;
                }
                _ => return Err(unread()),
            }
            if !matches!(next, 'a'..='z' | ' ' | '\t') {
                self.condition = false;
            }
        }
        if self.open.is_empty() { Ok(()) } else { Err(unread()) }
    }

    fn name(&mut self, first: char) -> Verdict {
        let rest = self.scan.take_while(|next| next.is_ascii_alphanumeric() || next == '_');
        let name = format!("{first}{rest}");
        if let Some((_, why)) = NAMES.iter().find(|(refused, _)| *refused == name) {
            return Err((*why).to_owned());
        }
        if name == "print" || name == "printf" {
            self.print = Some(self.open.len());
        }
        self.condition = CONDITIONS.contains(&name.as_str());
        let operator = self.condition || BEFORE_OPERAND.contains(&name.as_str());
        self.before = if operator { Before::Operator } else { Before::Operand };
        Ok(())
    }

    /// Behind the opening quote.
    fn string(&mut self) -> Result<String, String> {
        let mut text = String::new();
        loop {
            match self.scan.next() {
                Some('"') => return Ok(text),
                Some('\\') => {
                    text.push('\\');
                    text.extend(self.scan.next());
                }
                Some('\n') | None => return Err(unread()),
                Some(next) => text.push(next),
            }
        }
    }

    fn slash(&mut self) -> Verdict {
        match self.before {
            Before::Unclear => return Err(unread()),
            Before::Operand => {
                self.before = Before::Operator;
                return Ok(());
            }
            Before::Operator => {}
        }
        let mut bracket = false;
        loop {
            match self.scan.next() {
                // Some awks end the expression here, others do not.
                Some('/') if bracket => return Err(unread()),
                Some('/') => break,
                Some('\\') => {
                    self.scan.next();
                }
                Some('[') => bracket = true,
                Some(']') => bracket = false,
                Some('\n') | None => return Err(unread()),
                Some(_) => {}
            }
        }
        self.before = Before::Unclear;
        Ok(())
    }

    /// A comparison, or where a `print` writes to.
    fn greater(&mut self) -> Verdict {
        if self.print != Some(self.open.len()) {
            self.before = Before::Operator;
            return Ok(());
        }
        if self.scan.take('>') || self.scan.peek() == Some('=') {
            return Err("can write a file with `>`".to_owned());
        }
        self.scan.blanks();
        if !self.scan.take('"') || self.string()? != "/dev/null" {
            return Err("can write a file with `>`".to_owned());
        }
        self.scan.blanks();
        match self.scan.peek() {
            None | Some(';' | '\n' | '}') => {
                self.before = Before::Operand;
                Ok(())
            }
            Some(_) => Err("can write a file with `>`".to_owned()),
        }
    }
}

fn unread() -> String {
    "has a program that is not fully understood".to_owned()
}
