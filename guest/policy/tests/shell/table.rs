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
    check("a && b || c; d | e |& f & g\nh", "[a] / [b] / [c] / [d] & / [e] & / [f] & / [g] / [h]");
    check("a&&b||c;d|e|&f&g", "[a] / [b] / [c] / [d] & / [e] & / [f] & / [g]");
    check("a;", "[a]");
    check("a &", "[a] &");
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
    check("echo $\\\n(rm x)", "[echo] <$(rm x)> ? / [rm] [x]");
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
    check("a {fd}>f", "fd=? [a] w:f");
    check("a 2>&1 | b", "[a] / [b]");
    check("a >&2 <&- 3<&0 2>&- 4>&3-", "[a]");
    check("a 2 >f", "[a] [2] w:f");
    check("a b2>f", "[a] [b2] w:f");
    check("a \\2>f", "[a] [2] w:f");
    check("a > $f", "[a] w:?");
    check("a > f*", "[a] w:?");
    check("a >&$f", "[a] w:?");
    check("a <<< word", "[a]");
    check("a </dev/tcp/host/80", "[a] r:/dev/tcp/host/80 ? !");
    check("a <&f", "[a] r:f");
}

#[test]
fn redirects_that_are_not_understood() {
    for command in [
        "a << $E\nx\n$E",
        "a <<''\n\n",
        "a >",
        "a > ; b",
        "a >\nf",
        "a > # f",
        "a >&-b",
        "a > 2>f",
        "a > {x}>f",
        "a 123456789012>f",
        "a >>> f",
        "a >>| f",
        "a &>& f",
        "a > (b)",
    ] {
        check(command, "opaque");
    }
}

#[test]
fn assignments_stand_before_the_command() {
    check("A=b c", "A=b [c]");
    check("A=b", "A=b");
    check("A= c", "A= [c]");
    check("A+=b c", "A=? [c]");
    check("A='b c' D=\"e\" f", "A=b c D=e [f]");
    check(">f A=b c", "A=b [c] w:f");
    check("A=$B c", "A=? [c]");
    check("A=* c", "A=* [c]");
    check("A=~/x c", "A=? [c]");
    check("c A=b", "[c] [A=b]");
    check("1A=b", "[1A=b]");
    check("'A'=b", "[A=b]");
    check("A\\=b", "[A=b]");
    check("A\"=\"b", "[A=b]");
    check("=b", "[=b]");
    check("A[0]=b c", "A=? [c]");
    check("A[x]=b c", "A=? [c] ? !");
    check("A[$x]=b c", "A=? [c] ? !");
    check("A[1+1]=b c", "A=? [c]");
    check("A['x']=b c", "opaque");
    check("A=(b $(c))", "A=? / [c]");
    check("A=$(b) c", "A=? [c] / [b]");
}

#[test]
fn values_known_later_leave_the_stage_incomplete() {
    check("echo $X", "[echo] <$X> ?");
    check("echo a\"$X\"b c", "[echo] <a\"$X\"b> [c] ?");
    check("echo ${X} ${12} $1 $? $$ $@", "[echo] <${X}> <${12}> <$1> <$?> <$$> <$@> ?");
    check("ls *.rs; pwd", "[ls] <*.rs> ? / [pwd]");
    check("ls a? [ab] a[0", "[ls] <a?> <[ab]> [a[0] ?");
    check("ls a? [ab]", "[ls] <a?> <[ab]> ?");
    check("echo {a,b} {1..3}", "[echo] [a] [b] <{1..3}> ?");
    check("echo {a,'b,c'} {\"a,b\"}", "[echo] [a] [b,c] [{a,b}]");
    check("find . -exec x {} \\;", "[find] [.] [-exec] [x] [{}] [;] ([x] <{}> ?)");
    check("git show HEAD@{1} HEAD~2", "[git] [show] [HEAD@{1}] [HEAD~2]");
    check("ls ~ ~/x ~bob a~ '~' \\~", "[ls] <~> <~/x> <~bob> [a~] [~] [~] ?");
    check("make P=~/x", "[make] <P=~/x> ?");
    check("echo $'a\\'b' $\"c\"", "[echo] [a'b] <$\"c\"> ?");
    check("echo a$ \"b$\" $", "[echo] [a$] [b$] [$]");
    check("[ -f x ]", "[[] [-f] [x] []]");
}

#[test]
fn what_runs_inside_a_word_is_a_stage() {
    check("ls; echo $(rm x)", "[ls] / [echo] <$(rm x)> ? / [rm] [x]");
    check("echo \"a $(rm x)\"", "[echo] <\"a $(rm x)\"> ? / [rm] [x]");
    check("echo `rm x`", "[echo] <`rm x`> ? / [rm] [x]");
    check("echo \"`rm \\`y\\``\"", "[echo] <\"`rm \\`y\\``\"> ? / [rm] <`y`> ? / [y]");
    check("diff <(a) >(b)", "[diff] <<(a)> <>(b)> ? / [a] / [b]");
    check("a > >(b)", "[a] w:? / [b]");
    check("echo ${X:-$(rm x)}", "[echo] <${X:-$(rm x)}> ? / [rm] [x]");
    check("echo \"${X:-\"$(rm x)\"}\"", "[echo] <\"${X:-\"$(rm x)\"}\"> ? / [rm] [x]");
    check("echo $(( $(rm x) + 1 ))", "[echo] <$(( $(rm x) + 1 ))> ? ! / [rm] [x]");
    check("cat <<E\n$(rm x) `y`\nE", "[cat] / [rm] [x] / [y]");
    check("cat <<'E'\n$(rm x)\nE\nls", "[cat] / [ls]");
    check("cat <<< \"$(rm x)\"", "[cat] / [rm] [x]");
    check("A=(1 $(rm x))", "A=? / [rm] [x]");
    check("for f in $(rm x); do ls; done", "[rm] [x] / [ls]");
    check("case $(rm x) in $(a)) ls;; esac", "[rm] [x] / [a] / [ls]");
    check("[[ x =~ $(rm x) ]]", "<[[ x =~ $(rm x) ]]> ? / [rm] [x]");
    check("echo $(<f)", "[echo] <$(<f)> ? / r:f");
}

#[test]
fn what_runs_unseen_is_code() {
    check("echo $((1+1))", "[echo] <$((1+1))> ?");
    check("echo $((x+1))", "[echo] <$((x+1))> ? !");
    check("echo $[1+1] $[x]", "[echo] <$[1+1]> <$[x]> ? !");
    check("echo $((0x1f + 16#ff))", "[echo] <$((0x1f + 16#ff))> ?");
    check("echo ${X[1]} ${X[@]}", "[echo] <${X[1]}> <${X[@]}> ?");
    check("echo ${X[i]}", "[echo] <${X[i]}> ? !");
    check("echo ${X:1:2}", "[echo] <${X:1:2}> ?");
    check("echo ${X:i}", "[echo] <${X:i}> ? !");
    check("echo ${X:=y}", "X=? [echo] <${X:=y}> ?");
    check("echo ${X:-y} ${#X}", "[echo] <${X:-y}> <${#X}> ?");
    check("echo ${X@P}", "[echo] <${X@P}> ? !");
    check("echo ${!X}", "[echo] <${!X}> ? !");
    check("((x))", "<((x))> ? !");
    check("((1))", "[((1))]");
    check("[[ a -eq b ]]", "<[[ a -eq b ]]> ? !");
    check("[[ a = b* ]]", "[[[ a = b* ]]]");
    check("source x", "[source] [x] ? !");
    check("let x=y", "[let] [x=y] ? !");
    check("test -v 'a[$(x)]'", "[test] [-v] [a[$(x)]] ? !");
    check("printf -v 'a[$(x)]' y", "[printf] [-v] [a[$(x)]] [y] ? !");
    check("eval $x", "[eval] <$x> ? !");
    for command in [
        "echo $$(rm x)",
        "echo \"$$(rm x)\"",
        "echo ${ rm x; }",
        "echo \"${X:-'}'}\"",
        "echo $((rm x) )",
        "a @(b|c)",
    ] {
        check(command, "opaque");
    }
}

#[test]
fn a_variable_that_holds_a_number_runs_nothing() {
    check("((x=1))", "[((x=1))]");
    check("((x=1, x+1))", "[((x=1, x+1))]");
    check("((PATH=1))", "<((PATH=1))> ? !");
    check("i=0; ((i+=2))", "i=0 / [((i+=2))]");
    check("i=0; ((i<$i))", "i=0 / [((i<$i))]");
    check("i=0; echo $((i))", "i=0 / [echo] <$((i))> ?");
    check("i=; ((i))", "i= / <((i))> ? !");
    check("i=x; ((i))", "i=x / <((i))> ? !");
    check("for ((i=0; i<3; i++)); do ls; done", "[((i=0; i<3; i++))] / [ls]");
    check("for ((; i<3; i++)); do ls; done", "<((; i<3; i++))> ? ! / [ls]");
    check("for i in 1 2; do ((i)); done", "[((i))]");
    check("for i in 1 b; do ((i)); done", "<((i))> ? !");
    check("i=0; ((i)); read i", "i=0 / <((i))> ? ! / [read] [i]");
    check("i=0; ((i)); read j", "i=0 / [((i))] / [read] [j]");
    check("i=0; ((i)); export i=1", "i=0 / [((i))] / [export] [i=1]");
    check("i=0; ((i)); export i=x", "i=0 / <((i))> ? ! / [export] [i=x]");
    check("(i=0); ((i))", "i=0 / <((i))> ? !");
    check("a && i=0; ((i))", "[a] / i=0 / <((i))> ? !");
    check("a && i=0 && ((i))", "[a] / i=0 / [((i))]");
}

#[test]
fn a_here_document_in_a_substitution_ends_with_it() {
    check("a \"$(cat <<E\nx\nE\n)\"", "[a] <\"$(cat <<E\nx\nE\n)\"> ? / [cat]");
    check("a \"$(cat <<E\nx\nE\nb)\"", "[a] <\"$(cat <<E\nx\nE\nb)\"> ? / [cat] / [b]");
    // Bash 5.2 would run `b c` here.
    check("a \"$(cat <<E\nx\nE\nb; c)\"", "opaque");
    check("cat <<E\nx\nE\nb; c", "[cat] / [b] / [c]");
}

#[test]
fn a_name_may_be_unknown() {
    check("$X y", "<$X> [y] ?");
    check("ls; $X", "[ls] ? ! / <$X> ?");
    check("*/x", "<*/x> ?");
    check("~/bin/x", "<~/bin/x> ?");
    check("{rm,x}", "[rm] [x]");
}

#[test]
fn compound_commands_are_walked() {
    check("(ls)", "[ls]");
    check("{ ls; }", "[ls]");
    check("if a; then b; elif c; then d; else e; fi", "[a] / [b] / [c] / [d] / [e]");
    check("while a; do b; done", "[a] / [b]");
    check("until a; do b; done", "[a] / [b]");
    check("for x in a; do b; done", "[b]");
    check("for PATH in a; do b; done", "PATH=? ? / [b]");
    check("case a in b) c;; (d|e) f;& *) esac", "[c] / [f]");
    check("select x in a; do b; done", "[b]");
    check("function f { ls; }; f", "[ls] / [f]");
    check("f() { ls; } > x; f", "[ls] / w:x / [f]");
    check("f() ( ls )", "[ls]");
    check("f () ls", "opaque");
    check("time ls", "[ls]");
    check("time -p ls", "[ls]");
    check("! ls", "[ls]");
    check("coproc ls", "[ls] &");
    check("coproc N { ls; }", "[ls] &");
    check("{ a; b; } > f 2>&1", "[a] / [b] / w:f");
    check("! { a && b > o; }", "[a] / [b] w:o");
    check("while a; do b; done < f", "[a] / [b] / r:f");
    check("(a) 2>/dev/null", "[a]");
    check("ls; then", "opaque");
    check("if ls; fi", "opaque");
    check("{ }", "opaque");
    check("A=b if x", "A=b [if] [x]");
    check("'if' x", "[if] [x]");
}

#[test]
fn what_a_stage_runs_in_turn_is_inside_it() {
    check(
        "timeout 5 nice -n 3 ls x",
        "[timeout] [5] [nice] [-n] [3] [ls] [x] ([nice] [-n] [3] [ls] [x] ([ls] [x]))",
    );
    check("env -i A=b ls", "[env] [-i] [A=b] [ls] (A=b [ls])");
    check("sudo -u root rm x", "[sudo] [-u] [root] [rm] [x] ([rm] [x])");
    check("bash -c 'a; b \"$1\"' _ x", "[bash] [-c] [a; b \"$1\"] [_] [x] ([a] / [b] <\"$1\"> ?)");
    check("sh -ec 'rm x'", "[sh] [-ec] [rm x] ([rm] [x])");
    check("bash <<'E'\nrm x\nE", "[bash] ([rm] [x])");
    check("bash script x", "[bash] [script] [x]");
    check("bash", "[bash] !");
    check("echo 'rm x' | sh", "[echo] [rm x] / [sh] !");
    check("sh < script", "[sh] r:script !");
    check("bash -- <(ls)", "[bash] [--] <<(ls)> ? ! / [ls]");
    check("su", "[su] !");
    check("su - u", "[su] [-] [u] !");
    check("sg g 'rm x'", "[sg] [g] [rm x] !");
    check("script -q f rm x", "[script] [-q] [f] [rm] [x] !");
    check("sudo -s", "[sudo] [-s] !");
    check("sudo -k", "[sudo] [-k]");
    check("unshare -r", "[unshare] [-r] !");
    check("flock f rm x", "[flock] [f] [rm] [x] ([rm] [x])");
    check("fakeroot -- rm x", "[fakeroot] [--] [rm] [x] ([rm] [x])");
    check("bash -c \"$X\"", "[bash] [-c] <\"$X\"> ? !");
    check("eval 'a; b'", "[eval] [a; b] ([a] / [b])");
    check("trap 'rm x' EXIT", "[trap] [rm x] [EXIT] ([rm] [x])");
    check("command rm x", "[command] [rm] [x] ([rm] [x])");
    check("command -v rm", "[command] [-v] [rm]");
    check("exec -a b rm x", "[exec] [-a] [b] [rm] [x] ? !");
    check("xargs -n 1 rm -f", "[xargs] [-n] [1] [rm] [-f] ([rm] [-f] <\u{2026}> ?)");
    check("xargs -I{} cp {} d", "[xargs] [-I{}] [cp] [{}] [d] ([cp] <{}> [d] ?)");
    check("watch -n 1 'rm x | y'", "[watch] [-n] [1] [rm x | y] ([rm] [x] / [y])");
    check("su -c 'rm x' u", "[su] [-c] [rm x] [u] ([rm] [x])");
    check("timeout --odd 5 rm", "[timeout] [--odd] [5] [rm] !");
    check("timeout $T rm", "[timeout] <$T> [rm] ? !");
}

#[test]
fn what_changes_the_reading_stands_alone() {
    check("alias ls=rm", "[alias] [ls=rm]");
    check("hash -p rm ls; ls x", "[hash] [-p] [rm] [ls] / [ls] [x] ? !");
    check("hash -r; ls x", "[hash] [-r] / [ls] [x]");
    check("alias ls=rm\nls x", "[alias] [ls=rm] / [ls] [x] ? !");
    check("shopt -s extglob; ls", "[shopt] [-s] [extglob] / [ls] ? !");
    check("set -H\nls", "[set] [-H] / [ls] ? !");
    check("set -o history\nls", "[set] [-o] [history] / [ls] ? !");
    check("set $X\nls", "[set] <$X> ? / [ls] ? !");
    check("PS4=x; set -x; ls", "PS4=x / [set] [-x] ? ! / [ls] ? !");
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
        check(&format!("ls {c}"), "opaque");
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
