//! Every bracket and quote, nested and left open, to 100,000 levels: the same
//! bytes natively and in the component, nothing aborts, and a deny rule on the
//! command in the middle still denies. How long it takes is a bench.

use anyhow::{Context as _, Result, ensure};
use placet_policy::types::{Action, Decision, TableRow};
use placet_tests::brackets::{LEVELS, NEVER_RUN, cases};
use placet_tests::pair::Pair;
use placet_tests::script::{Script, shell, tool};
use placet_tests::session::Session;
use std::io::Write as _;

/// A session that allows everything but `rm`.
fn session() -> Result<Session<Pair>> {
    let mut script = Script::new(Pair::new()?);
    script.run("start allowAll")?;
    script.run("turn one")?;
    script.session.rules.push(placet_tests::rules::toml("no-rm deny shell rm")?);
    Ok(script.session)
}

#[test]
fn a_deny_rule_holds_in_the_middle_of_every_bracket() -> Result<()> {
    let mut session = session()?;
    let mut tried = 0;
    let mut softened = Vec::new();
    for levels in LEVELS {
        for case in cases(levels, "rm -rf x") {
            let what = format!("{} × {levels}, closed: {}", case.form, case.closed);
            let action = shell(&case.command);
            let explained = session.explain(&action).with_context(|| what.clone())?;
            let explained = explained.map_err(|r| anyhow::anyhow!("{what}: {r:?}"))?;
            let denied =
                (explained.decision, explained.row) == (Decision::Deny, TableRow::DenyRule);
            if !denied && !NEVER_RUN.contains(&case.form) {
                softened.push(format!("{what}: {:?} {:?}", explained.decision, explained.row));
            }
            tried += 1;
        }
    }
    writeln!(std::io::stdout(), "brackets: {tried} commands")?;
    ensure!(softened.is_empty(), "the rule does not hold:\n{}", softened.join("\n"));
    Ok(())
}

#[test]
fn what_is_nested_runs_through_a_step_as_well() -> Result<()> {
    for levels in [10, 100, 1_000] {
        let mut session = session()?;
        session.whole_fold_every = 64;
        for (index, case) in cases(levels, "touch x").into_iter().enumerate() {
            let item_id = format!("i{index}");
            let action = Action { item_id, ..shell(&case.command) };
            session.propose(&action, false).with_context(|| format!("{} × {levels}", case.form))?;
        }
    }
    Ok(())
}

#[test]
fn nested_arguments_of_a_tool_are_only_text() -> Result<()> {
    let mut session = session()?;
    for levels in LEVELS {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("\"", "\"")] {
            for args in
                [format!("{}0{}", open.repeat(levels), close.repeat(levels)), open.repeat(levels)]
            {
                let explained = session.explain(&tool("search", &args))?;
                let explained = explained.map_err(|r| anyhow::anyhow!("{r:?}"))?;
                ensure!(explained.kind == "tool");
                // As arguments of the shell they hold no command: an unknown kind.
                let action = Action { raw_args: args, ..shell("") };
                let explained = session.explain(&action)?;
                let explained = explained.map_err(|r| anyhow::anyhow!("{r:?}"))?;
                ensure!(explained.decision == Decision::Deny, "{:?}", explained.row);
            }
        }
    }
    Ok(())
}
