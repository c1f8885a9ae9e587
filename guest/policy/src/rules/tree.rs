//! A rule file as values with their places.
//!
//! The `toml` crate reads the text. What it would follow without a bound (brackets
//! and dots in keys nest as deep as a text is long) is counted before.

use crate::limits::{RULE_KEY_DOTS_MAX, RULE_NESTING_MAX};
use toml::de::{DeTable, DeValue};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// A value, and the byte at which it begins.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: usize,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Truth(bool),
    List(Vec<Node>),
    Table(Vec<Member>),
    /// A number, date or time that no rule has use for.
    Other,
}

/// A member of a table, in the order of the text.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) node: Node,
}

impl Value {
    /// What it is, for messages.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Value::Text(_) => "a text",
            Value::Integer(_) => "a number",
            Value::Truth(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Other => "a number with a fraction or a date",
        }
    }
}

/// What could not be read: where, and why.
pub(crate) struct Broken {
    pub(crate) at: usize,
    pub(crate) why: String,
}

/// Reads a text: the members of its root, and what is wrong with it.
pub(crate) fn read(text: &str) -> (Vec<Member>, Vec<Broken>) {
    if let Some(broken) = too_deep(text) {
        return (Vec::new(), vec![broken]);
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    let broken = errors
        .iter()
        .map(|error| Broken {
            at: error.span().map_or(0, |span| span.start),
            why: error.message().trim().to_owned(),
        })
        .collect();
    (members(root.into_inner(), 0), broken)
}

/// The place at which brackets or the dots of a key go deeper than a rule file does.
fn too_deep(text: &str) -> Option<Broken> {
    let (mut depth, mut dots) = (0_usize, 0_usize);
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => depth += 1,
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        match token.kind() {
            TokenKind::Dot => dots += 1,
            TokenKind::Atom
            | TokenKind::Whitespace
            | TokenKind::BasicString
            | TokenKind::LiteralString => {}
            _ => dots = 0,
        }
        let at = token.span().start();
        if depth > RULE_NESTING_MAX {
            let why = format!("more than {RULE_NESTING_MAX} brackets stand inside each other");
            return Some(Broken { at, why });
        }
        if dots > RULE_KEY_DOTS_MAX {
            return Some(Broken {
                at,
                why: format!("a key has more than {RULE_KEY_DOTS_MAX} dots"),
            });
        }
    }
    None
}

/// Deeper than any text that [`too_deep`] lets through.
const DEPTH_MAX: usize = (RULE_NESTING_MAX + 2) * (RULE_KEY_DOTS_MAX + 1);

fn members(table: DeTable<'_>, depth: usize) -> Vec<Member> {
    let mut members: Vec<Member> = table
        .into_iter()
        .map(|(name, value)| Member {
            at: name.span().start,
            name: name.into_inner().into_owned(),
            node: Node { at: value.span().start, value: convert(value.into_inner(), depth + 1) },
        })
        .collect();
    members.sort_by_key(|member| member.at);
    members
}

fn convert(value: DeValue<'_>, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return Value::Other;
    }
    match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Boolean(truth) => Value::Truth(truth),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Other, Value::Integer),
        DeValue::Array(list) => Value::List(
            list.into_iter()
                .map(|value| Node {
                    at: value.span().start,
                    value: convert(value.into_inner(), depth + 1),
                })
                .collect(),
        ),
        DeValue::Table(table) => Value::Table(members(table, depth)),
        DeValue::Float(_) | DeValue::Datetime(_) => Value::Other,
    }
}

/// The known name that a person most likely meant.
pub(crate) fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |known: &&str| (distance(&name.to_lowercase(), &known.to_lowercase()), known.len());
    let best = known.into_iter().min_by_key(near)?;
    let allowed = if best.len() < 5 { 1 } else { 2 };
    (name.len() <= 64 && near(&best).0 <= allowed).then_some(best)
}

/// How many letters must be changed, added or left out.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 64 {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (line, x) in a.chars().enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        let mut next = vec![left];
        for (y, above) in b.iter().zip(row.iter().skip(1)) {
            let changed = diagonal + usize::from(x != *y);
            left = changed.min(above + 1).min(left + 1);
            next.push(left);
            diagonal = *above;
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}
