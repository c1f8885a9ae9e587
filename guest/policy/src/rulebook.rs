//! The rules in force, by their digest.
//!
//! Compiled sets are kept between calls: a cache, and the only thing that is. A call
//! that needs a set which is not kept asks the host for its texts.

use crate::limits::RULE_SETS_KEPT_MAX;
use crate::rules::{Layer, Origin, RuleSet, compile};
use crate::types::{Finding, RuleLayer, RuleOrigin, Severity, Supply};
use std::cell::RefCell;
use std::rc::Rc;

thread_local! {
    /// The last used is the last.
    static KEPT: RefCell<Vec<(String, Rc<RuleSet>)>> = const { RefCell::new(Vec::new()) };
}

/// The set with this digest; none where the host has to supply it first.
pub(crate) fn find(digest: &str, supplied: &[Supply]) -> Option<Rc<RuleSet>> {
    if digest.is_empty() {
        return Some(Rc::new(RuleSet::default()));
    }
    let kept = KEPT.with_borrow_mut(|kept| {
        let at = kept.iter().position(|(held, _)| held == digest)?;
        let entry = kept.remove(at);
        let set = Rc::clone(&entry.1);
        kept.push(entry);
        Some(set)
    });
    if kept.is_some() {
        return kept;
    }
    let texts = supplied.iter().find_map(|supply| match supply {
        Supply::Rules(set) if set.digest == digest => Some(&set.layers),
        _ => None,
    })?;
    let layers: Vec<Layer> = texts.iter().map(layer).collect();
    let set = Rc::new(compile(&layers).set);
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= RULE_SETS_KEPT_MAX {
            kept.remove(0);
        }
        kept.push((digest.to_owned(), Rc::clone(&set)));
    });
    Some(set)
}

/// What is wrong with layers of rules.
pub(crate) fn check(layers: &[RuleLayer]) -> Vec<Finding> {
    let layers: Vec<Layer> = layers.iter().map(layer).collect();
    let finding = |found: crate::rules::Finding| Finding {
        severity: match found.severity {
            crate::rules::Severity::Error => Severity::Error,
            crate::rules::Severity::Warning => Severity::Warning,
        },
        layer: found.layer,
        line: found.line,
        column: found.column,
        message: found.message,
        hint: found.hint,
    };
    compile(&layers).findings.into_iter().map(finding).collect()
}

fn layer(layer: &RuleLayer) -> Layer {
    Layer {
        name: layer.name.clone(),
        origin: match layer.origin {
            RuleOrigin::User => Origin::User,
            RuleOrigin::Workspace => Origin::Workspace,
            RuleOrigin::TrustedWorkspace => Origin::TrustedWorkspace,
            RuleOrigin::Session => Origin::Session,
            RuleOrigin::Grants => Origin::Grants,
        },
        text: layer.text.clone(),
    }
}
