//! Rules for shell stages.

use crate::check;

#[test]
fn words_are_a_prefix_with_alternatives_and_stars() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        shell = ["git", ["status", "log", "diff"]]
        [[rule]]
        effect = "allow"
        shell = ["npm", "run", "test*"]
        [[rule]]
        effect = "allow"
        shell = ["make", "*"]
        [[rule]]
        effect = "allow"
        shell = ["cargo", "check"]
        exact = true
        [[rule]]
        effect = "allow"
        shell = ["echo", '\*', 'a\\b']
        "#,
        &[
            "run git status => allow",
            "run git log -1 --stat => allow",
            "run git push => none",
            "run git => none",
            "run gitx status => none",
            "run npm run test => allow",
            "run npm run test:unit -- x => allow",
            "run npm run atest => none",
            "run make => none",
            "run make build => allow",
            "run cargo check => allow",
            "run cargo check --fix => none",
            r"run echo * a\b => allow",
            r"run echo x a\b => none",
        ],
    );
}

#[test]
fn two_stars_are_any_number_of_words() {
    check(
        r#"
        [[rule]]
        effect = "deny"
        shell = ["git", "**", "push", "**", ["--force", "-f"]]
        "#,
        &[
            "run git push --force => deny",
            "run git -C x push origin main -f => deny",
            "run git push => none",
            "run git push $X => deny?",
            "run git $X => deny?",
            "run git $X push -f => deny",
            "run git push $X -f => deny",
        ],
    );
}

#[test]
fn a_word_that_is_not_known_may_be_any_words() {
    check(
        r#"
        [[rule]]
        effect = "deny"
        shell = ["rm", "-rf"]
        [[rule]]
        effect = "ask"
        shell = ["git", "push"]
        [[rule]]
        effect = "allow"
        shell = ["ls"]
        [[rule]]
        effect = "allow"
        shell = ["cat", "*"]
        [[rule]]
        effect = "allow"
        shell = ["cargo", "check"]
        exact = true
        "#,
        &[
            "run rm -rf $X => deny",
            "run rm $X => deny?",
            "run rm $X -rf => deny?",
            "run rm x $X => none",
            "run $X => deny?",
            "run $X y => deny?",
            "run git $X => ask?",
            "run ls $X => allow",
            "run cat $X => none",
            "run cat x $X => allow",
            "run cargo check $X => none",
            "run cargo $X => none",
        ],
    );
}

#[test]
fn a_program_is_refused_behind_any_path_and_allowed_as_it_is_spelt() {
    check(
        r#"
        [[rule]]
        effect = "deny"
        shell = ["rm"]
        [[rule]]
        effect = "deny"
        shell = ["/usr/bin/dd"]
        [[rule]]
        effect = "allow"
        shell = ["git", "status"]
        [[rule]]
        effect = "allow"
        shell = ["/path/to/tool"]
        [[rule]]
        effect = "allow"
        shell = ["./scripts/*.sh"]
        [[rule]]
        effect = "deny"
        shell = ["mkfs*"]
        "#,
        &[
            "run rm x => deny",
            "run /bin/rm x => deny",
            "run ./rm x => deny",
            "run rmdir x => none",
            "run dd => deny",
            "run /opt/dd => deny",
            "run git status => allow",
            "run /usr/bin/git status => none",
            "run ./git status => none",
            "run /path/to/tool x => allow",
            "run tool x => none",
            "run /other/tool x => none",
            "run ./scripts/a.sh => allow",
            "run ./scripts/../a.sh => none",
            "run mkfs.ext4 => deny",
            "run /sbin/mkfs.ext4 => deny",
        ],
    );
}

#[test]
fn flags_narrow_what_is_allowed_and_find_what_is_refused() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        shell = ["git", ["log", "diff"]]
        without_flags = ["--output", "-o"]
        [[rule]]
        effect = "deny"
        shell = ["rm"]
        with_flags = [["-r", "-R", "--recursive"], ["-f", "--force"]]
        [[rule]]
        effect = "allow"
        shell = ["terraform", "apply"]
        with_flags = "-help"
        [[rule]]
        effect = "deny"
        shell = ["kubectl", "delete"]
        without_flags = ["--dry-run=client"]
        "#,
        &[
            "run git log --oneline => allow",
            "run git log --output=x => none",
            "run git log --outp x => none",
            "run git log -ox => none",
            "run git log -po => none",
            "run git log $X => none",
            "run rm -rf x => deny",
            "run rm -fr x => deny",
            "run rm -r -f x => deny",
            "run rm --recursive --forc x => deny",
            "run rm -r x => none",
            "run rm -r $X => deny?",
            "run rm x => none",
            "run kubectl delete pod => deny",
            "run kubectl delete pod --dry-run=client => none",
            "run kubectl delete pod --dry-run=none => deny",
            "run kubectl delete pod -n --dry-run=client => deny?",
            "run kubectl delete pod $X => deny?",
            "run kubectl delete pod --dry-run=client $X => deny?",
        ],
    );
}

#[test]
fn assignments_are_covered_only_when_named() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        shell = ["gh", "pr", "list"]
        env = ["GH_TOKEN", "GH_*"]
        [[rule]]
        effect = "allow"
        shell = ["ls"]
        [[rule]]
        effect = "ask"
        shell = ["git"]
        "#,
        &[
            "run GH_TOKEN= gh pr list => allow",
            "run GH_HOST= GH_TOKEN= gh pr list => allow",
            "run PATH= GH_TOKEN= gh pr list => none",
            "run gh pr list => allow",
            "run LD_PRELOAD= ls => none",
            "run CI= git commit => ask",
        ],
    );
}

#[test]
fn a_rule_for_the_whole_kind_needs_no_words() {
    check(
        "[[rule]]\neffect = \"allow\"\nkind = \"shell\"",
        &[
            "run $X => allow",
            "run A= b => allow",
            "run => allow",
            "bare x => allow",
            "proc x => none",
        ],
    );
    check(
        "[[rule]]\neffect = \"allow\"\nshell = [\"**\"]",
        &["run x => allow", "run $X => allow", "run A= b => none", "bare x => none", "run => none"],
    );
}

#[test]
fn words_of_what_was_not_understood_match_in_order() {
    check(
        r#"
        [[rule]]
        effect = "deny"
        shell = ["git", "push"]
        [[rule]]
        effect = "deny"
        shell = ["curl", "https://example.com/?x"]
        [[rule]]
        effect = "deny"
        shell = ["npm", "run deploy*"]
        [[rule]]
        effect = "ask"
        shell = ["rm"]
        with_flags = ["-r"]
        [[rule]]
        effect = "allow"
        shell = ["ls"]
        "#,
        &[
            "bare for x in git -C y push => deny?",
            "bare push git => none",
            "bare sudo /usr/bin/git push => deny?",
            "bare curl https://example.com/ x => deny?",
            "bare npm run deploy:prod => deny?",
            "bare rm x => ask?",
            "bare ls => none",
        ],
    );
}
