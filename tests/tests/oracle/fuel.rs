//! What the fuzz targets try, through the program: no command and no rule file within
//! the limits makes the component run out of fuel, time or memory.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use placet_policy::limits::{
    RULES_LAYER_BYTES_MAX, SHELL_COMMAND_BYTES_MAX, SHELL_NESTING_MAX, SHELL_STAGES_MAX,
};
use placet_tests::oracle::generate::{Generator, mutate, soup};
use placet_tests::random::Random;

/// Commands from the generators.
const GENERATED: usize = 2_000;

/// A home for one run of the program.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    fn rules(&self, text: &str) -> PathBuf {
        let file = self.0.path().join("rules.toml");
        std::fs::write(&file, text).unwrap();
        file
    }

    /// Runs `placet` with lines as its input.
    fn placet(&self, arguments: &[&str], lines: &str) -> Output {
        let own = std::env::current_exe().unwrap();
        let program = own.parent().and_then(Path::parent).unwrap().join("placet");
        assert!(program.is_file(), "{} is missing: run `cargo build`", program.display());
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(self.0.path())
            .env("PLACET_HOME", self.0.path().join("home"))
            .env("PLACET_COMPONENTS", placet_tests::component::folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let lines = lines.to_owned();
        let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
        let output = child.wait_with_output().unwrap();
        // A program that ended early says so itself.
        let _ = writer.join().unwrap();
        output
    }

    /// Explains commands under a rule file, and expects a verdict for each.
    fn explains(&self, commands: &[String], rules: &str) {
        let lines: Vec<String> =
            commands.iter().map(|command| serde_json::to_string(command).unwrap()).collect();
        let file = self.rules(rules);
        let arguments = ["explain", "--jsonl", "--rules", file.to_str().unwrap()];
        let output = self.placet(&arguments, &lines.join("\n"));
        let told = String::from_utf8_lossy(&output.stdout).lines().count();
        let err = String::from_utf8_lossy(&output.stderr);
        let at = commands.get(told).map(|command| command.chars().take(200).collect::<String>());
        assert!(output.status.success() && told == commands.len(), "{err}\n{at:?}");
    }
}

#[test]
fn generated_commands_stay_within_the_fuel_of_a_call() {
    let seed = Random::seed() ^ 0xF2;
    let mut random = Random::new(seed);
    let mut generator = Generator::new(seed);
    let commands: Vec<String> = (0..GENERATED)
        .map(|_| match random.below(4) {
            0 => generator.command(),
            1 => mutate(&mut random, &generator.command()),
            2 => soup(&mut random),
            _ => soup(&mut random).repeat(random.below(400)),
        })
        .filter(|command| !command.trim().is_empty())
        .collect();
    Home::new().explains(&commands, include_str!("../../../policies/rules/sample.toml"));
}

/// `text` as often as it fits into a command.
fn filled(text: &str) -> String {
    text.repeat(SHELL_COMMAND_BYTES_MAX / text.len())
}

#[test]
fn the_dearest_commands_stay_within_the_fuel_of_a_call() {
    let stages = SHELL_STAGES_MAX;
    let nested = |open: &str, inner: &str, close: &str| {
        let deep = SHELL_NESTING_MAX - 2;
        format!("{}{inner}{}", open.repeat(deep), close.repeat(deep))
    };
    let mut quoted = "git status".to_owned();
    for _ in 0..6 {
        quoted = format!("bash -c '{}; ls'", quoted.replace('\'', "'\\''"));
    }
    let long = "x".repeat(60_000);
    let commands = [
        filled("a"),
        filled("''"),
        filled("a/b "),
        filled("\\\n"),
        filled("$x "),
        filled("$(") + &filled(")"),
        filled("<<E "),
        "a/b/c -x ".repeat(100) + &"; git log a/b".repeat(stages - 1),
        "i=0; ((i)); ".repeat(stages / 2 - 1) + "read i",
        nested("$(", "i=0; ((i))", ")"),
        nested("{ ", "ls; ", "}; "),
        nested("bash -c \"$(", "ls", ")\""),
        format!("cat <<E\n{}E\n", "$x `ls` line\n".repeat(60)),
        format!("cat <<E\n{}\nE\n", &long),
        format!("ls {}", "{a,b}{c,d}{e,f} ".repeat(300)),
        format!("sed -n 's/{}/b/p'", "a*".repeat(30_000)),
        format!("awk '{}'", "{print $1}".repeat(6_000)),
        format!("jq '{}'", ".a|".repeat(20_000) + "."),
        format!("find . {}", "-name a -o ".repeat(300)),
        format!("find . {}", "-exec grep x {} ; ".repeat(100)),
        format!("psql -c 'select {}'", "a,".repeat(30_000) + "a"),
        format!("grep {long}"),
        format!("grep {}", "aaaa/".repeat(12_000)),
        format!("env {}ls", "A=b ".repeat(900)),
        format!("timeout 5 {}ls", "nice ".repeat(900)),
        quoted,
    ];
    let fitting: Vec<String> = commands
        .into_iter()
        .map(|mut command| {
            command.truncate(command.floor_char_boundary(SHELL_COMMAND_BYTES_MAX));
            command
        })
        .collect();
    let mut rules = String::new();
    for number in 0.. {
        let before = rules.len();
        let shell = "shell = [\"**\", \"*a*a*a*\", \"**\"]";
        write!(rules, "[[rule]]\neffect = \"deny\"\nid = \"s{number}\"\n{shell}\n").unwrap();
        let file = format!("**/*a*{number}*a*/**/*b");
        write!(rules, "[[rule]]\neffect = \"ask\"\nid = \"f{number}\"\nfile = \"{file}\"\n")
            .unwrap();
        if rules.len() > RULES_LAYER_BYTES_MAX {
            rules.truncate(before);
            break;
        }
    }
    let home = Home::new();
    home.explains(&fitting, "");
    home.explains(&fitting, &rules);
}

#[test]
fn the_dearest_rule_files_stay_within_the_fuel_of_a_call() {
    let filled = |text: &str| text.repeat(RULES_LAYER_BYTES_MAX / text.len());
    let long = "*a".repeat(500);
    let braces = "{a,b}".repeat(6);
    let texts = [
        filled("["),
        filled("a.b="),
        filled("[[rule]]\n"),
        filled("[[safe]]\ncommand = \"{a,b}{c,d} {e,f}\"\n"),
        filled("[[rule]]\neffect = \"deny\"\nshell = [\"a\"]\n"),
        filled(&format!("[[rule]]\neffect = \"deny\"\nshell = [\"{long}\", \"**\", \"{long}\"]\n")),
        filled(&format!("[[rule]]\neffect = \"ask\"\nfile = \"**/{braces}/**\"\n")),
        filled(
            "[[rule]]\neffect = \"allow\"\nshell = [\"git\", \"log\"]\nexamples.match = [\"git log \
             $(date) | xargs git log\"]\nexamples.no_match = [\"bash -c 'git push; ls'\"]\n",
        ),
        filled(
            "[[rule]]\neffect = \"allow\"\nnetwork = \"*.a.b.example.org\"\nports = [1, \"2-9\"]\n",
        ),
    ];
    let home = Home::new();
    for text in texts {
        let file = home.rules(&text);
        let output = home.placet(&["check", file.to_str().unwrap()], "");
        let err = String::from_utf8_lossy(&output.stderr);
        let ended = matches!(output.status.code(), Some(0 | 3));
        let told = err.contains(":1:") || err.contains("error") || output.status.success();
        let fenced = err.contains("fuel") || err.contains("trap");
        assert!(ended && told && !fenced, "{}\n{err}", text.chars().take(80).collect::<String>());
    }
}
