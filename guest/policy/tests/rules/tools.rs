//! Rules for tools and processes.

use crate::check;

#[test]
fn a_tool_is_named_with_its_server() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        tool = ["read_file", "list_*"]
        [[rule]]
        effect = "allow"
        server = "github"
        tool = "get_*"
        [[rule]]
        effect = "deny"
        tool = "delete_*"
        [[rule]]
        effect = "ask"
        server = "files"
        [[rule]]
        effect = "allow"
        tool = "mcp__wiki__search"
        "#,
        &[
            "tool read_file => allow",
            "tool list_all => allow",
            "tool read_files => none",
            "tool mcp__evil__read_file => none",
            "tool evil/read_file => none",
            "tool evil read_file {} => none",
            "tool mcp__github__get_issue => allow",
            "tool github/get_issue => allow",
            "tool github get_issue {} => allow",
            "tool github mcp__github__get_issue {} => allow",
            "tool get_issue => none",
            "tool mcp__github__x__get_issue => none",
            "tool delete_all => deny",
            "tool mcp__any__delete_all => deny",
            "tool a/b/delete_all => deny",
            "tool files/anything => ask",
            "tool mcp__wiki__search => allow",
            "tool wiki/search => allow",
        ],
    );
}

#[test]
fn arguments_narrow() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        tool = "create"
        args = { repo = "acme/*", "labels.0" = ["bug", "docs"], "/a~1b" = 3, draft = true }
        [[rule]]
        effect = "allow"
        tool = "copy"
        args."files.*.path" = "src/*"
        [[rule]]
        effect = "deny"
        tool = "send"
        args.to = "*@evil.example"
        "#,
        &[
            r#"tool create {"repo":"acme/x","labels":["bug"],"a/b":3,"draft":true} => allow"#,
            r#"tool create {"repo":"acme/../x","labels":["bug"],"a/b":3,"draft":true} => none"#,
            r#"tool create {"repo":"other/x","labels":["bug"],"a/b":3,"draft":true} => none"#,
            r#"tool create {"repo":"acme/x","labels":["x"],"a/b":3,"draft":true} => none"#,
            r#"tool create {"repo":"acme/x","labels":["bug"],"a/b":"3","draft":true} => none"#,
            r#"tool create {"repo":"acme/x","labels":["bug"],"a/b":3} => none"#,
            r#"tool copy {"files":[{"path":"src/a"},{"path":"src/b"}]} => allow"#,
            r#"tool copy {"files":[{"path":"src/a"},{"path":"/etc/b"}]} => none"#,
            r#"tool copy {"files":[{"path":"src/a"},{"other":"/etc/b"}]} => none"#,
            r#"tool copy {"files":[]} => none"#,
            r#"tool send {"to":"a@evil.example"} => deny"#,
            r#"tool send {"to":"a@good.example"} => none"#,
            r#"tool send {} => none"#,
        ],
    );
}

#[test]
fn a_process_by_its_text() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        process = ["node *", "pid 7"]
        [[rule]]
        effect = "deny"
        process = "*systemd*"
        "#,
        &[
            "proc node server.js => allow",
            "proc pid 7 => allow",
            "proc pid 70 => none",
            "proc /lib/systemd/systemd => deny",
        ],
    );
}
