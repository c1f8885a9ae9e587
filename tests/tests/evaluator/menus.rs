//! The menu that each kind of request offers (msp.md 5.6): choices, scopes and previews.

use anyhow::{Context as _, Result, ensure};
use placet_policy::types::{Effect, Reply};
use placet_tests::pair::Pair;
use placet_tests::script::Script;
use serde::Deserialize;
use serde_json::{Value, json};

/// What is proposed, and the choices as `choiceId decision scope`, with the preview behind a colon.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Menu {
    what: String,
    arrange: Vec<String>,
    propose: String,
    protected_write: bool,
    menu: Vec<String>,
}

#[test]
fn every_kind_offers_its_menu() -> Result<()> {
    let menus: Vec<Menu> = placet_tests::vectors::read("menus.json")?;
    for menu in menus {
        let what = menu.what.clone();
        offers(menu).context(what)?;
    }
    Ok(())
}

fn offers(menu: Menu) -> Result<()> {
    let mut script = Script::new(Pair::new()?);
    script.run("start promptUnmatched")?;
    script.run("turn one")?;
    for line in &menu.arrange {
        script.run(line)?;
    }
    let action = script.action_of(&menu.propose)?;
    let Reply::Done(outcome) = script.session.propose(&action, true)? else {
        anyhow::bail!("the proposal was not taken")
    };
    let Some(Effect::Ask(asked)) = outcome.effects.first() else {
        anyhow::bail!("nobody is asked: {:?}", outcome.effects)
    };
    let params: Value = serde_json::from_str(&asked.params)?;
    ensure!(params["protectedWrite"] == json!(menu.protected_write), "protectedWrite");
    let mut found = Vec::new();
    for choice in params["availableChoices"].as_array().context("no menu")? {
        let text = |name: &str| choice[name].as_str().unwrap_or_default().to_owned();
        let mut line = format!("{} {} {}", text("choiceId"), text("decision"), text("scope"));
        if !text("rulePreview").is_empty() {
            line = format!("{line}: {}", text("rulePreview"));
        }
        if choice["acceptsFeedback"] == json!(true) {
            line.push_str(" (feedback)");
        }
        ensure!(!text("label").is_empty(), "a choice without a label");
        found.push(line);
    }
    ensure!(found == menu.menu, "{found:#?}");
    Ok(())
}
