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
    "alter",
    "analyze",
    "attach",
    "begin",
    "call",
    "checkpoint",
    "copy",
    "create",
    "delete",
    "detach",
    "do",
    "drop",
    "execute",
    "export",
    "grant",
    "handler",
    "import",
    "insert",
    "install",
    "into",
    "load",
    "lock",
    "merge",
    "outfile",
    "pragma",
    "procedure",
    "replace",
    "revoke",
    "share",
    "truncate",
    "update",
    "upsert",
    "vacuum",
];

/// Words before a parenthesis that are no functions.
const KEYWORDS: [&str; 34] = [
    "all",
    "and",
    "any",
    "as",
    "between",
    "by",
    "case",
    "distinct",
    "else",
    "except",
    "exists",
    "explain",
    "filter",
    "from",
    "group",
    "having",
    "in",
    "intersect",
    "is",
    "join",
    "like",
    "limit",
    "not",
    "on",
    "or",
    "order",
    "over",
    "select",
    "then",
    "union",
    "using",
    "values",
    "when",
    "where",
];

/// Functions that only compute.
const FUNCTIONS: [&str; 62] = [
    "abs",
    "array_agg",
    "avg",
    "cast",
    "ceil",
    "ceiling",
    "char_length",
    "coalesce",
    "concat",
    "concat_ws",
    "count",
    "current_database",
    "current_schema",
    "database",
    "date",
    "date_format",
    "date_part",
    "date_trunc",
    "datetime",
    "dense_rank",
    "extract",
    "first_value",
    "floor",
    "format",
    "greatest",
    "group_concat",
    "hex",
    "ifnull",
    "iif",
    "instr",
    "julianday",
    "lag",
    "last_value",
    "lead",
    "least",
    "left",
    "length",
    "lower",
    "ltrim",
    "max",
    "min",
    "mod",
    "now",
    "nullif",
    "pg_size_pretty",
    "quote",
    "rank",
    "right",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "split_part",
    "strftime",
    "string_agg",
    "substr",
    "substring",
    "sum",
    "total",
    "trim",
    "upper",
    "version",
];

/// Flags that hold a statement, and flags that answer without one.
const STATEMENT: [&str; 8] = ["-c", "--command", "-e", "--execute", "-cmd", "-q", "-s", "--query"];
const ALONE: &str = "-? -h -help --help -l --list -V -version --version";

/// The statement of a flag; of the operand where no flag must be there.
pub(super) fn check(reading: &Reading<'_>) -> Verdict {
    let operand = reading.operands.first().filter(|_| reading.entry.needs.is_empty());
    statements(reading, operand.copied(), ".")
}

/// A file and a statement. Unless told otherwise such an engine makes the file.
pub(super) fn file(reading: &Reading<'_>) -> Verdict {
    let memory = reading.operands.first().is_none_or(|file| *file == ":memory:");
    if !memory && !reading.has("-readonly") {
        return Err("makes the file if it is not there; it only reads with -readonly".to_owned());
    }
    // DuckDB opens a quoted name as a file, and fetches code for some kinds of files.
    let allowed = if reading.command == "duckdb" { "" } else { "." };
    statements(reading, reading.operands.get(1).copied(), allowed)
}

fn statements(reading: &Reading<'_>, operand: Option<&str>, in_quotes: &str) -> Verdict {
    let mut all: Vec<&str> = reading.values(&STATEMENT).collect();
    all.extend(operand);
    if all.is_empty() && !reading.has(ALONE) {
        return Err("would read statements that are not seen".to_owned());
    }
    all.iter().try_for_each(|statement| select(statement, in_quotes))
}

fn select(statement: &str, in_quotes: &str) -> Verdict {
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
                if text.contains("://") || (text.contains('.') && !in_quotes.contains('.')) {
                    return Err("may read another file or from another host".to_owned());
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
            '0'..='9'
            | '+'
            | '-'
            | '*'
            | '/'
            | '%'
            | '<'
            | '>'
            | '='
            | '!'
            | '|'
            | ','
            | '.'
            | ')'
            | '['
            | ']'
            | ':'
            | '@' => before = String::new(),
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
