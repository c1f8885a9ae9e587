//! Compound commands and function definitions.

use super::Generator;

impl Generator {
    /// A compound command, sometimes with redirects.
    pub(super) fn compound(&mut self) {
        match self.random.below(if self.wild { 18 } else { 13 }) {
            0 => self.enclosed("(", ")"),
            1 => self.enclosed("( ", " )"),
            2 => self.enclosed("{ ", "; }"),
            3 => {
                self.put("{\n");
                self.enclosed("", "\n}");
            }
            4 | 5 => self.conditional(),
            6 => self.loop_over(),
            7 => self.case(),
            8 => self.function("() "),
            9 => self.function(" ( )\n"),
            10 => {
                self.pick(&[
                    "[[ a == b ]]",
                    "[[ -f a.txt && ! -d b ]]",
                    "[[ a < b || ( x = y ) ]]",
                    "[[ a =~ b ]]",
                ]);
                return;
            }
            11 => {
                self.pick(&["((1+1))", "(( 2 > 1 ))", "((1,2))"]);
                return;
            }
            12 => self.count_loop(),
            13 => {
                self.pick(&["coproc ", "coproc NAMED "]);
                self.enclosed("{ ", "; }");
                return;
            }
            14 => {
                self.put("[[ ");
                self.word();
                self.put(" == ");
                self.word();
                self.put(" ]]");
                return;
            }
            15 => {
                self.put("select x in a b; do ");
                self.enclosed("", "; done");
                self.put("<<<1");
            }
            16 => {
                self.pick(&[
                    "for x; do ",
                    "for x in $@ ; do ",
                    "for x in *.txt\ndo ",
                    "for x in $(ls); do ",
                ]);
                self.enclosed("", "; break; done");
            }
            _ => {
                self.put("while read -r line; do ");
                self.enclosed("", "; done");
                self.put(" < a.txt");
            }
        }
        if self.random.once_in(6) {
            self.put(" ");
            self.redirect();
        }
    }

    fn conditional(&mut self) {
        self.put("if ");
        let then = self.random.word(&["; then ", "\nthen\n"]).to_owned();
        self.enclosed("", &then);
        self.enclosed("", "\n");
        if self.random.once_in(3) {
            self.put("elif ");
            self.enclosed("", "; then ");
            self.enclosed("", "\n");
        }
        if self.random.once_in(2) {
            self.put("else ");
            self.enclosed("", "; ");
        }
        self.put("fi");
    }

    fn loop_over(&mut self) {
        if self.random.once_in(2) {
            self.pick(&["for x in a b; do ", "for x in 'a b'\ndo\n", "for x in a; { "]);
            let brace = self.out.ends_with("{ ");
            self.enclosed("", if brace { "; }" } else { "; done" });
        } else {
            self.pick(&["while ", "until "]);
            self.enclosed("", "; do ");
            self.enclosed("", "; break; done");
        }
    }

    fn count_loop(&mut self) {
        self.pick(&["for ((i=0;i<2;i++)); do ", "for (( i = 0 ; i < 1 ; i++ ))\ndo "]);
        self.enclosed("", "; done");
    }

    fn case(&mut self) {
        self.put("case ");
        if self.wild {
            self.word()
        } else {
            self.pick(&["a", "'b c'", "\"x\"", "esac"])
        }
        self.put(" in");
        self.pick(&[" ", "\n", " # none yet )\n"]);
        for _ in 0..=self.random.below(2) {
            self.pick(&[
                "a) ", "(a|b) ", "'b c') ", "x|y)\n", "*) ", "[a-z]*) ", "(esac) ", "\"x\")",
            ]);
            let end = self.random.word(&[" ;;\n", ";;", " ;& ", " ;;& ", "\n;;\n"]).to_owned();
            self.enclosed("", &end);
        }
        self.put(" esac");
    }

    /// Defined, and most often called.
    fn function(&mut self, brackets: &str) {
        let name = self.random.word(&["f", "ls", "git", "my-fn", "echo", "g_1", "cd"]).to_owned();
        let keyword = self.random.once_in(4);
        if keyword {
            self.put("function ");
        }
        self.put(&name);
        let bare = keyword && self.random.once_in(2);
        self.put(if bare { " " } else { brackets });
        if self.random.once_in(4) {
            self.enclosed("(", ")")
        } else {
            self.enclosed("{ ", "; }")
        }
        if !self.random.once_in(4) {
            self.put("; ");
            self.put(&name);
            self.pick(&["", " a", " a 'b c'"]);
        }
    }
}
