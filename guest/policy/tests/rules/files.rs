//! Rules for files and sockets.

use crate::check;

#[test]
fn patterns_are_relative_to_the_workspace_home_or_root() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        file = "src/**"
        access = "write"
        [[rule]]
        effect = "deny"
        file = ["~/.ssh/**", "/etc/**"]
        [[rule]]
        effect = "ask"
        file = "**/.env"
        access = "read"
        "#,
        &[
            "write src/a.rs => allow",
            "write src/deep/a.rs => allow",
            "read src/a.rs => none",
            "write src => none",
            "write vendor/x/src/a => none",
            "write /src/a => none",
            "write srcx/a => none",
            "write ~/.ssh/config => deny",
            "read ~/.ssh/config => deny",
            "read ~/.ssh => deny",
            "read ~/.sshx => none",
            "read /etc/passwd => deny",
            "read /etc => deny",
            "read etc/passwd => none",
            "read .env => ask",
            "read a/b/.env => ask",
            "write a/b/.env => none",
            "read /x/.env => none",
        ],
    );
}

#[test]
fn a_link_is_refused_on_either_path_and_allowed_only_on_both() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        file = ["out/**", "lib/**"]
        access = "both"
        [[rule]]
        effect = "deny"
        file = "/secret/**"
        "#,
        &[
            "write out/a => allow",
            "write out/a -> /elsewhere/a => none",
            "write x/a -> out/a => none",
            "write out/a -> lib/a => allow",
            "read out/a -> /secret/a => deny",
            "read /secret/a -> out/a => deny",
            "write /w/out/../a -> out/a => none",
        ],
    );
}

#[test]
fn wildcards_stay_in_their_part() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        access = "read"
        file = [
            "docs/*.md", "a/**/z", "b/?.txt", "c/[a-c]x", "d/[!a-c]x", "{e,f/g}/h{1,2}",
            '[[]x', 'star\*', 'g/*/*', "h/x*y*z",
        ]
        "#,
        &[
            "read docs/a.md => allow",
            "read docs/.md => allow",
            "read docs/sub/a.md => none",
            "read docs/a.mdx => none",
            "read a/z => allow",
            "read a/b/c/z => allow",
            "read a/b/c/zz => none",
            "read b/a.txt => allow",
            "read b/ü.txt => allow",
            "read b/ab.txt => none",
            "read c/bx => allow",
            "read c/dx => none",
            "read d/dx => allow",
            "read d/ax => none",
            "read e/h1 => allow",
            "read f/g/h2 => allow",
            "read f/h2 => none",
            "read [x => allow",
            "read star* => allow",
            "read starx => none",
            "read g/a/b => allow",
            "read g/a => none",
            "read g/a/b/c => none",
            "read h/xyz => allow",
            "read h/xayzbyz => allow",
            "read h/xayb => none",
        ],
    );
}

#[test]
fn case_counts_unless_the_file_system_says_otherwise() {
    check(
        r#"
        [[rule]]
        effect = "deny"
        file = ["Secrets/**", "/Etc/[p-q]*"]
        "#,
        &[
            "read Secrets/a => deny",
            "read secrets/a => none",
            "read secrets/a (i) => deny",
            "read SECRETS (i) => deny",
            "read /W/secrets/a (i) => deny",
            "read /etc/Passwd (i) => deny",
            "read /etc/Passwd => none",
        ],
    );
}

#[test]
fn a_rule_that_says_no_access_refuses_both() {
    check(
        "[[rule]]\neffect = \"deny\"\nfile = \"a\"\n[[rule]]\neffect = \"ask\"\nfile = \"b\"\naccess = \"both\"",
        &[
            "read a => deny",
            "write a => deny",
            "read b => ask",
            "write b => ask",
            "read a/b => none",
        ],
    );
}

#[test]
fn everything_below_a_folder() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        file = "**"
        access = "both"
        [[rule]]
        effect = "ask"
        file = "/**"
        [[rule]]
        effect = "deny"
        kind = "unixSocket"
        "#,
        &[
            "read a => ask",
            "read /x/y => ask",
            "read / => ask",
            "sock /x => deny",
            "sock a => deny",
        ],
    );
}

#[test]
fn sockets_have_patterns_of_their_own() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        unix_socket = ["~/.cache/app.sock", "/run/app/*"]
        [[rule]]
        effect = "deny"
        unix_socket = "/run/docker.sock"
        "#,
        &[
            "sock /run/app/a => allow",
            "sock ~/.cache/app.sock => allow",
            "sock /var/run/docker.sock -> /run/docker.sock => deny",
            "sock /run/other => none",
            "read /run/app/a => none",
        ],
    );
}
