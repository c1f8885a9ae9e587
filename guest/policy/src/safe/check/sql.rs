//! SQL: one statement that selects, with functions that are known to read.
//!
//! The dialects differ in comments, escapes and quotes; what they read
//! differently is refused: comments, backslashes and dollar signs.

use super::scan::{Scan, Verdict};
use crate::safe::read::Reading;

/// How a statement may begin.
const READING: [&str; 7] = ["desc", "describe", "explain", "select", "show", "values", "with"];

/// Words that write, lock, or read other files or hosts, wherever they stand.
const WRITING: [&str; 33] = [
    "alter", "analyze", "attach", "begin", "call", "checkpoint", "copy", "create", "delete",
    "detach", "do", "drop", "execute", "export", "grant", "handler", "import", "insert", "install",
    "into", "load", "lock", "merge", "outfile", "pragma", "procedure", "replace", "revoke", "share",
    "truncate", "update", "upsert", "vacuum",
];

/// Words before a parenthesis that are no functions.
const KEYWORDS: [&str; 34] = [
    "all", "and", "any", "as", "between", "by", "case", "distinct", "else", "except", "exists",
    "explain", "filter", "from", "group", "having", "in", "intersect", "is", "join", "like",
    "limit", "not", "on", "or", "order", "over", "select", "then", "union", "using", "values",
    "when", "where",
];

/// Functions that only compute.
const FUNCTIONS: [&str; 62] = [
    "abs", "array_agg", "avg", "cast", "ceil", "ceiling", "char_length", "coalesce", "concat",
    "concat_ws", "count", "current_database", "current_schema", "database", "date", "date_format",
    "date_part", "date_trunc", "datetime", "dense_rank", "extract", "first_value", "floor",
    "format", "greatest", "group_concat", "hex", "ifnull", "iif", "instr", "julianday", "lag",
    "last_value", "lead", "least", "left", "length", "lower", "ltrim", "max", "min", "mod", "now",
    "nullif", "pg_size_pretty", "quote", "rank", "right", "round", "row_number", "rtrim",
    "sign", "split_part", "strftime", "string_agg", "substr", "substring", "sum", "total", "trim",
    "upper", "version",
];

pub(super) fn check(reading: &Reading<'_>) -> Verdict {
    let flags = ["-c", "--command", "-e", "--execute", "-cmd", "-query", "--query"];
    let mut statements: Vec<&str> = reading.values(&flags).collect();
    // Where no flag gives it, the statement is the last operand, behind the file.
    let behind: usize = if reading.entry.most == Some(1) { 0 } else { 1 };
    let in_operand = statements.is_empty() || reading.has("-cmd");
    if in_operand {
        statements.extend(reading.operands.get(behind));
    }
    if statements.is_empty() {
        return if reading.has(&reading.entry.needs) && reading.operands.is_empty() {
            Ok(())
        } else {
            Err("would read statements that are not seen".to_owned())
        };
    }
    if reading.entry.style == crate::safe::entry::Style::Single {
        file(reading)?;
    }
    statements.iter().try_for_each(|statement| select(statement))
}

/// The engines that open a file by themselves make it when it is not there.
fn file(reading: &Reading<'_>) -> Verdict {
    let memory = reading.operands.first().is_none_or(|file| *file == ":memory:");
    if memory || reading.has("-readonly") {
        return Ok(());
    }
    Err("makes the file if it is not there; it only reads with -readonly".to_owned())
}

fn select(statement: &str) -> Verdict {
    let mut scan = Scan::new(statement);
    let mut first: Option<String> = None;
    let mut before = String::new();
    let mut ended = false;
    while let Some(next) = scan.next() {
        if next.is_ascii_whitespace() {
            continue;
        }
        if ended {
            return Err("runs more than one statement".to_owned());
        }
        match next {
            '\'' | '"' | '`' => {
                let text = quoted(&mut scan, next)?;
                // Some engines open a table's quoted name as a file or a URL.
                if text.contains("://") {
                    return Err("may read from another host".to_owned());
                }
                before = "\"".to_owned();
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let rest = scan.take_while(|next| next.is_ascii_alphanumeric() || next == '_');
                let word = format!("{next}{rest}").to_ascii_lowercase();
                if WRITING.contains(&word.as_str()) {
                    return Err(format!("is not known to read only with `{word}`"));
                }
                if first.is_none() && !READING.contains(&word.as_str()) {
                    return Err(format!("is not known to read only with `{word}`"));
                }
                first.get_or_insert_with(|| word.clone());
                before = word;
            }
            '(' => {
                let named = !before.is_empty() && !KEYWORDS.contains(&before.as_str());
                if named && !FUNCTIONS.contains(&before.as_str()) {
                    return Err(format!("calls `{before}`, which is not known to read only"));
                }
                before = String::new();
            }
            '-' if scan.peek() == Some('-') => return Err(unread()),
            '/' if scan.peek() == Some('*') => return Err(unread()),
            ';' => ended = true,
            '0'..='9' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '|' | ',' | '.'
            | ')' | '[' | ']' | ':' | '@' => before = String::new(),
            _ => return Err(unread()),
        }
    }
    if first.is_none() { Err(unread()) } else { Ok(()) }
}

/// Behind the opening quote, which is doubled where it is meant.
fn quoted(scan: &mut Scan<'_>, quote: char) -> Result<String, String> {
    let mut text = String::new();
    while let Some(next) = scan.next() {
        match next {
            '\\' => return Err(unread()),
            next if next == quote && !scan.take(quote) => return Ok(text),
            next => text.push(next),
        }
    }
    Err(unread())
}

fn unread() -> String {
    "has a statement that is not fully understood".to_owned()
}
