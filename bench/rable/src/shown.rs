//! What each parser shows, in one form: words, known or not, and whether the stage may
//! run code. For rable this is the least that one would have to write around it.

use placet_policy::shell::{Parsed, Stage, What};
use rable::{Node, NodeKind};

/// A simple command that is shown.
pub struct Line {
    /// None for a word that is not known.
    words: Vec<Option<String>>,
    /// Every word is known and no code hides.
    pub complete: bool,
    code: bool,
}

/// Builtins that run code which is not a word of theirs.
const RUN_CODE: &str = ". [ alias bind builtin command compgen complete coproc declare enable eval exec export \
fc hash jobs let local mapfile printf read readarray readonly set source shopt test trap typeset unset wait";

impl Line {
    /// Whether it accounts for a program that started with these words.
    pub fn covers(&self, start: &[String]) -> bool {
        self.code || fits(&self.words, start)
    }
}

fn fits(shown: &[Option<String>], words: &[String]) -> bool {
    match shown.split_first() {
        None => words.is_empty(),
        Some((Some(known), rest)) => {
            words.split_first().is_some_and(|(word, more)| word == known && fits(rest, more))
        }
        Some((None, rest)) => (0..=words.len()).any(|skip| fits(rest, &words[skip..])),
    }
}

/// Our stages, with what they run in turn.
pub fn of_ours(parsed: &Parsed) -> Vec<Line> {
    parsed
        .stages
        .iter()
        .flat_map(Stage::every)
        .map(|stage| {
            let word =
                |(at, word): (u32, &String)| (!stage.unknown.contains(&at)).then(|| word.clone());
            let words = match stage.what {
                What::Command => (0..).zip(&stage.argv).map(word).collect(),
                // Never what a program starts as.
                _ => vec![Some("\0".to_owned())],
            };
            Line { words, complete: stage.complete && !stage.code, code: stage.code }
        })
        .collect()
}

/// rable's simple commands, wherever they are in the tree.
pub fn of_rable(nodes: &[Node]) -> Vec<Line> {
    let mut lines = Vec::new();
    for node in nodes {
        walk(node, &mut |node| lines.extend(line(node)));
    }
    lines
}

fn line(node: &Node) -> Option<Line> {
    match &node.kind {
        NodeKind::Command { assignments, words, .. } => {
            let words: Vec<_> = words.iter().map(|word| value(word)).collect();
            let unknown = words.iter().any(Option::is_none);
            let first = words.first().and_then(Option::as_deref).unwrap_or_default();
            let named = RUN_CODE.split_whitespace().any(|name| name == first);
            let assigns = !assignments.is_empty();
            // Substitutions that rable leaves as text: backticks, and what stands in `${..}`.
            let hidden = words_text(node)
                .any(|text| text.contains('`') || (text.contains("${") && text.contains("$(")));
            let code = named
                || hidden
                || node_text(node).contains(['[', '@', '!']) && unknown
                || assignments.iter().any(|a| {
                    value_text(a).is_some_and(|text| {
                        text.contains('[')
                            || ["PATH", "PS4", "IFS", "BASH", "PROMPT", "RANDOM", "OPTIND", "ENV"]
                                .iter()
                                .any(|name| text.starts_with(name))
                    })
                });
            Some(Line { complete: !unknown && !code && !assigns, code, words })
        }
        // Arithmetic and tests evaluate what variables hold.
        NodeKind::ArithmeticCommand { .. }
        | NodeKind::ArithmeticExpansion { .. }
        | NodeKind::ConditionalExpr { .. }
        | NodeKind::ForArith { .. }
        | NodeKind::ArithDeprecated { .. } => {
            Some(Line { words: Vec::new(), complete: false, code: true })
        }
        // Its body is text to rable.
        NodeKind::HereDoc { content, quoted, .. } if !quoted && content.contains(['$', '`']) => {
            Some(Line { words: Vec::new(), complete: false, code: true })
        }
        _ => None,
    }
}

fn words_text(node: &Node) -> impl Iterator<Item = &str> {
    let lists: Vec<&[Node]> = match &node.kind {
        NodeKind::Command { assignments, words, redirects } => vec![assignments, words, redirects],
        _ => Vec::new(),
    };
    lists.into_iter().flatten().filter_map(|node| match &node.kind {
        NodeKind::Redirect { target, .. } => value_text(target),
        _ => value_text(node),
    })
}

fn node_text(node: &Node) -> String {
    node.to_string()
}

fn value_text(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Word { value, .. } => Some(value),
        _ => None,
    }
}

/// The value of a word without its quotes, if nothing in it is expanded.
fn value(node: &Node) -> Option<String> {
    let NodeKind::Word { value, parts, .. } = &node.kind else { return None };
    if parts.iter().any(|part| {
        !matches!(part.kind, NodeKind::WordLiteral { .. } | NodeKind::AnsiCQuote { .. })
    }) {
        return None;
    }
    let mut text = String::new();
    let mut chars = value.chars().peekable();
    let mut ansi = parts.iter().filter_map(|part| match &part.kind {
        NodeKind::AnsiCQuote { decoded, .. } => Some(decoded),
        _ => None,
    });
    while let Some(c) = chars.next() {
        match c {
            '\'' => text.extend(chars.by_ref().take_while(|c| *c != '\'')),
            '"' => loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => match chars.next()? {
                        '\n' => {}
                        c @ ('$' | '`' | '"' | '\\') => text.push(c),
                        c => text.extend(['\\', c]),
                    },
                    '$' | '`' => return None,
                    c => text.push(c),
                }
            },
            '\\' => match chars.next()? {
                '\n' => {}
                c => text.push(c),
            },
            '$' if chars.peek() == Some(&'\'') => {
                // Bash ends such a piece at a NUL.
                text.push_str(ansi.next()?.split('\0').next().unwrap_or_default());
                chars.next();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        '\\' => drop(chars.next()),
                        _ => {}
                    }
                }
            }
            '$' | '`' | '*' | '?' | '[' | '~' => return None,
            '{' if value.contains(',') || value.contains("..") => return None,
            c => text.push(c),
        }
    }
    Some(text)
}

/// How many simple commands have a span whose text does not hold their words.
pub fn spans(nodes: &[Node], source: &str) -> (usize, usize) {
    let (mut wrong, mut all) = (0, 0);
    for node in nodes {
        walk(node, &mut |node| {
            if let NodeKind::Command { words, .. } = &node.kind {
                all += 1;
                let text = node.source_text(source);
                let holds = words
                    .iter()
                    .filter_map(value_text)
                    .all(|word| text.contains(word.lines().next().unwrap_or_default()));
                wrong += usize::from(!holds);
            }
        });
    }
    (wrong, all)
}

/// Visits every node; rable has no visitor of its own.
fn walk(node: &Node, visit: &mut impl FnMut(&Node)) {
    visit(node);
    let mut children: Vec<&Node> = Vec::new();
    match &node.kind {
        NodeKind::Word { parts, .. } => children.extend(parts),
        NodeKind::Command { assignments, words, redirects } => {
            children.extend(assignments.iter().chain(words).chain(redirects));
        }
        NodeKind::Pipeline { commands, .. } => children.extend(commands),
        NodeKind::List { items } => children.extend(items.iter().map(|item| &item.command)),
        NodeKind::If { condition, then_body, else_body, redirects } => {
            children.extend([&**condition, &**then_body]);
            children.extend(else_body.as_deref());
            children.extend(redirects);
        }
        NodeKind::While { condition, body, redirects }
        | NodeKind::Until { condition, body, redirects } => {
            children.extend([&**condition, &**body]);
            children.extend(redirects);
        }
        NodeKind::For { words, body, redirects, .. }
        | NodeKind::Select { words, body, redirects, .. } => {
            children.extend(words.iter().flatten());
            children.push(body);
            children.extend(redirects);
        }
        NodeKind::ForArith { body, redirects, .. }
        | NodeKind::Subshell { body, redirects }
        | NodeKind::BraceGroup { body, redirects } => {
            children.push(body);
            children.extend(redirects);
        }
        NodeKind::Case { word, patterns, redirects } => {
            children.push(word);
            for pattern in patterns {
                children.extend(&pattern.patterns);
                children.extend(&pattern.body);
            }
            children.extend(redirects);
        }
        NodeKind::Function { body, .. } => children.push(body),
        NodeKind::Coproc { command, .. }
        | NodeKind::CommandSubstitution { command, .. }
        | NodeKind::ProcessSubstitution { command, .. } => children.push(command),
        NodeKind::Redirect { target, .. } => children.push(target),
        NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => {
            children.push(pipeline)
        }
        NodeKind::Array { elements } => children.extend(elements),
        _ => {}
    }
    for child in children {
        walk(child, visit);
    }
}
