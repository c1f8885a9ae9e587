//! Path patterns: `*`, `**`, `?`, `[..]` and `{a,b}` over the parts of a path.
//!
//! `*` and `?` stay within one part and match a leading dot too; `**` is any number
//! of parts, and at the end at least one.

use crate::limits::RULE_ALTERNATIVES_MAX;
use core::fmt;

/// Where a pattern begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// Below the workspace: `src/**`.
    Workspace,
    /// Below the user's home: `~/.ssh/**`.
    Home,
    /// From the root: `/etc/**`.
    Root,
}

/// A path pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob {
    pub(crate) base: Base,
    /// As it was written.
    written: String,
    /// One list of parts for each way to fill the braces.
    alternatives: Vec<Vec<Part>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// `**`
    Any,
    Name(Vec<Atom>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Atom {
    Char(char),
    One,
    Many,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

/// What is wrong with a pattern, and what to do.
pub(crate) type Wrong = (String, String);

impl Glob {
    /// Reads a pattern.
    pub(crate) fn parse(written: &str) -> Result<Glob, Wrong> {
        let (base, rest) = match (written.strip_prefix("~/"), written.strip_prefix('/')) {
            (Some(rest), _) => (Base::Home, rest),
            (None, Some(rest)) => (Base::Root, rest),
            (None, None) => (Base::Workspace, written),
        };
        let wrong = |what: &str, hint: &str| Err((what.to_owned(), hint.to_owned()));
        if rest.is_empty() {
            return wrong("the pattern names nothing", "write `**` for everything below");
        }
        if rest.ends_with('/') {
            let hint = format!("write `{rest}**` for everything in the folder");
            return wrong("a pattern does not end with a slash", &hint);
        }
        if written.starts_with('~') && base != Base::Home {
            return wrong("`~` stands for your home only as `~/`", "write `~/NAME` or a full path");
        }
        let mut alternatives = Vec::new();
        for filled in braces(rest)? {
            alternatives.push(parts(&filled)?);
        }
        Ok(Glob { base, written: written.to_owned(), alternatives })
    }

    /// What every path that matches begins with, for each alternative, and whether it
    /// is all of it. Without a slash at its end: `src/**` also matches `src` itself.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = (String, bool)> + '_ {
        self.alternatives.iter().map(|parts| {
            let mut prefix = String::new();
            for (index, part) in parts.iter().enumerate() {
                let Part::Name(atoms) = part else { return (prefix, false) };
                if index > 0 {
                    prefix.push('/');
                }
                for atom in atoms {
                    let Atom::Char(c) = atom else { return (prefix, false) };
                    prefix.push(*c);
                }
            }
            (prefix, true)
        })
    }

    /// Whether the pattern is everything below its base.
    pub(crate) fn is_any(&self) -> bool {
        self.alternatives.iter().any(|parts| parts.iter().all(|part| *part == Part::Any))
    }

    /// Whether a path below the base matches; `itself` also takes `src` for `src/**`.
    pub(crate) fn matches(&self, path: &str, insensitive: bool, itself: bool) -> bool {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        self.alternatives.iter().any(|parts| {
            walk(parts, &names, insensitive)
                || (itself
                    && parts.split_last().is_some_and(|(last, folder)| {
                        *last == Part::Any && walk(folder, &names, insensitive)
                    }))
        })
    }

    /// Whether everything that the other matches is surely matched by this one.
    pub(crate) fn covers(&self, other: &Glob) -> bool {
        if self == other || (self.base == Base::Root && self.is_any()) {
            return true;
        }
        self.base == other.base
            && other
                .alternatives
                .iter()
                .all(|theirs| self.alternatives.iter().any(|mine| wider(mine, theirs)))
    }
}

/// Whether a list of parts surely covers another: part by part, and the rest by a
/// `**` at the end.
fn wider(mine: &[Part], theirs: &[Part]) -> bool {
    let mut theirs = theirs.iter();
    for (index, part) in mine.iter().enumerate() {
        if *part == Part::Any && index + 1 == mine.len() {
            return theirs.next().is_some();
        }
        let covered = match (part, theirs.next()) {
            (Part::Any, Some(Part::Any)) => true,
            (Part::Name(mine), Some(Part::Name(theirs))) => {
                mine == theirs
                    || *mine == [Atom::Many]
                    || literal(theirs).is_some_and(|name| name_matches(mine, &name, false))
            }
            _ => false,
        };
        if !covered {
            return false;
        }
    }
    theirs.next().is_none()
}

fn literal(atoms: &[Atom]) -> Option<String> {
    atoms
        .iter()
        .map(|atom| match atom {
            Atom::Char(c) => Some(*c),
            _ => None,
        })
        .collect()
}

/// Fills the braces in every way.
fn braces(text: &str) -> Result<Vec<String>, Wrong> {
    let wrong = |what: &str, hint: &str| Err((what.to_owned(), hint.to_owned()));
    let mut filled = vec![String::new()];
    let mut group: Option<Vec<String>> = None;
    let mut escaped = false;
    let mut bracket = false;
    for c in text.chars() {
        let plain = escaped || bracket || !matches!(c, '{' | '}' | ',');
        bracket = !escaped && (c == '[' || (bracket && c != ']'));
        escaped = !escaped && c == '\\';
        match (&mut group, c) {
            (Some(options), _) if plain => {
                if let Some(option) = options.last_mut() {
                    option.push(c);
                }
            }
            (None, '{') if !plain => group = Some(vec![String::new()]),
            (Some(_), '{') => {
                return wrong("braces stand inside braces", "write the alternatives out");
            }
            (Some(options), ',') => options.push(String::new()),
            (Some(options), _) => {
                let options = core::mem::take(options);
                group = None;
                if filled.len() * options.len() > RULE_ALTERNATIVES_MAX {
                    let what = format!("the braces give more than {RULE_ALTERNATIVES_MAX} paths");
                    return wrong(&what, "write several patterns");
                }
                filled = filled
                    .iter()
                    .flat_map(|head| options.iter().map(move |option| format!("{head}{option}")))
                    .collect();
            }
            (None, '}') if !plain => {
                return wrong("`}` closes nothing", "write `\\\\}` for the character itself");
            }
            (None, c) => filled.iter_mut().for_each(|head| head.push(c)),
        }
    }
    if group.is_some() {
        return wrong("`{` is never closed", "write `\\\\{` for the character itself");
    }
    Ok(filled)
}

fn parts(text: &str) -> Result<Vec<Part>, Wrong> {
    let wrong = |what: &str, hint: &str| Err((what.to_owned(), hint.to_owned()));
    let mut parts = Vec::new();
    for name in text.split('/') {
        match name {
            "" => return wrong("the pattern has an empty part", "write one slash between parts"),
            "." | ".." => {
                return wrong(
                    &format!("the pattern has a part `{name}`"),
                    "write the path that is meant; nothing climbs out of a pattern's folder",
                );
            }
            "**" => {
                if parts.last() != Some(&Part::Any) {
                    parts.push(Part::Any);
                }
            }
            name if name.contains("**") => {
                return wrong("`**` stands beside other characters", "write `**/` as a part alone");
            }
            name => parts.push(Part::Name(atoms(name)?)),
        }
    }
    Ok(parts)
}

fn atoms(name: &str) -> Result<Vec<Atom>, Wrong> {
    let mut atoms = Vec::new();
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        atoms.push(match c {
            '*' => Atom::Many,
            '?' => Atom::One,
            '\\' => Atom::Char(chars.next().ok_or_else(|| {
                ("a backslash stands at the end".to_owned(), "leave it out".to_owned())
            })?),
            '[' => class(&mut chars)?,
            c => Atom::Char(c),
        });
    }
    Ok(atoms)
}

/// Reads what follows `[`.
fn class(chars: &mut core::str::Chars<'_>) -> Result<Atom, Wrong> {
    let mut inside: Vec<char> = Vec::new();
    loop {
        match chars.next() {
            Some(']') if !matches!(inside.as_slice(), [] | ['!'] | ['^']) => break,
            Some(c) => inside.push(c),
            None => {
                let hint = "write `\\\\[` for the character itself";
                return Err(("`[` is never closed".to_owned(), hint.to_owned()));
            }
        }
    }
    let (negated, mut rest) = match inside.as_slice() {
        ['!' | '^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut ranges = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        let (range, after) = match after {
            ['-', last, after @ ..] => ((*first, *last), after),
            after => ((*first, *first), after),
        };
        if range.0 > range.1 {
            let what = format!("the range `{}-{}` is empty", range.0, range.1);
            return Err((what, "write the smaller character first".to_owned()));
        }
        ranges.push(range);
        rest = after;
    }
    Ok(Atom::Class { negated, ranges })
}

/// Whether the parts match the names: between two `**` the first place that fits is
/// as good as any other.
fn walk(parts: &[Part], names: &[&str], insensitive: bool) -> bool {
    let (mut part, mut name) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (parts.get(part), names.get(name)) {
            (None, None) => return true,
            // At the end it stands for at least one part.
            (Some(Part::Any), Some(_)) if part + 1 == parts.len() => return true,
            (Some(Part::Any), None) if part + 1 == parts.len() => {}
            (Some(Part::Any), _) => {
                retry = Some((part + 1, name));
                part += 1;
                continue;
            }
            (Some(Part::Name(atoms)), Some(text)) if name_matches(atoms, text, insensitive) => {
                part += 1;
                name += 1;
                continue;
            }
            _ => {}
        }
        match retry {
            Some((at, from)) if from < names.len() => {
                retry = Some((at, from + 1));
                (part, name) = (at, from + 1);
            }
            _ => return false,
        }
    }
}

fn name_matches(atoms: &[Atom], name: &str, insensitive: bool) -> bool {
    let chars: Vec<char> = name.chars().collect();
    let (mut atom, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (atoms.get(atom), chars.get(at)) {
            (None, None) => return true,
            (Some(Atom::Many), _) => {
                retry = Some((atom + 1, at));
                atom += 1;
                continue;
            }
            (Some(one), Some(c)) if is(one, *c, insensitive) => {
                atom += 1;
                at += 1;
                continue;
            }
            _ => {}
        }
        match retry {
            Some((after, from)) if from < chars.len() => {
                retry = Some((after, from + 1));
                (atom, at) = (after, from + 1);
            }
            _ => return false,
        }
    }
}

fn is(atom: &Atom, c: char, insensitive: bool) -> bool {
    let same = |a: char, b: char| a == b || (insensitive && folded(a).eq(folded(b)));
    match atom {
        Atom::One => true,
        Atom::Many => false,
        Atom::Char(wanted) => same(*wanted, c),
        Atom::Class { negated, ranges } => {
            let within = |c: char| ranges.iter().any(|(low, high)| (*low..=*high).contains(&c));
            let inside = within(c)
                || (insensitive && (folded(c).any(within) || c.to_uppercase().any(within)));
            inside != *negated
        }
    }
}

/// A character without its case, as near as a file system's own table needs.
pub(crate) fn folded(c: char) -> impl Iterator<Item = char> {
    c.to_uppercase().flat_map(char::to_lowercase)
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}
