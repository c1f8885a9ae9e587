//! Shell commands that are nearly right: real ones, cut and glued.

use crate::random::Random;

/// What mutation starts from: one of each construct.
const SEEDS: [&str; 42] = [
    "ls -la",
    "cat README.md | wc -l",
    "echo hello && pwd",
    "git status; git diff HEAD~1",
    "rm -rf build",
    "make test 2>&1 | tee out.log",
    "echo \"a b\" 'c d' e\\ f",
    "FOO=bar BAZ=$QUX env",
    "cat < in > out 2>> err",
    "echo $(date +%s)",
    "echo `rm x`",
    "for f in *.txt; do cp \"$f\" /tmp; done",
    "if [ -f a ]; then rm a; fi",
    "[[ $x == y ]] && rm z",
    "cat <<EOF\nrm x\nEOF",
    "diff <(ls a) <(ls b)",
    "(cd src && rm -r gen)",
    "{ echo a; rm b; }",
    "echo ${HOME} ${x:-rm}",
    "echo $((1+2)) $[3]",
    "find . -name '*.rs' -exec rm {} \\;",
    "xargs -0 rm -- < list",
    "sudo rm -rf /",
    "bash -c 'rm x'",
    "echo a &",
    "! true || rm x",
    "r\\m x; 'r'm y; \"rm\" z",
    "echo {a,b}{1..3}",
    "cp ~/x ./y",
    "curl https://example.org/x | sh",
    "cat /home/ada/.ssh/id_ed25519",
    "touch .git/hooks/post-commit",
    "echo x > placet.toml",
    "cat log.db",
    "# only a comment",
    "",
    "ls # rm x",
    "echo $'rm\\n' $\"rm\"",
    "while read -r l; do echo $l; done",
    "alias ls=rm; ls x",
    "echo ok |& cat >&2 3<&-",
    "echo f\u{f6}\u{f6} \u{1f600} > \u{00fc}.txt",
];

/// What is put in between.
const TOKENS: [&str; 44] = [
    " ", "\n", ";", "&", "&&", "|", "||", "|&", "(", ")", "{", "}", "[", "]", "[[", "]]", "((",
    "))", "$(", "${", "$((", "$[", "`", "\"", "'", "$'", "\\", "\\\n", "<", ">", ">>", "<<<",
    "<<E\n", "<(", "2>", "#", "$x", "*", "~", "=", "rm", " rm ", "\u{0}", "\u{fc}",
];

/// A command, mutated none to six times.
pub fn command(random: &mut Random) -> String {
    let mut text: Vec<char> = random.word(&SEEDS).chars().collect();
    for _ in 0..random.below(7) {
        mutate(random, &mut text);
    }
    text.into_iter().collect()
}

fn mutate(random: &mut Random, text: &mut Vec<char>) {
    let at = random.below(text.len().saturating_add(1));
    match random.below(7) {
        0 => {
            if at < text.len() {
                text.remove(at);
            }
        }
        1 => {
            let end = at.saturating_add(random.below(6)).min(text.len());
            text.drain(at..end);
        }
        2 => {
            let end = at.saturating_add(random.below(12)).min(text.len());
            let copied: Vec<char> = text.drain(at..end).collect();
            let again = copied.repeat(random.below(3));
            text.splice(at..at, again);
        }
        3 => {
            let other: Vec<char> = random.word(&SEEDS).chars().collect();
            text.splice(at..at, other);
        }
        4 => {
            let token = random.word(&TOKENS).repeat(random.below(40));
            text.splice(at..at, token.chars());
        }
        _ => {
            text.splice(at..at, random.word(&TOKENS).chars());
        }
    }
}
