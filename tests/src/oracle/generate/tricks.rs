//! The ways in which a shell runs what does not look like a command.

use super::Generator;
use super::simple::single_quoted;

/// `C` is a command, `Q` the same as one quoted word.
const TRICKS: [&str; 96] = [
    "eval C",
    "eval Q",
    "eval \"$(C)\"",
    "eval $x",
    "x=Q; eval $x",
    "x=Q; eval \"$x\"",
    "x=Q; $x",
    "eval eval Q",
    "builtin eval Q",
    "command eval Q",
    "command C",
    "command -p C",
    "command -v ls && C",
    "exec C",
    "exec -a other C",
    "(exec C); ls",
    "exec > out.txt; C",
    "builtin command C",
    "\\eval Q",
    "'eval' Q",
    "e\"val\" Q",
    "echo Q > s.sh; . ./s.sh",
    "echo Q > s.sh; source s.sh",
    "source <(echo Q)",
    ". /dev/stdin <<< Q",
    "trap Q EXIT",
    "trap Q DEBUG; ls",
    "trap Q ERR; false",
    "trap Q RETURN; f() { :; }; f",
    "trap -- Q 0",
    "trap Q USR1; kill -USR1 $$",
    "x='a[$(C)]'; echo $((x))",
    "x='a[$(C)]'; ((x))",
    "x='a[$(C)]'; let x",
    "x='a[$(C)]'; [[ x -eq 1 ]]",
    "x='a[$(C)]'; echo ${y:x}",
    "x='a[$(C)]'; echo ${a[x]}",
    "declare -i n='a[$(C)]'",
    "declare -i n; n='a[$(C)]'",
    "let 'a[$(C)]=1'",
    "test -v 'a[$(C)]'",
    "[ -v 'a[$(C)]' ]",
    "[[ -v a[$(C)] ]]",
    "printf -v 'a[$(C)]' x",
    "read 'a[$(C)]' <<< x",
    "unset 'a[$(C)]'",
    "x='a[$(C)]'; echo ${!x}",
    "declare -n r='a[$(C)]'; echo $r",
    "wait -p 'a[$(C)]' -n",
    "(( a[$(C)] ))",
    "a[$(C)]=1",
    "x='$(C)'; echo ${x@P}",
    "echo ${x:=$(C)}; $x",
    "PS4='$(C)'; set -x; ls",
    "PS4='$(C)' ; set -o xtrace; :",
    "set -x; PS4='+$(C)'; date",
    "PROMPT_COMMAND=Q; ls",
    "mapfile -C Q -c 1 lines < a.txt",
    "readarray -c 1 -C Q a < a.txt",
    "compgen -C Q x",
    "compgen -W '$(C)' x",
    "compgen -F f x; f() { C; }",
    "complete -C Q ls; ls",
    "hash -p /decoy/ls foo; foo x",
    "hash -p /decoy/rm ls; ls",
    "PATH=/decoy; ls",
    "PATH=/decoy ls",
    "export PATH=/decoy:$PATH; ls",
    "enable -n echo; echo x",
    "enable -n test; test x",
    "declare PATH=/decoy; ls",
    "read PATH <<< /decoy; ls",
    "printf -v PATH /decoy; ls",
    "shopt -s expand_aliases\nalias ls=Q\nls",
    "shopt -s expand_aliases; alias ls=Q\nls x",
    "shopt -s expand_aliases\nalias a='ls ' b=Q\na b",
    "alias ls=Q\nls",
    "ls() { C; }; ls",
    "function ls { C; }\nls a",
    "f() { C; }; trap f EXIT",
    "f() { \"$@\"; }; f C",
    "f() { $1; }; f Q",
    "export -f f; f",
    "command_not_found_handle() { C; }; no_such_program",
    "set -- C; \"$@\"",
    "set -- C; $1 $2",
    "IFS=,; x=ls,a.txt; $x",
    "a=(C); \"${a[@]}\"",
    "coproc C",
    "coproc N { C; }",
    "for f in C; do $f; done",
    "while C; do break; done",
    "time C",
    "shopt -s extglob\nls +(a|b).txt",
    "set -f; ls *.txt",
    "set -k; C A=b",
];

/// More of them, in which the command line itself is what deceives.
const SHAPES: [&str; 26] = [
    "ls # C\nC",
    "ls \\# C",
    "ls #\\\nC",
    "ls; #\n C",
    "echo a\\\n;C",
    "echo \"a\\\"; C; \"",
    "echo 'a\\'; C",
    "echo $'a\\'; C; '",
    "echo a$'\\''; C",
    "cat <<E\n$(C)\nE\n",
    "cat <<'E'\n$(C)\nE\nC",
    "cat <<E; C\ntext\nE",
    "cat <<-E\n\tE\nC",
    "cat <<E | C\n`C`\nE",
    "cat <<\"E F\"\n$(C)\nE F\nC",
    "$(cat <<E\nls\nE\n) ; C",
    "cat <<A <<B; C\n$(C)\nA\n$(C)\nB",
    "cat <<E\n\\$(C)\\\nE\nE\nC",
    "if ls; then C; fi; }",
    "case x in x) C;; esac; C",
    "echo {C,",
    "echo ${x:-'}'}; C",
    "echo \"${x:-'}\"; C",
    "echo \"${x:-\"}\"; C\"}\"",
    "[[ a =~ (a|b) ]] && C",
    "echo $(case x in x) C;; esac)",
];

impl Generator {
    /// One of the tricks.
    pub(super) fn trick(&mut self) {
        let trick = if self.random.once_in(4) {
            self.random.word(&SHAPES)
        } else {
            self.random.word(&TRICKS)
        };
        let command = self.text();
        let mut out = String::new();
        for (at, c) in trick.char_indices() {
            // Alone, not as part of a word in capitals.
            let before = trick.get(..at).and_then(|t| t.chars().next_back());
            let after = trick.get(at + 1..).and_then(|t| t.chars().next());
            let dash = before == Some('-');
            let alone =
                !dash && [before, after].iter().flatten().all(|c| !c.is_ascii_alphanumeric());
            match c {
                'C' if alone => out.push_str(&command),
                'Q' if alone => out.push_str(&single_quoted(&command)),
                c => out.push(c),
            }
        }
        self.put(&out);
    }
}
