//! Words: in every quoting, and, where the command is wild, with every expansion.

use super::{DEPTH_MAX, Generator};

const BARE: [&str; 34] = [
    "a",
    "-l",
    "--all",
    "a.txt",
    "src/main.rs",
    "--name=x",
    "x=y",
    "é",
    "日本",
    "a#b",
    "}",
    "a~b",
    "@",
    "%",
    "^",
    "a,b",
    "-",
    "--",
    "+x",
    "{",
    "{a",
    "{}",
    "a}",
    "]",
    "=",
    "a:b",
    "-n1",
    "/",
    "..",
    "!",
    "if",
    "done",
    "in",
    "a\u{a0}b",
];

const SINGLE: [&str; 10] =
    ["'a b'", "''", "'$(rm x)'", "'`ls`'", "'\\'", "'a\nb'", "';'", "'*'", "'#'", "'!!'"];

const DOUBLE: [&str; 16] = [
    "\"a b\"",
    "\"\"",
    "\"\\$x\"",
    "\"\\`ls\\`\"",
    "\"a'b\"",
    "\"\\\\\"",
    "\"a\\\nb\"",
    "\"a\nb\"",
    "\"!x\"",
    "\"\\n\"",
    "\"\\\"\"",
    "\"a;b\"",
    "\"*\"",
    "\"~\"",
    "\"{a,b}\"",
    "\"\\$(rm x)\"",
];

const ANSI: [&str; 16] = [
    "$'a\\tb'",
    "$'\\''",
    "$'\\x41'",
    "$'\\101'",
    "$'\\u00e9'",
    "$'\\U0001F600'",
    "$'\\n'",
    "$'\\\\'",
    "$'\\cA'",
    "$'\\e[0m'",
    "$'\\\"'",
    "$'\\?'",
    "$'a\\0b'",
    "$'\\x'",
    "$'\\u'",
    "$'\\q'",
];

const ESCAPED: [&str; 12] =
    ["\\a", "a\\ b", "\\;", "\\$x", "\\\\", "a\\\nb", "\\'", "\\#", "\\~", "\\*", "\\{a,b}", "\\("];

/// Expansions whose value is only known when they run; some run code.
const EXPANSIONS: [&str; 58] = [
    "$x",
    "${x}",
    "\"$x\"",
    "\"${x}\"",
    "${x:-a b}",
    "${x:=y}",
    "\"${x:-$(date)}\"",
    "${x:-`ls`}",
    "${x@P}",
    "${x@Q}",
    "${!x}",
    "${!x*}",
    "${a[0]}",
    "${a[@]}",
    "\"${a[@]}\"",
    "${a[$(date)]}",
    "${#x}",
    "${x#p}",
    "${x%%.*}",
    "${x/a/b}",
    "${x^^}",
    "${x:1:2}",
    "${x:$(date):1}",
    "${x+$(ls)}",
    "$1",
    "$@",
    "\"$@\"",
    "$*",
    "$#",
    "$?",
    "$$",
    "$!",
    "$-",
    "$\"text\"",
    "$\"$(ls)\"",
    "{a,b}",
    "{1..3}",
    "x{a,b}y",
    "{a,{b,c}}",
    "*",
    "*.txt",
    "?.txt",
    "[ab].txt",
    "~",
    "~root",
    "~+",
    "~/x",
    "[a",
    "$((1+2))",
    "$((x))",
    "$((a[$(date)]))",
    "$[1+1]",
    "\"$((1))\"",
    "a$x",
    "$x$y",
    "${x}y",
    "{$(ls),b}",
    "$(<a.txt)",
];

impl Generator {
    /// A word of one to three pieces.
    pub(super) fn word(&mut self) {
        self.piece();
        while self.random.once_in(5) {
            // Glued together, it must not become something else.
            match self.random.below(4) {
                0 => self.pick(&SINGLE),
                1 => self.pick(&DOUBLE),
                2 => self.pick(&["a", "b.c", "-d", "\\ e"]),
                _ => self.piece(),
            }
        }
    }

    fn piece(&mut self) {
        if self.wild && self.random.once_in(2) {
            return self.expansion();
        }
        match self.random.below(10) {
            0 | 1 => self.pick(&SINGLE),
            2 | 3 => self.pick(&DOUBLE),
            4 => self.pick(&ANSI),
            5 => self.pick(&ESCAPED),
            _ => self.pick(&BARE),
        }
    }

    fn expansion(&mut self) {
        if self.depth >= DEPTH_MAX || !self.random.once_in(3) {
            return self.pick(&EXPANSIONS);
        }
        match self.random.below(8) {
            0 | 1 => self.enclosed("$(", ")"),
            2 => self.enclosed("\"$(", ")\""),
            3 => self.enclosed("<(", ")"),
            4 => self.enclosed(">(", ")"),
            5 => {
                let inner = self.text();
                self.put(&format!("`{inner}`"));
            }
            6 => {
                let inner = self.text();
                self.put(&format!("\"a `{inner} \\`date\\`` b\""));
            }
            _ => {
                self.put("${x:-");
                self.enclosed("$(", ")");
                self.put("}");
            }
        }
    }
}
