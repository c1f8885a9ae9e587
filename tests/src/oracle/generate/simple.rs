//! Simple commands: assignments before them, words, redirects in any place.

use super::{DEPTH_MAX, Generator};

/// Programs; all have stubs.
pub(super) const PROGRAMS: [&str; 34] = [
    "ls",
    "cat",
    "rm",
    "git",
    "grep",
    "find",
    "sed",
    "make",
    "cargo",
    "npm",
    "date",
    "touch",
    "cp",
    "mv",
    "curl",
    "python3",
    "head",
    "tail",
    "wc",
    "sort",
    "uniq",
    "tr",
    "./run.sh",
    "/bin/rm",
    "/usr/bin/git",
    "mkdir",
    "chmod",
    "docker",
    "node",
    "tee",
    "cut",
    "which",
    "stat",
    "du",
];

/// Commands that start the command after them; here stubs, so only they start.
const WRAPPERS: [&str; 16] = [
    "env",
    "env -i",
    "env A=b",
    "timeout 5",
    "nice -n 5",
    "nohup",
    "setsid",
    "sudo",
    "sudo -u user",
    "xargs",
    "xargs -0 -n1",
    "stdbuf -oL",
    "doas",
    "watch -n 1",
    "find . -exec",
    "time -p",
];

const BUILTINS: [&str; 12] =
    ["echo", "printf", "cd", "true", "false", ":", "pwd", "test", "[", "export", "umask", "type"];

impl Generator {
    /// A simple command, with everything that may come with one.
    pub(super) fn simple(&mut self) {
        if self.random.once_in(12) {
            self.redirect();
            self.blank();
        }
        if self.random.once_in(8) {
            self.assignments();
        }
        if self.random.once_in(12) {
            self.pick(&WRAPPERS);
            self.blank();
            self.name();
            self.words();
            return;
        }
        if self.random.once_in(24) {
            self.put("bash -c ");
            let inner = self.text();
            self.put(&single_quoted(&inner));
            return;
        }
        if self.wild && self.random.once_in(10) {
            self.word();
        } else if self.random.once_in(9) {
            self.pick(&BUILTINS);
        } else {
            self.name();
        }
        self.words();
    }

    /// A simple command of a few known words on one line.
    pub(super) fn plain(&mut self) {
        self.pick(&PROGRAMS);
        for _ in 0..self.random.below(3) {
            self.put(" ");
            self.pick(&["-r", "a.txt", "b.txt", "x", "--all", "src"]);
        }
    }

    /// The name of a program, sometimes written so that it is hard to see.
    pub(super) fn name(&mut self) {
        let name = self.random.word(&PROGRAMS).to_owned();
        let (first, rest) = name.split_at(1);
        match self.random.below(30) {
            0 => self.put(&format!("\\{name}")),
            1 => self.put(&format!("'{name}'")),
            2 => self.put(&format!("\"{name}\"")),
            3 => self.put(&format!("{first}''{rest}")),
            4 => self.put(&format!("{first}\\\n{rest}")),
            5 => self.put(&format!("{first}\"{rest}\"")),
            6 => {
                let hex: String = name.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
                self.put(&format!("$'{hex}'"));
            }
            7 => self.put(&format!("$'{first}\\0{rest}'")),
            8 if self.wild => self.put(&format!("{first}${{nothing}}{rest}")),
            9 if self.wild => self.put(&format!("{first}$@{rest}")),
            10 if self.wild => self.put(&format!("$'{first}'$(){rest}")),
            _ => self.put(&name),
        }
    }

    fn words(&mut self) {
        for _ in 0..self.random.below(4) {
            self.blank();
            self.word();
            if self.random.once_in(14) {
                self.blank();
                self.redirect();
            }
        }
        if self.random.once_in(20) {
            self.put(" ");
        }
    }

    /// What separates words.
    pub(super) fn blank(&mut self) {
        match self.random.below(24) {
            0 => self.put("  "),
            1 => self.put("\t"),
            2 => self.put(" \\\n "),
            3 => self.put(" \\\n\t\\\n"),
            _ => self.put(" "),
        }
    }

    fn assignments(&mut self) {
        for _ in 0..=self.random.below(2) {
            if self.wild && self.random.once_in(2) {
                self.pick(&[
                    "IFS=,",
                    "PATH=/decoy:$PATH",
                    "x=$y",
                    "x=~",
                    "x+=y",
                    "a[0]=1",
                    "a[$(ls)]=1",
                    "x=$(ls)",
                    "x=${y:=z}",
                    "PATH=/decoy",
                    "LD_PRELOAD=./x.so",
                    "GIT_PAGER='rm x'",
                    "BASH_ENV=a.txt",
                    "a=(1 2 $(date))",
                    "x=`ls`",
                    "PS4='$(date)'",
                    "x=*",
                    "x={a,b}",
                ]);
            } else {
                self.pick(&[
                    "A=b", "A=", "A='b c'", "A=\"b\"c", "A=b=c", "A+=b", "FOO_1=x", "A=$'\\n'",
                    "A=\\ b",
                ]);
            }
            self.blank();
        }
    }

    /// A redirect, with its target or the start of its here-document.
    pub(super) fn redirect(&mut self) {
        match self.random.below(16) {
            0 => self.put("2>&1"),
            1 => self.put(">/dev/null"),
            2 => self.put("> out.txt"),
            3 => self.put(">>'out put.txt'"),
            4 => self.put("2> /dev/null"),
            5 => self.put("< a.txt"),
            6 => self.put("&>out.txt"),
            7 => self.put(">| \"out\".txt"),
            8 => self.put("<> b.txt"),
            9 => self.put("2>&1 >&-"),
            10 => self.put("3<&0"),
            11 => self.put("{fd}>out.txt"),
            12 if self.wild => {
                self.pick(&["> ", "<<< "]);
                self.word();
            }
            12 => self.put("<<< 'a string'"),
            13 if self.wild && self.depth < DEPTH_MAX => {
                self.put("< ");
                self.enclosed("<(", ")");
            }
            _ => self.here_document(),
        }
    }

    fn here_document(&mut self) {
        let end = self.numbered("E");
        let tabs = self.random.once_in(4);
        self.put(if tabs { "<<-" } else { "<<" });
        let quoted = !self.wild || self.random.once_in(2);
        match self.random.below(3) {
            _ if !quoted => self.put(&end),
            0 => self.put(&format!("'{end}'")),
            1 => self.put(&format!("\"{end}\"")),
            _ => self.put(&format!("\\{end}")),
        }
        let line = self.random.word(&[
            "text",
            "rm -rf /",
            "$(rm x) `ls y` $x",
            "'quote",
            "\\$(ls)",
            "  EOF",
            "a\\\nb",
            "",
            ")",
        ]);
        let tab = if tabs { "\t" } else { "" };
        self.bodies.push(format!("{tab}{line}\n{tab}{end}\n"));
    }
}

/// The text as one word.
pub(super) fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
