//! Commands and how they are read, one line each.

use crate::{check_shape, render};

#[track_caller]
fn check(command: &str, expected: &str) {
    assert_eq!(render(&check_shape(command)), expected, "command: {command}");
}

#[test]
fn words_lose_their_quotes() {
    check("ls -l", "[ls] [-l]");
    check("  ls\t-l  ", "[ls] [-l]");
    check(r#"echo 'a b' "c d" e\ f"#, "[echo] [a b] [c d] [e f]");
    check(r#"e"ch"'o' a''b "" '' "#, "[echo] [ab] [] []");
    check(r#"echo "\$ \` \" \\ \a \'""#, r#"[echo] [$ ` " \ \a \']"#);
    check(r"echo \$x \; \| \#", "[echo] [$x] [;] [|] [#]");
    check("awk '{print $1}' '$(x)' '`y`'", "[awk] [{print $1}] [$(x)] [`y`]");
    check("grep -E '\\.(md|mdx)' x", r"[grep] [-E] [\.(md|mdx)] [x]");
    check("echo é 'ü x'", "[echo] [é] [ü x]");
    check("printf 'a\nb'", "[printf] [a\nb]");
    check(r"\rm x", "[rm] [x]");
}

#[test]
fn stages_are_split_at_every_operator() {
    check("a && b || c; d | e |& f & g\nh", "[a] / [b] / [c] / [d] / [e] / [f] / [g] / [h]");
    check("a&&b||c;d|e|&f&g", "[a] / [b] / [c] / [d] / [e] / [f] / [g]");
    check("a;", "[a]");
    check("a &", "[a]");
    check("\n\n a \n\n b \n", "[a] / [b]");
    check("a &&\n\n # why\n b", "[a] / [b]");
    check("a |\n b", "[a] / [b]");
    check("echo 'a;b' \"c&&d\" e\\|f", "[echo] [a;b] [c&&d] [e|f]");
    check("cd /p && git status", "[cd] [/p] / [git] [status]");
}

#[test]
fn nothing_is_no_stage() {
    for command in ["", " ", "\n\t\n", "# ls", "  # ls\n\n#x", "\\\n", "# (unclosed ' \" `"] {
        check(command, "");
    }
}

#[test]
fn comments_start_at_words_only() {
    check("a # b; c\nd", "[a] / [d]");
    check("a;#b\nc", "[a] / [c]");
    check("a b#c '#d' \\#e", "[a] [b#c] [#d] [#e]");
    check("a # it's \\\nb", "[a] / [b]");
    check("a \\ #b", "[a] [ #b]");
}

#[test]
fn continuations_are_not_there() {
    check("ls \\\n -l", "[ls] [-l]");
    check("l\\\ns", "[ls]");
    check("a &\\\n& b", "[a] / [b]");
    check("a >\\\n> f", "[a] a:f");
    check("a 2\\\n> f", "[a] w:f");
    check("\"a\\\nb\"", "[ab]");
    check("'a\\\nb'", "[a\\\nb]");
    check("echo \\\\\nls", "[echo] [\\] / [ls]");
    check("\\\n# x", "");
    check("echo $\\\n(rm x)", "opaque");
    check("echo \"$\\\n(rm x)\"", "opaque");
    check("i\\\nf x", "opaque");
    check("echo {1.\\\n.3}", "[echo] <{1..3}> ?");
    check("P\\\nATH=x ls", "PATH=x [ls]");
}

#[test]
fn redirects_name_files() {
    check("a > f", "[a] w:f");
    check("a>f b", "[a] [b] w:f");
    check("> f a", "[a] w:f");
    check("> f", "w:f");
    check("a >> f < g", "[a] a:f r:g");
    check("a 2>/dev/null", "[a] w:/dev/null");
    check("a >|f <>g", "[a] w:f w:g");
    check("a &>f", "[a] w:f");
    check("a &>>f", "[a] a:f");
    check("a >&f", "[a] w:f");
    check("a > 'f g'", "[a] w:f g");
    check("a 2>&1 | b", "[a] / [b]");
    check("a >&2 <&- 3<&0 2>&- 4>&3-", "[a]");
    check("a 2 >f", "[a] [2] w:f");
    check("a b2>f", "[a] [b2] w:f");
    check("a \\2>f", "[a] [2] w:f");
    check("a > $f", "[a] w:? ?");
    check("a > f*", "[a] w:? ?");
    check("a >&$f", "[a] w:? ?");
    check("a <<< word", "[a] ?");
    check("a </dev/tcp/host/80", "[a] r:/dev/tcp/host/80 ?");
    check("a <&f", "[a] r:f ?");
}

#[test]
fn redirects_that_are_not_understood() {
    for command in [
        "a << E\nx\nE",
        "a <<-E\nE",
        "a >",
        "a > ; b",
        "a >\nf",
        "a > # f",
        "a >&-b",
        "a {fd}>f",
        "a > 2>f",
        "a > {x}>f",
        "a 123456789012>f",
        "a >>> f",
        "a >>| f",
        "a &>& f",
        "a > (b)",
        "> f > A=b",
    ] {
        check(command, "opaque");
    }
}

#[test]
fn assignments_stand_before_the_command() {
    check("A=b c", "A=b [c]");
    check("A=b", "A=b");
    check("A= c", "A= [c]");
    check("A+=b c", "A+=b [c]");
    check("A='b c' D=\"e\" f", "A='b c' D=\"e\" [f]");
    check(">f A=b c", "A=b [c] w:f");
    check("A=$B c", "A=$B [c] ?");
    check("A=~/x c", "A=~/x [c] ?");
    check("c A=b", "[c] [A=b]");
    check("1A=b", "[1A=b]");
    check("'A'=b", "[A=b]");
    check("A\\=b", "[A=b]");
    check("A\"=\"b", "[A=b]");
    check("=b", "[=b]");
    check("A[0]=b c", "opaque");
    check("A=(b c)", "opaque");
    check("A=$(b) c", "opaque");
}

#[test]
fn values_known_later_leave_the_stage_incomplete() {
    check("echo $X", "[echo] <$X> ?");
    check("echo a\"$X\"b c", "[echo] <a\"$X\"b> [c] ?");
    check("echo ${X} ${12} $1 $? $$ $@", "[echo] <${X}> <${12}> <$1> <$?> <$$> <$@> ?");
    check("ls *.rs; pwd", "[ls] <*.rs> ? / [pwd]");
    check("ls a? [ab] a[0", "opaque");
    check("ls a? [ab]", "[ls] <a?> <[ab]> ?");
    check("echo {a,b} {1..3}", "[echo] <{a,b}> <{1..3}> ?");
    check("echo {a,'b,c'} {\"a,b\"}", "[echo] <{a,'b,c'}> <{\"a,b\"}> ?");
    check("find . -exec x {} \\;", "[find] [.] [-exec] [x] [{}] [;]");
    check("git show HEAD@{1} HEAD~2", "[git] [show] [HEAD@{1}] [HEAD~2]");
    check("ls ~ ~/x ~bob a~ '~' \\~", "[ls] <~> <~/x> <~bob> [a~] [~] [~] ?");
    check("make P=~/x", "[make] <P=~/x> ?");
    check("echo $'a\\'b' $\"c\"", "[echo] <$'a\\'b'> <$\"c\"> ?");
    check("echo a$ \"b$\" $", "[echo] [a$] [b$] [$]");
    check("[ -f x ]", "[[] [-f] [x] []]");
}

#[test]
fn code_inside_a_word_makes_everything_opaque() {
    for command in [
        "ls; echo $(rm x)",
        "echo \"a $(rm x)\"",
        "echo `rm x`",
        "echo \"`rm x`\"",
        "diff <(a) >(b)",
        "echo $((1+1))",
        "echo $[1+1]",
        "echo ${X:=y}",
        "echo ${X:-y}",
        "echo ${X@P}",
        "echo ${X:-$(rm x)}",
        "echo ${!X}",
        "echo $$(rm x)",
        "echo \"$$(rm x)\"",
        "$X y",
        "ls; $X",
        "*/x",
        "~/bin/x",
        "{rm,x}",
    ] {
        check(command, "opaque");
    }
}

#[test]
fn compound_commands_make_everything_opaque() {
    for command in [
        "(ls)",
        "{ ls; }",
        "if a; then b; fi",
        "while a; do b; done",
        "until a; do b; done",
        "for x in a; do b; done",
        "case a in b) c;; esac",
        "select x in a; do b; done",
        "function f { ls; }",
        "f() { ls; }",
        "f () ls",
        "time ls",
        "! ls",
        "coproc ls",
        "[[ a = b ]]",
        "((x=1))",
        "ls; then",
        "A=b if x",
        "'if' x",
    ] {
        check(command, "opaque");
    }
}

#[test]
fn what_changes_the_reading_stands_alone() {
    check("alias ls=rm", "[alias] [ls=rm]");
    check("alias ls=rm\nls x", "opaque");
    check("shopt -s extglob; ls", "opaque");
    check("set -H\nls", "opaque");
    check("set -o history\nls", "opaque");
    check("set $X\nls", "opaque");
    check("set -euo pipefail\nls", "[set] [-euo] [pipefail] / [ls]");
    check("set -e; set +x; ls", "[set] [-e] / [set] [+x] / [ls]");
}

#[test]
fn what_bash_refuses_is_opaque() {
    for command in [
        "a ; ; b",
        "a ;; b",
        "; a",
        "& a",
        "| a",
        "a &&",
        "a ||",
        "a |",
        "a | | b",
        "a && && b",
        "a & && b",
        "a\n| b",
        "a &; b",
        "a \\",
        "a 'b",
        "a \"b",
        "a )",
        "a (",
        "a ${X",
        "a \"$X",
        "a \"b\\",
        "a $'b",
    ] {
        check(command, "opaque");
    }
}

#[test]
fn control_characters_are_opaque() {
    for c in ['\0', '\r', '\x1b', '\x07', '\x0b', '\x0c', '\x08', '\x7f'] {
        let expected = if c == '\x7f' { "[ls] [\x7f]" } else { "opaque" };
        check(&format!("ls {c}"), expected);
    }
    check("# \r", "opaque");
}

#[test]
fn ranges_are_absolute_bytes() {
    let command = "é 'x' &&  A=b c 2>&1 \\\n | > f d # x";
    let parsed = check_shape(command);
    let texts = parsed.stages.iter().map(|s| &command[s.start as usize..s.end as usize]);
    assert_eq!(texts.collect::<Vec<_>>(), ["é 'x'", "A=b c 2>&1", "> f d"]);
}
