//! The rules that a person writes in `placet.toml`, and which of them match.
//!
//! [`compile`] reads the layers (the user's file, a workspace's, a session's, the
//! saved grants) into a [`RuleSet`] and says what is wrong with them. A set is asked
//! for one effect at a time, so deny beats ask beats allow by the order of asking,
//! never by the order in a file. Read `read` for the language, `index` for how a rule
//! is found, and the module of a kind for what it matches; docs/rules.md is the
//! language for people.

mod bare;
mod examples;
mod finding;
mod flags;
mod glob;
mod host;
mod index;
mod lint;
mod network;
mod path;
mod read;
mod saved;
mod shell;
mod text;
mod tool;
mod tree;

use crate::limits::RULE_PATTERNS_EVERYWHERE_MAX;
use crate::safe::Table;
use core::fmt;
use index::{Field, Index, Key};
use path::Sort;
use text::Text;

pub use finding::{Finding, Severity};
pub use saved::{SavedBody, SavedRule};

/// What a rule does with what it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Refuses it.
    Deny,
    /// Wants a person.
    Ask,
    /// Covers it.
    Allow,
}

impl Effect {
    /// All of them, the strongest first.
    pub const ALL: [Effect; 3] = [Effect::Deny, Effect::Ask, Effect::Allow];

    /// The word in a rule file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Effect::Deny => "deny",
            Effect::Ask => "ask",
            Effect::Allow => "allow",
        }
    }
}

/// Where a layer of rules comes from. Of several rules that match, the one of the
/// first origin is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The user's own file.
    User,
    /// Given for one session.
    Session,
    /// The file of a workspace, as the user trusts it.
    TrustedWorkspace,
    /// The file of any other workspace: it may only narrow.
    Workspace,
    /// What a person saved by a choice: one [`SavedRule`] a line.
    Grants,
}

/// A text with rules.
#[derive(Clone, Debug)]
pub struct Layer {
    /// How it is called in findings and rule ids: a file's path.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Its text.
    pub text: String,
}

/// What [`compile`] made of the layers.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The rules that could be read.
    pub set: RuleSet,
    /// What is wrong, in the order of the layers and lines.
    pub findings: Vec<Finding>,
}

/// Reads layers of rules. Total: every text gives a set and findings.
#[must_use]
pub fn compile(layers: &[Layer]) -> Compiled {
    let mut findings = finding::Findings::new(layers);
    let (mut rules, mut entries) = (Vec::new(), Vec::new());
    for (number, layer) in (0_u32..).zip(layers) {
        match layer.origin {
            Origin::Grants => saved::read(number, layer, &mut rules, &mut findings),
            _ => read::layer(number, layer, (&mut rules, &mut entries), &mut findings),
        }
    }
    rules.sort_by_key(|rule: &Rule| (rule.origin, rule.layer, rule.line, rule.at));
    within_reach(&mut rules, &mut findings);
    let mut set = RuleSet::new(rules);
    lint::check(&mut set, layers, &mut findings);
    let (findings, broken) = findings.finish();
    set.broken = broken;
    if !entries.is_empty() && set.broken.is_none() {
        set.safe = Some(Table::builtin().extended(&entries));
    }
    Compiled { set, findings }
}

/// Takes out rules beyond what can be held against every action of their kind.
fn within_reach(rules: &mut Vec<Rule>, findings: &mut finding::Findings<'_>) {
    let mut patterns = 0;
    rules.retain(|rule| {
        let own = rule.keys().iter().filter(|key| key.is_everywhere()).count();
        let before = patterns;
        patterns += own;
        if own > 0
            && before <= RULE_PATTERNS_EVERYWHERE_MAX
            && patterns > RULE_PATTERNS_EVERYWHERE_MAX
        {
            let message =
                format!("more than {RULE_PATTERNS_EVERYWHERE_MAX} patterns begin with a wildcard");
            let hint = "begin patterns with a program, a folder or a name where you can";
            findings.error(rule.layer, rule.at as usize, message, hint);
        }
        own == 0 || patterns <= RULE_PATTERNS_EVERYWHERE_MAX
    });
}

/// A kind of action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A stage of a shell command.
    Shell,
    /// Access to a file.
    FileAccess,
    /// Access to a host.
    Network,
    /// A connection to a Unix socket.
    UnixSocket,
    /// Control of a process.
    Process,
    /// A call of a tool.
    Tool,
}

impl Kind {
    /// Every kind that a rule can be about.
    pub const ALL: [Kind; 6] =
        [Kind::Shell, Kind::FileAccess, Kind::Network, Kind::UnixSocket, Kind::Process, Kind::Tool];

    /// The kind's word on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Shell => "shell",
            Kind::FileAccess => "fileAccess",
            Kind::Network => "network",
            Kind::UnixSocket => "unixSocket",
            Kind::Process => "process",
            Kind::Tool => "tool",
        }
    }
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    id: String,
    effect: Effect,
    origin: Origin,
    /// Number and name of its layer.
    layer: u32,
    file: String,
    line: u32,
    /// Byte in the layer's text at which it begins.
    at: u32,
    message: Option<String>,
    body: Body,
}

/// What a rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Body {
    /// Everything of a kind.
    Kind(Kind),
    Shell(shell::Shell),
    File(path::File),
    Network(network::Network),
    Socket(Vec<glob::Glob>),
    Process(Vec<Text>),
    Tool(tool::Tool),
}

impl Rule {
    /// Names the rule in records and messages: what its file says, `FILE:LINE`, or the
    /// approval that a saved grant comes from.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What it does.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Where its layer comes from.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The name of its layer.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line of its layer at which it begins, counted from 1.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }

    /// What its author wants to be said.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The kind that it is about.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match &self.body {
            Body::Kind(kind) => *kind,
            Body::Shell(_) => Kind::Shell,
            Body::File(_) => Kind::FileAccess,
            Body::Network(_) => Kind::Network,
            Body::Socket(_) => Kind::UnixSocket,
            Body::Process(_) => Kind::Process,
            Body::Tool(_) => Kind::Tool,
        }
    }

    /// Whether it is about commands that begin with this program.
    pub(crate) fn begins_with(&self, program: &str) -> bool {
        let name = shell::base_name(program);
        matches!(&self.body, Body::Shell(_))
            && self.keys().iter().any(|key| *key == Key::whole(Field::Program, name))
    }

    /// Whether it is about everything of its kind.
    #[must_use]
    pub fn is_whole_kind(&self) -> bool {
        matches!(self.body, Body::Kind(_))
    }

    fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        match &self.body {
            Body::Kind(kind) => {
                let fields: &[Field] = match kind {
                    Kind::Shell => &[Field::Program],
                    Kind::FileAccess => &[Field::RootPath],
                    Kind::Network => &[Field::HostName, Field::Address],
                    Kind::UnixSocket => &[Field::RootSocket],
                    Kind::Process => &[Field::Process],
                    Kind::Tool => &[Field::Tool],
                };
                keys.extend(fields.iter().map(|field| Key::open(*field, "")));
            }
            Body::Shell(shell) => shell.keys(&mut keys),
            Body::File(file) => path::keys(Sort::File, &file.globs, &mut keys),
            Body::Network(network) => network.keys(self.effect, &mut keys),
            Body::Socket(globs) => path::keys(Sort::Socket, globs, &mut keys),
            Body::Process(targets) => {
                keys.extend(targets.iter().map(|target| match target.literal() {
                    Some(target) => Key::whole(Field::Process, target),
                    None => Key::open(Field::Process, target.prefix()),
                }));
            }
            Body::Tool(tool) => tool.keys(&mut keys),
        }
        keys
    }
}

/// What the rule matches, for people: `deny git push, with --force or -f`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.effect.word())?;
        match &self.body {
            Body::Kind(kind) => write!(f, "every {} action", kind.word()),
            Body::Shell(shell) => write!(f, "{shell}"),
            Body::File(file) => write!(f, "to {file}"),
            Body::Network(network) => write!(f, "{network}"),
            Body::Socket(globs) => write!(f, "the socket {}", path::listed(globs)),
            Body::Process(targets) => {
                let listed: Vec<String> = targets.iter().map(Text::to_string).collect();
                write!(f, "to control {}", listed.join(", "))
            }
            Body::Tool(tool) => write!(f, "the tool {tool}"),
        }
    }
}

/// How sure it is that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// Whatever is not known, it matches.
    Certain,
    /// It matches if what is not known is so. Never for an allow rule.
    Possible,
}

/// A rule that matches.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// The rule: of several, a certain one before possible ones, then the first by
    /// origin, layer and line.
    pub rule: &'a Rule,
    /// How sure it is.
    pub certainty: Certainty,
}

/// The words of a shell stage.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    /// The words, those that are not known as they are written.
    pub argv: &'a [String],
    /// Which words are not known before running, ascending. Each may stand for any
    /// number of words.
    pub unknown: &'a [u32],
    /// Names of the assignments before the command.
    pub assignments: &'a [String],
    /// The workspace root, or what stands for it in saved grants.
    pub root: Option<&'a str>,
}

impl Words<'_> {
    fn all_known(&self) -> bool {
        self.unknown.is_empty()
    }
}

/// The folders that patterns are relative to, as canonical paths.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The workspace root.
    pub workspace: Option<&'a str>,
    /// The user's home.
    pub home: Option<&'a str>,
}

/// A path that is accessed.
#[derive(Clone, Copy, Debug)]
pub struct PathSubject<'a> {
    /// As it was given, made absolute by its text alone.
    pub typed: &'a str,
    /// Where it really lands.
    pub canonical: &'a str,
    /// Whether it is written.
    pub write: bool,
    /// What patterns are relative to.
    pub places: &'a Places<'a>,
    /// Whether the file system takes `A` for `a`.
    pub insensitive: bool,
}

/// A host that is accessed.
#[derive(Clone, Copy, Debug)]
pub struct NetworkSubject<'a> {
    /// Name or address.
    pub host: &'a str,
    /// The port; none for every port.
    pub port: Option<u16>,
    /// The protocol, if it is named.
    pub protocol: Option<&'a str>,
}

/// A tool that is called.
#[derive(Clone, Copy, Debug)]
pub struct ToolSubject<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its server, where it is told apart from the name.
    pub server: Option<&'a str>,
    /// Its arguments.
    pub args: &'a serde_json::Value,
}

/// Rules, ready to be asked.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// In the order in which they are named.
    rules: Vec<Rule>,
    /// What rules do at all: nothing is looked for that no rule could say.
    effects: Vec<Effect>,
    broken: Option<Finding>,
    /// The table of known-safe commands, where the layers add to it.
    safe: Option<Table>,
    deny: Index,
    ask: Index,
    allow: Index,
}

impl RuleSet {
    fn new(rules: Vec<Rule>) -> RuleSet {
        let index = |effect: Effect| {
            let of_effect = (0_u32..).zip(&rules).filter(move |(_, rule)| rule.effect == effect);
            Index::new(
                of_effect.flat_map(|(number, rule)| {
                    rule.keys().into_iter().map(move |key| (key, number))
                }),
            )
        };
        let (deny, ask, allow) = (index(Effect::Deny), index(Effect::Ask), index(Effect::Allow));
        let mut effects = vec![Effect::Deny, Effect::Ask, Effect::Allow];
        effects.retain(|effect| rules.iter().any(|rule| rule.effect == *effect));
        RuleSet { rules, effects, broken: None, safe: None, deny, ask, allow }
    }

    /// The rules, in the order in which they are named.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule with this id.
    #[must_use]
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// Whether a rule refuses access to files, or asks about it.
    pub(crate) fn narrows_files(&self) -> bool {
        let about = |rule: &Rule| rule.kind() == Kind::FileAccess && rule.effect != Effect::Allow;
        self.rules.iter().any(about)
    }

    /// Whether any rule has an effect.
    pub(crate) fn has(&self, effect: Effect) -> bool {
        self.effects.contains(&effect)
    }

    /// Whether a rule of an effect is about paths: files, or sockets.
    pub(crate) fn has_paths(&self, effect: Effect) -> bool {
        [Sort::File, Sort::Socket].into_iter().any(|sort| path::known(sort, self.index(effect)))
    }

    /// The table of known-safe commands, with what the layers add.
    #[must_use]
    pub fn safe(&self) -> &Table {
        self.safe.as_ref().unwrap_or_else(|| Table::builtin())
    }

    /// The first error, if some part of the layers could not be read as it was meant.
    /// Rules may be missing then, so nothing may be allowed by what is left.
    #[must_use]
    pub fn broken(&self) -> Option<&Finding> {
        self.broken.as_ref()
    }

    fn index(&self, effect: Effect) -> &Index {
        match effect {
            Effect::Deny => &self.deny,
            Effect::Ask => &self.ask,
            Effect::Allow => &self.allow,
        }
    }

    /// The best of the rules with these numbers.
    fn best(
        &self,
        mut found: Vec<u32>,
        matches: impl Fn(&Rule) -> Option<Certainty>,
    ) -> Option<Hit<'_>> {
        found.sort_unstable();
        found.dedup();
        let rules = found.iter().filter_map(|number| self.rules.get(*number as usize));
        first(rules, matches)
    }

    /// Every rule of an effect and kind, where no index helps.
    fn all(&self, effect: Effect, kind: Kind) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.effect == effect && rule.kind() == kind)
    }

    /// The rule of an effect that matches a stage of a shell command.
    ///
    /// Wrappers, redirects and commands that were not understood are the caller's; for
    /// the last there is [`RuleSet::bare`]. An allow rule covers assignments before the
    /// command only if it names them.
    #[must_use]
    pub fn shell(&self, effect: Effect, words: &Words<'_>) -> Option<Hit<'_>> {
        let matches = |rule: &Rule| match &rule.body {
            Body::Kind(Kind::Shell) => Some(Certainty::Certain),
            Body::Shell(shell) => shell.matches(effect, words),
            _ => None,
        };
        if effect != Effect::Allow && words.unknown.first() == Some(&0) {
            return first(self.all(effect, Kind::Shell), matches);
        }
        let program = words.argv.first().map_or("", |word| shell::base_name(word));
        let mut found = Vec::new();
        self.index(effect).find(Field::Program, program, &mut found);
        self.best(found, matches)
    }

    /// The rule of an effect whose words occur, in order, among the words of a command
    /// that was not understood; see `shell::bare_words`. It never allows but by a rule
    /// for the whole kind, and what a rule says of flags is not looked at.
    #[must_use]
    pub fn bare(&self, effect: Effect, joined: &[String], pieces: &[String]) -> Option<Hit<'_>> {
        first(self.all(effect, Kind::Shell), |rule| match &rule.body {
            Body::Kind(_) => Some(Certainty::Certain),
            Body::Shell(shell) if effect != Effect::Allow => {
                bare::occurs(shell, joined, pieces).then_some(Certainty::Possible)
            }
            _ => None,
        })
    }

    /// The rule of an effect that matches access to a path.
    #[must_use]
    pub fn path(&self, effect: Effect, subject: &PathSubject<'_>) -> Option<Hit<'_>> {
        let mut found = Vec::new();
        path::find(Sort::File, self.index(effect), subject, &mut found);
        self.best(found, |rule| {
            let matched = match &rule.body {
                Body::Kind(Kind::FileAccess) => true,
                Body::File(file) => file.matches(effect, subject),
                _ => false,
            };
            matched.then_some(Certainty::Certain)
        })
    }

    /// The rule of an effect that matches a connection to a Unix socket; whether it is
    /// written makes no difference.
    #[must_use]
    pub fn socket(&self, effect: Effect, subject: &PathSubject<'_>) -> Option<Hit<'_>> {
        let mut found = Vec::new();
        path::find(Sort::Socket, self.index(effect), subject, &mut found);
        self.best(found, |rule| {
            let matched = match &rule.body {
                Body::Kind(Kind::UnixSocket) => true,
                Body::Socket(globs) => path::matches(globs, effect, subject),
                _ => false,
            };
            matched.then_some(Certainty::Certain)
        })
    }

    /// The rule of an effect that matches access to a host.
    #[must_use]
    pub fn network(&self, effect: Effect, subject: &NetworkSubject<'_>) -> Option<Hit<'_>> {
        let readings = host::read(subject.host);
        let matches = |rule: &Rule| match &rule.body {
            Body::Kind(Kind::Network) => Some(Certainty::Certain),
            Body::Network(network) => network.matches(effect, &readings, subject),
            _ => None,
        };
        let mut found = Vec::new();
        if network::find(self.index(effect), effect, &readings, &mut found) {
            self.best(found, matches)
        } else {
            first(self.all(effect, Kind::Network), matches)
        }
    }

    /// The rule of an effect that matches control of a process.
    #[must_use]
    pub fn process(&self, effect: Effect, target: &str) -> Option<Hit<'_>> {
        let mut found = Vec::new();
        self.index(effect).find(Field::Process, target, &mut found);
        self.best(found, |rule| {
            let matched = match &rule.body {
                Body::Kind(Kind::Process) => true,
                Body::Process(targets) if effect == Effect::Allow => {
                    targets.iter().any(|text| text.allows(target))
                }
                Body::Process(targets) => targets.iter().any(|text| text.matches(target)),
                _ => false,
            };
            matched.then_some(Certainty::Certain)
        })
    }

    /// The rule of an effect that matches a call of a tool.
    #[must_use]
    pub fn tool(&self, effect: Effect, subject: &ToolSubject<'_>) -> Option<Hit<'_>> {
        let mut found = Vec::new();
        tool::find(self.index(effect), subject, &mut found);
        self.best(found, |rule| match &rule.body {
            Body::Kind(Kind::Tool) => Some(Certainty::Certain),
            Body::Tool(tool) => tool.matches(effect, subject),
            _ => None,
        })
    }
}

/// The first rule that matches for certain, else the first that may.
fn first<'a>(
    rules: impl Iterator<Item = &'a Rule>,
    matches: impl Fn(&Rule) -> Option<Certainty>,
) -> Option<Hit<'a>> {
    let mut possible = None;
    for rule in rules {
        match matches(rule) {
            Some(Certainty::Certain) => return Some(Hit { rule, certainty: Certainty::Certain }),
            Some(Certainty::Possible) => {
                possible = possible.or(Some(Hit { rule, certainty: Certainty::Possible }));
            }
            None => {}
        }
    }
    possible
}
