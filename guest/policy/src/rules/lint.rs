//! What is wrong with rules that can each be read: a workspace's that widen, ids used
//! twice, rules that never decide, programs that run anything.

use super::finding::Findings;
use super::index::{Field, Key};
use super::shell::{Place, Shell, base_name};
use super::text::Text;
use super::{Body, Effect, Layer, Origin, Rule, RuleSet};
use crate::limits::RULE_PATTERN_PAIRS_MAX;
use std::collections::{BTreeMap, BTreeSet};

/// Programs that run what their further words say.
const RUNNERS: [&str; 62] = [
    ".",
    "ash",
    "awk",
    "bash",
    "builtin",
    "bun",
    "bunx",
    "busybox",
    "chroot",
    "cmd",
    "command",
    "csh",
    "dash",
    "deno",
    "doas",
    "env",
    "eval",
    "exec",
    "fish",
    "flock",
    "gawk",
    "ionice",
    "ksh",
    "lua",
    "mawk",
    "nice",
    "node",
    "nohup",
    "npx",
    "nsenter",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pipx",
    "pnpx",
    "powershell",
    "pwsh",
    "python",
    "python2",
    "python3",
    "Rscript",
    "ruby",
    "setsid",
    "sh",
    "socat",
    "source",
    "ssh",
    "stdbuf",
    "su",
    "sudo",
    "tclsh",
    "tcsh",
    "time",
    "timeout",
    "unshare",
    "uvx",
    "watch",
    "xargs",
    "xvfb-run",
    "yash",
    "zsh",
];

/// How a workspace's own rules may widen.
const TRUST_HINT: &str = "move it to your own placet.toml, or `placet trust` this workspace; else \
                          its file may allow only what a rule of yours allows already";

/// Looks at all rules together, and takes out what may not stand.
pub(crate) fn check(set: &mut RuleSet, layers: &[Layer], findings: &mut Findings<'_>) {
    let mut pairs = Pairs(RULE_PATTERN_PAIRS_MAX);
    if layers.iter().any(|layer| layer.origin == Origin::Workspace) {
        narrow(set, &mut pairs, findings);
    }
    doubles(set, findings);
    for rule in set.rules() {
        if let Body::Shell(shell) = &rule.body {
            runner(rule, shell, findings);
        }
    }
    dead(set, &mut pairs, findings);
}

/// How many pairs of patterns may still be compared.
struct Pairs(usize);

impl Pairs {
    /// Whether a rule surely covers another; none where too much was compared already.
    fn covers(&mut self, wider: &Rule, rule: &Rule) -> Option<bool> {
        let pairs = wider.keys().len().saturating_mul(rule.keys().len()).max(1);
        self.0 = self.0.checked_sub(pairs)?;
        Some(covers(wider, rule))
    }
}

fn place(rule: &Rule) -> (u32, usize) {
    (rule.layer, rule.at as usize)
}

/// Takes out what a workspace's file allows beyond the user's.
fn narrow(set: &mut RuleSet, pairs: &mut Pairs, findings: &mut Findings<'_>) {
    let mut refused = BTreeSet::new();
    for (number, rule) in set.rules.iter().enumerate() {
        if rule.origin != Origin::Workspace || rule.effect != Effect::Allow {
            continue;
        }
        // What cannot be compared any more is not within.
        let mut within = |(_, wider): (usize, &Rule)| {
            wider.origin == Origin::User && pairs.covers(wider, rule) == Some(true)
        };
        if !candidates(set, Effect::Allow, rule).any(&mut within) {
            let (layer, at) = place(rule);
            let message = "a workspace's file may not allow what your own does not";
            findings.error(layer, at, message, TRUST_HINT);
            refused.insert(number);
        }
    }
    if !refused.is_empty() {
        let rules = core::mem::take(&mut set.rules);
        let kept = rules.into_iter().enumerate().filter(|(number, _)| !refused.contains(number));
        *set = RuleSet::new(kept.map(|(_, rule)| rule).collect());
    }
}

/// Finds ids that are used twice, but for those of one grant.
fn doubles(set: &RuleSet, findings: &mut Findings<'_>) {
    let mut first: BTreeMap<&str, &Rule> = BTreeMap::new();
    for rule in set.rules() {
        if let Some(other) = first.get(rule.id()) {
            // A grant for several stages is several lines.
            if rule.origin == Origin::Grants && other.origin == Origin::Grants {
                continue;
            }
            let (layer, at) = place(rule);
            let message = format!("the id `{}` is taken", rule.id());
            let hint = format!("choose another: {}:{} has it", other.file, other.line);
            findings.error(layer, at, message, hint);
        } else {
            first.insert(rule.id(), rule);
        }
    }
}

/// Warns of an allow rule for a program that runs anything.
fn runner(rule: &Rule, shell: &Shell, findings: &mut Findings<'_>) {
    let Some((Place::Word(programs), rest)) = shell.words.split_first() else { return };
    if rule.effect != Effect::Allow || shell.exact || rule.origin == Origin::Grants {
        return;
    }
    let leaves_open = |place: &Place| match place {
        Place::Words => true,
        Place::Word(texts) => texts.iter().any(|text| {
            text.literal().is_none_or(|word| word.starts_with('-') && word != "--version")
        }),
    };
    if !rest.iter().all(leaves_open) {
        return;
    }
    let runs = |text: &&Text| text.literal().is_some_and(|word| RUNNERS.contains(&base_name(word)));
    if let Some(program) = programs.iter().find(runs) {
        let (layer, at) = place(rule);
        let message =
            format!("`{program}` runs whatever its next words say, so this allows anything");
        findings.warning(layer, at, message, "add the words that you mean, as a script's path");
    }
}

/// Warns of rules that never decide.
fn dead(set: &RuleSet, pairs: &mut Pairs, findings: &mut Findings<'_>) {
    for (number, rule) in set.rules.iter().enumerate() {
        if rule.origin == Origin::Grants || findings.enough_warnings() {
            continue;
        }
        let Some(killer) = killer(set, pairs, number, rule) else {
            let (layer, at) = place(rule);
            let message = "from here on nobody looks for rules that never decide";
            findings.warning(layer, at, message, "the rules count; write fewer, with less braces");
            return;
        };
        if let Some(other) = killer {
            let (layer, at) = place(rule);
            let message = format!(
                "the rule never decides: {}:{} (`{other}`) covers all that it matches",
                other.file, other.line
            );
            findings.warning(layer, at, message, "leave one of the two out, or narrow the other");
        }
    }
}

/// The rule because of which one never decides, if there is one; none at all where too
/// much was compared already.
fn killer<'a>(
    set: &'a RuleSet,
    pairs: &mut Pairs,
    number: usize,
    rule: &Rule,
) -> Option<Option<&'a Rule>> {
    for effect in Effect::ALL.into_iter().filter(|effect| *effect < rule.effect) {
        for (_, other) in candidates(set, effect, rule) {
            if pairs.covers(other, rule)? {
                return Some(Some(other));
            }
        }
    }
    // Another of the same file and effect that says all that this one does. A narrower
    // rule that comes first and has a message of its own says something.
    for (at, other) in candidates(set, rule.effect, rule) {
        if at == number || other.layer != rule.layer || !pairs.covers(other, rule)? {
            continue;
        }
        if at < number || (rule.message.is_none() && !pairs.covers(rule, other)?) {
            return Some(Some(other));
        }
    }
    Some(None)
}

/// The rules of an effect that may cover a rule, by its keys.
fn candidates<'a>(
    set: &'a RuleSet,
    effect: Effect,
    rule: &Rule,
) -> impl Iterator<Item = (usize, &'a Rule)> {
    let index = set.index(effect);
    let mut found = Vec::new();
    for Key { field, text, .. } in rule.keys() {
        index.find(field, &text, &mut found);
        // What covers a key of one field may stand in a wider one.
        match field {
            Field::WorkspacePath | Field::HomePath => index.find(Field::RootPath, "", &mut found),
            Field::WorkspaceSocket | Field::HomeSocket => {
                index.find(Field::RootSocket, "", &mut found);
            }
            Field::ServerTool => {
                let tool = text.split_once('/').map_or("", |(_, tool)| tool);
                index.find(Field::Tool, tool, &mut found);
            }
            _ => {}
        }
    }
    found.sort_unstable();
    found.dedup();
    found.into_iter().filter_map(|number| Some((number as usize, set.rules.get(number as usize)?)))
}

/// Whether everything that the other rule matches is surely matched by the wider one.
pub(crate) fn covers(wider: &Rule, rule: &Rule) -> bool {
    match (&wider.body, &rule.body) {
        (Body::Kind(kind), _) => *kind == rule.kind(),
        (Body::Shell(mine), Body::Shell(theirs)) => mine.covers(wider.effect, theirs, rule.effect),
        (Body::File(mine), Body::File(theirs)) => mine.covers(theirs),
        (Body::Network(mine), Body::Network(theirs)) => mine.covers(theirs),
        (Body::Socket(mine), Body::Socket(theirs)) => super::path::all_covered(mine, theirs),
        (Body::Process(mine), Body::Process(theirs)) => {
            theirs.iter().all(|text| mine.iter().any(|wider| wider.covers(text)))
        }
        (Body::Tool(mine), Body::Tool(theirs)) => mine.covers(wider.effect, theirs),
        _ => false,
    }
}
