//! Values that decide: of `fzf --bind`, `gh api`, `git config`, jq, `kubectl
//! get`, ps, tar and `test`.

use super::scan::Verdict;
use crate::safe::read::Reading;

/// The local directory (`.`, or a path), and a command that reads.
pub(super) fn dscl(reading: &Reading<'_>) -> Verdict {
    const OPTIONS: [&str; 4] = ["-plist", "-q", "-raw", "-url"];
    const READING: [&str; 5] = ["diff", "list", "read", "readall", "search"];
    let mut words = reading.operands.iter().copied().skip_while(|word| OPTIONS.contains(word));
    let source = words.next().unwrap_or_default();
    let command = words.next().unwrap_or_default();
    let local = source == "." || source.starts_with('/');
    if local && READING.contains(&command.strip_prefix('-').unwrap_or(command)) {
        return Ok(());
    }
    Err(format!("is not known to read only with `{command}`"))
}

/// Bindings to actions that start nothing: plain words, not `execute(..)` and the like.
pub(super) fn fzf(reading: &Reading<'_>) -> Verdict {
    const RUNNING: [&str; 5] = ["become", "execute", "preview", "reload", "transform"];
    let bindings = reading.values(&["--bind"]).flat_map(|value| value.split(','));
    for binding in bindings {
        let (_, actions) = binding.split_once(':').ok_or("has a binding without an action")?;
        for action in actions.split('+') {
            let plain = action.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            // `preview-up` only scrolls.
            let runs = RUNNING.iter().any(|name| action.starts_with(name))
                && !["preview-down", "preview-up"].contains(&action);
            if !plain || runs {
                return Err(format!("can run a command with `--bind {binding}`"));
            }
        }
    }
    Ok(())
}

/// `HOST/OWNER/NAME` asks that host; gh's own jq knows the environment.
pub(super) fn gh(reading: &Reading<'_>) -> Verdict {
    let values = reading.flags.iter().filter_map(|(_, value)| *value);
    for word in values.chain(reading.operands.iter().copied()) {
        let mut parts = word.split('/');
        let host = parts.next().is_some_and(|first| first.contains(['.', ':']));
        if host && parts.count() == 2 && reading.command != "gh api" {
            return Err(format!("may ask the host in `{word}`"));
        }
    }
    jq(reading)
}

/// GET, or a GraphQL query.
pub(super) fn gh_api(reading: &Reading<'_>) -> Verdict {
    gh(reading)?;
    let fields = || reading.values(&["-f", "--raw-field", "-F", "--field"]);
    if fields().next().is_none() || reading.has("-X --method") {
        return Ok(());
    }
    let graphql = reading.operands == ["graphql"];
    let mut queries = fields().filter_map(|field| field.strip_prefix("query="));
    let query = queries.next().filter(|_| queries.next().is_none());
    let text = query.filter(|_| graphql).map(str::trim_start).unwrap_or_default();
    let word = |wanted: &str| {
        text.split(|next: char| !next.is_ascii_alphanumeric()).any(|word| word == wanted)
    };
    if !(text.starts_with("query") || text.starts_with('{')) || word("mutation") {
        return Err("sends fields, and so writes, without `--method GET`".to_owned());
    }
    Ok(())
}

/// A key that holds no credential; the whole list may.
pub(super) fn git_config(reading: &Reading<'_>) -> Verdict {
    const OPEN: [&str; 16] = [
        "advice",
        "branch",
        "color",
        "column",
        "commit",
        "core",
        "diff",
        "fetch",
        "init",
        "merge",
        "pull",
        "push",
        "rebase",
        "remote",
        "submodule",
        "user",
    ];
    let named = reading.values(&["--get", "--get-all"]);
    for key in named.chain(reading.operands.iter().copied()) {
        let key = key.to_ascii_lowercase();
        let section = key.split('.').next().unwrap_or_default();
        if !OPEN.contains(&section) {
            return Err(format!("may print a credential with `{key}`"));
        }
    }
    Ok(())
}

/// Nothing of the environment, and no other file.
pub(super) fn jq(reading: &Reading<'_>) -> Verdict {
    const NAMES: [&str; 12] = [
        "ENV",
        "env",
        "envsubst",
        "load",
        "load_base64",
        "load_props",
        "load_str",
        "load_xml",
        "strenv",
        "system",
        "import",
        "include",
    ];
    let values = reading.flags.iter().filter_map(|(_, value)| *value);
    for text in values.chain(reading.operands.iter().copied()) {
        let mut before = None;
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let end = rest
                .find(|next: char| !(next.is_alphanumeric() || next == '_'))
                .unwrap_or(rest.len());
            let (word, behind) =
                rest.split_at_checked(end.max(next.len_utf8())).unwrap_or((rest, ""));
            // `.env` is a field.
            if NAMES.contains(&word) && before != Some('.') {
                return Err(format!("can print the environment or other files with `{word}`"));
            }
            before = word.chars().next_back();
            rest = behind;
        }
    }
    Ok(())
}

/// Secrets are listed by name; every other form of output shows them.
pub(super) fn kubectl_get(reading: &Reading<'_>) -> Verdict {
    let secret = |operand: &str| {
        operand.split([',', '/']).any(|part| part.to_ascii_lowercase().starts_with("secret"))
    };
    let secrets = reading.operands.iter().any(|operand| secret(operand));
    let unseen = reading.has("-f --filename -k --kustomize");
    let mut outputs = reading.values(&["-o", "--output"]);
    let shows =
        outputs.any(|output| !["name", "wide"].contains(&output)) || reading.has("--template");
    if shows && (secrets || unseen) {
        return Err("prints secrets with this output".to_owned());
    }
    Ok(())
}

/// `e` without a dash is the environment, with one it is every process. But ps
/// reads all its words anew without dashes when it does not understand one, so
/// an `e` stands only beside letters that it always understands.
pub(super) fn ps(reading: &Reading<'_>) -> Verdict {
    const LONG: [&str; 8] =
        ["forest", "headers", "help", "no-headers", "pid", "ppid", "sort", "version"];
    let refuse = |word: &str| Err(format!("may print the environment of processes with `{word}`"));
    let (mut every, mut loose) = (None, false);
    let mut words = reading.operands.iter().copied();
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            if !LONG.contains(&name) {
                return refuse(word);
            }
            continue;
        }
        let dashed = word.starts_with('-');
        let letters = word.strip_prefix('-').unwrap_or(word);
        // The columns to print are glued to `o` or the next word.
        let (letters, columns) = match letters.split_once('o') {
            Some((letters, "")) => (letters, words.next().unwrap_or_default()),
            Some((letters, columns)) => (letters, columns),
            None => (letters, ""),
        };
        let strict = letters.bytes().all(|letter| b"AadefFcjlyLMHPTNwV".contains(&letter));
        let known =
            letters.bytes().all(|letter| b"aAfhHjlLmnpqtTuUvwx,0123456789".contains(&letter));
        if !(known || (dashed && strict)) || columns.to_ascii_lowercase().contains("env") {
            return refuse(word);
        }
        if dashed && letters.contains('e') {
            every = Some(word);
        }
        loose |= !(dashed && strict);
    }
    match every.filter(|_| loose) {
        Some(word) => refuse(word),
        None => Ok(()),
    }
}

/// An archive with a colon in its name is on another host.
pub(super) fn tar(reading: &Reading<'_>) -> Verdict {
    match reading.values(&["-f", "--file"]).find(|file| file.contains(':')) {
        Some(file) => Err(format!("opens a connection to read `{file}`")),
        None => Ok(()),
    }
}

/// bash evaluates what stands in a subscript: `test -v 'a[$(id)]'`.
pub(super) fn test(reading: &Reading<'_>) -> Verdict {
    let words = reading.operands.iter();
    match words.copied().find(|word| word.len() > 1 && word.contains(['[', '`'])) {
        Some(word) => Err(format!("may run what stands in the subscript of `{word}`")),
        None => Ok(()),
    }
}
