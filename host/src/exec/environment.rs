//! The environment of a command: what is taken out of it, and its digest.
//!
//! What a variable could do before or instead of the command that was judged is
//! removed. Values are never stored, only a keyed digest over all of them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Variables that make bash run or read something else than its command.
///
/// `CDPATH` is one of them: with it `cd src` need not lead to `./src`, which is
/// where the facts of the action were taken. Others change how bash reads what it
/// is given, or run something of their own while it traces.
const REMOVED_NAMES: [&str; 9] = [
    "BASHOPTS",
    "BASH_COMPAT",
    "BASH_ENV",
    "BASH_XTRACEFD",
    "CDPATH",
    "ENV",
    "POSIXLY_CORRECT",
    "PS4",
    "SHELLOPTS",
];

/// Exported functions, the dynamic loaders, and our own settings and tokens.
const REMOVED_PREFIXES: [&str; 4] = ["BASH_FUNC_", "DYLD_", "LD_", "PLACET_"];

/// The environment that a command gets: `vars` without what [`removes`], sorted
/// by name; of two values for a name the later one counts.
pub fn prepare(vars: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut kept: BTreeMap<OsString, OsString> = vars.filter(|(name, _)| !removes(name)).collect();
    if let Some(home) = kept.get_mut(OsStr::new("HOME"))
        && let Some(real) = real_home(home)
    {
        *home = real.into();
    }
    kept.into_iter().collect()
}

/// What `~` and `$HOME` stand for in a command: the folder itself, not a link to it, so
/// that rules for paths below it mean what they say.
pub fn home() -> Option<String> {
    real_home(&std::env::var_os("HOME")?)
}

fn real_home(home: &OsStr) -> Option<String> {
    let path = std::path::Path::new(home);
    path.is_absolute().then(|| path.canonicalize().ok()?.into_os_string().into_string().ok())?
}

/// Whether [`prepare`] removes the variable `name`. A name that no shell could
/// have set (empty, with `=` or with a NUL) is removed as well.
pub fn removes(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    bytes.is_empty()
        || bytes.contains(&b'=')
        || bytes.contains(&0)
        || REMOVED_NAMES.iter().any(|removed| bytes == removed.as_bytes())
        || REMOVED_PREFIXES.iter().any(|prefix| bytes.starts_with(prefix.as_bytes()))
}

/// `hmac-sha256:` and the keyed digest of `environment`, in the order given.
///
/// Every name and value is preceded by its length, so that no two environments
/// share an encoding.
pub fn digest(key: &[u8; 32], environment: &[(OsString, OsString)]) -> String {
    // HMAC pads a key that is shorter than the block with zeros.
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let mut mac = <Hmac<Sha256> as KeyInit>::new(&block.into());
    mac.update(&(environment.len() as u64).to_be_bytes());
    for text in environment.iter().flat_map(|(name, value)| [name, value]) {
        mac.update(&(text.len() as u64).to_be_bytes());
        mac.update(text.as_bytes());
    }
    let mut written = String::from("hmac-sha256:");
    for byte in mac.finalize().into_bytes() {
        for nibble in [byte >> 4, byte & 15] {
            written.push(char::from(b"0123456789abcdef"[usize::from(nibble)]));
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        list.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn removes_what_runs_before_the_command() {
        let given = pairs(&[
            ("PATH", "/bin"),
            ("BASH_ENV", "/x"),
            ("ENV", "/x"),
            ("SHELLOPTS", "xtrace"),
            ("BASHOPTS", "extdebug"),
            ("BASH_FUNC_ls%%", "() { :; }"),
            ("BASH_FUNC_ls()", "() { :; }"),
            ("LD_PRELOAD", "/x"),
            ("LD_LIBRARY_PATH", "/x"),
            ("DYLD_INSERT_LIBRARIES", "/x"),
            ("PLACET_HOME", "/x"),
            ("CDPATH", "/x"),
            ("PS4", "$(x)"),
            ("POSIXLY_CORRECT", "1"),
            ("", "empty"),
            ("ENVIRONMENT", "kept"),
            ("OLD_LD_PATH", "kept"),
            ("BASH", "kept"),
        ]);
        let kept = prepare(given.into_iter());
        assert_eq!(
            kept,
            pairs(&[
                ("BASH", "kept"),
                ("ENVIRONMENT", "kept"),
                ("OLD_LD_PATH", "kept"),
                ("PATH", "/bin")
            ])
        );
    }

    #[test]
    fn is_sorted_and_the_later_value_counts() {
        let kept = prepare(pairs(&[("B", "1"), ("A", "2"), ("B", "3")]).into_iter());
        assert_eq!(kept, pairs(&[("A", "2"), ("B", "3")]));
    }

    #[test]
    fn digest_is_keyed_and_tells_boundaries_apart() {
        let one = digest(&[1; 32], &pairs(&[("AB", "C")]));
        assert!(one.starts_with("hmac-sha256:") && one.len() == "hmac-sha256:".len() + 64);
        assert_eq!(one, digest(&[1; 32], &pairs(&[("AB", "C")])));
        assert_ne!(one, digest(&[2; 32], &pairs(&[("AB", "C")])));
        assert_ne!(one, digest(&[1; 32], &pairs(&[("A", "BC")])));
        assert_ne!(one, digest(&[1; 32], &pairs(&[("AB", ""), ("", "C")])));
    }

    #[test]
    fn digest_of_nothing_is_hmac_of_a_zero_count() {
        // From another implementation: eight zero bytes under a key of 32 sevens.
        assert_eq!(
            digest(&[7; 32], &[]),
            "hmac-sha256:6f99c7f51964fbcc442164d53b5fa9dc927a765f0cb5cf3cbc1760dc283bd0b4"
        );
    }
}
