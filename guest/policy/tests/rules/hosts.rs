//! Rules for hosts, ports and protocols.

use crate::check;

#[test]
fn a_wildcard_is_any_depth_and_a_question_mark_one_label() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        network = ["*.example.com", "?.example.org", "example.net"]
        "#,
        &[
            "net api.example.com 443 https => allow",
            "net a.b.example.com 443 https => allow",
            "net example.com 443 https => none",
            "net evilexample.com 443 https => none",
            "net example.com.evil.org 443 https => none",
            "net a.example.org 443 https => allow",
            "net a.b.example.org 443 https => none",
            "net example.net 443 https => allow",
            "net EXAMPLE.net. 443 HTTPS => allow",
            "net a.example.net 443 https => none",
        ],
    );
}

#[test]
fn ports_and_protocols_that_are_not_named_are_those_of_the_web() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        network = "example.com"
        [[rule]]
        effect = "allow"
        network = ["db.example.com", "10.0.0.1"]
        ports = [5432, "8000-8002"]
        [[rule]]
        effect = "allow"
        network = "localhost:8000"
        [[rule]]
        effect = "allow"
        network = "git.example.com"
        protocols = ["ssh"]
        [[rule]]
        effect = "allow"
        network = "any.example.com"
        ports = "any"
        protocols = ["https"]
        "#,
        &[
            "net example.com 443 => allow",
            "net example.com 80 http => allow",
            "net example.com 9999 https => none",
            "net example.com - https => none",
            "net example.com 443 tcp => none",
            "net example.com 443 ssh => none",
            "net db.example.com 5432 postgres => allow",
            "net db.example.com 8001 => allow",
            "net db.example.com 8003 => none",
            "net db.example.com 443 https => none",
            "net 10.0.0.1 5432 => allow",
            "net localhost 8000 http => allow",
            "net localhost 8001 http => none",
            "net 127.0.0.1 8000 http => none",
            "net git.example.com 22 ssh => allow",
            "net git.example.com 22 => none",
            "net git.example.com 443 https => none",
            "net any.example.com 9 https => allow",
            "net any.example.com - https => allow",
            "net any.example.com 9 => none",
        ],
    );
}

#[test]
fn what_is_refused_is_refused_on_every_port_unless_one_is_named() {
    check(
        r#"
        [[rule]]
        effect = "allow"
        network = "*"
        ports = "any"
        [[rule]]
        effect = "deny"
        network = "127.0.0.1:8975"
        [[rule]]
        effect = "deny"
        network = "evil.example"
        [[rule]]
        effect = "ask"
        network = "ftp.example"
        protocols = ["ftp"]
        "#,
        &[
            "net 127.0.0.1 8975 => deny",
            "net 127.0.0.1 8976 => allow",
            "net 127.0.0.1 => deny",
            "net evil.example 1 => deny",
            "net evil.example => deny",
            "net ftp.example 21 ftp => ask",
            "net ftp.example 21 => ask?",
            "net ftp.example 21 sftp => allow",
            "net other.example => allow",
        ],
    );
}

#[test]
fn an_address_is_the_same_however_it_is_written() {
    let rules = r#"
        [[rule]]
        effect = "deny"
        network = ["127.0.0.1", "169.254.0.0/16", "2001:db8::1", "8.8.8.8"]
        [[rule]]
        effect = "allow"
        network = ["*", "10.0.0.8"]
        ports = "any"
        "#;
    check(
        rules,
        &[
            "net 127.0.0.1 1 => deny",
            "net 0x7f.1 1 => deny",
            "net 2130706433 1 => deny",
            "net 0177.0.0.1 1 => deny",
            "net 127.1 1 => deny",
            "net 127.0.0.1. 1 => deny",
            "net [::ffff:127.0.0.1] 1 => deny",
            "net ::ffff:7f00:1 1 => deny",
            "net [::1] 1 => deny",
            "net localhost 1 => deny",
            "net LOCALHOST. 1 => deny",
            "net app.localhost 1 => deny",
            "net 0.0.0.0 1 => deny",
            "net 127.8.8.8 1 => deny",
            "net 169.254.169.254 80 => deny",
            "net 2852039166 80 => deny",
            "net 169.255.0.1 80 => allow",
            "net 2001:db8:0:0::1 1 => deny",
            "net [2001:0DB8::0001] 1 => deny",
            "net [2001:db8::1%eth0] 1 => deny",
            "net 2001:db8::2 1 => allow",
            "net 010.8.8.8 1 => deny",
            "net 8.8.8.8 1 => deny",
            "net 08.8.8.8 1 => deny",
            "net 09.8.8.8 1 => allow",
            "net 8.8.8.010 1 => deny",
        ],
    );
}

#[test]
fn this_machine_is_one_whatever_it_is_called() {
    let names =
        ["localhost", "127.0.0.1", "::1", "0.0.0.0", "127.0.0.0/8", "a.localhost", "::/127"];
    for name in names {
        let rule = |effect: &str| format!("[[rule]]\neffect = \"{effect}\"\nnetwork = \"{name}\"");
        for subject in
            ["localhost", "127.0.0.1", "::1", "0.0.0.0", "[::]", "127.9.9.9", "b.localhost"]
        {
            check(&rule("deny"), &[&format!("net {subject} 443 => deny")]);
        }
        check(&rule("ask"), &["net 128.0.0.1 443 => none", "net localhost.example 443 => none"]);
    }
    // What allows is taken at its word.
    check(
        "[[rule]]\neffect = \"allow\"\nnetwork = \"127.0.0.1\"",
        &["net 127.0.0.1 443 => allow", "net localhost 443 => none", "net 127.0.0.2 443 => none"],
    );
}

#[test]
fn a_host_that_cannot_be_read_is_allowed_by_nothing_and_may_be_what_is_refused() {
    let rules = "[[rule]]\neffect = \"deny\"\nnetwork = \"evil.example\"\n\
                 [[rule]]\neffect = \"allow\"\nnetwork = \"*\"\nports = \"any\"";
    check(
        rules,
        &[
            "net 256.0.0.1 1 => deny?",
            "net 1.2.3.4.5 1 => deny?",
            "net 0x100000000 1 => deny?",
            "net a..b 1 => deny?",
            "net a%2eb 1 => deny?",
            "net ｅvil.example 1 => deny?",
            "net evil\u{3002}example 1 => deny?",
            "net bu\u{308}cher.example 1 => deny?",
            "net [::1 1 => deny?",
            "net good.example 1 => allow",
        ],
    );
}

#[test]
fn an_international_name_is_the_same_in_both_forms() {
    let cases = [
        ("bücher.example", "xn--bcher-kva.example"),
        ("münchen.example", "xn--mnchen-3ya.example"),
        ("пример.example", "xn--e1afmkfd.example"),
        ("例え.example", "xn--r8jz45g.example"),
        ("παράδειγμα.example", "xn--hxajbheg2az3al.example"),
        ("실례.example", "xn--9n2bp8q.example"),
        ("مثال.example", "xn--mgbh0fb.example"),
        ("דוגמה.example", "xn--6dbbec0c.example"),
        ("中文.example", "xn--fiq228c.example"),
    ];
    for (unicode, ascii) in cases {
        for (rule, subject) in [(unicode, ascii), (ascii, unicode)] {
            check(
                &format!("[[rule]]\neffect = \"allow\"\nnetwork = \"*.{rule}\""),
                &[&format!("net A.{subject} 443 => allow"), "net a.other.example 443 => none"],
            );
        }
    }
    check(
        "[[rule]]\neffect = \"deny\"\nnetwork = \"bücher.example\"",
        &["net BÜCHER.example 1 => deny", "net XN--BCHER-KVA.example 1 => deny"],
    );
}
