//! Where relative paths start: what `cd` does to the stages behind it.

use super::{Stage, What};

/// More places than this are as good as unknown.
const PLACES_MAX: usize = 4;

/// The folder that a stage may start in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    /// One of these: absolute, or relative to the action's working folder
    /// (which itself is the empty text).
    Known(Vec<String>),
    /// Anywhere.
    Unknown,
}

impl Default for Folder {
    fn default() -> Self {
        Folder::Known(vec![String::new()])
    }
}

impl Folder {
    /// Here or there.
    pub(super) fn or(&self, other: &Folder) -> Folder {
        let (Folder::Known(here), Folder::Known(there)) = (self, other) else {
            return Folder::Unknown;
        };
        let mut places = here.clone();
        for place in there {
            if !places.contains(place) {
                places.push(place.clone());
            }
        }
        if places.len() > PLACES_MAX { Folder::Unknown } else { Folder::Known(places) }
    }

    fn to(&self, path: &str) -> Folder {
        match self {
            Folder::Unknown if !path.starts_with('/') => Folder::Unknown,
            Folder::Unknown => Folder::Known(vec![joined("", path)]),
            Folder::Known(places) => {
                Folder::Known(places.iter().map(|place| joined(place, path)).collect())
            }
        }
    }
}

/// The folder behind a stage that succeeded.
pub(super) fn after(stage: &Stage, folder: &Folder, home: Option<&str>) -> Folder {
    if stage.what != What::Command {
        return folder.clone();
    }
    let names = ["CDPATH", "HOME", "PWD", "OLDPWD"];
    if stage.code || stage.assignments.iter().any(|set| names.contains(&set.name.as_str())) {
        return Folder::Unknown;
    }
    let known = |index: usize| !stage.unknown.contains(&super::offset(index));
    let mut words = stage.argv.iter().enumerate();
    let mut name = words.next();
    while matches!(name, Some((_, word)) if word == "command" || word == "builtin") {
        name = words.find(|(index, word)| !known(*index) || !word.starts_with('-'));
    }
    let Some((index, word)) = name else { return folder.clone() };
    match word.as_str() {
        _ if !known(index) => Folder::Unknown,
        "cd" | "pushd" => {
            let mut target =
                words.skip_while(|(index, word)| known(*index) && is_option(word)).peekable();
            match (target.next(), target.next()) {
                (None, _) if word == "cd" => match home {
                    Some(home) => folder.to(home),
                    None => Folder::Unknown,
                },
                (Some((index, path)), None)
                    if known(index) && !path.is_empty() && !path.starts_with(['-', '+']) =>
                {
                    folder.to(path)
                }
                _ => Folder::Unknown,
            }
        }
        "popd" | "eval" | "source" | "." | "trap" | "dirs" => Folder::Unknown,
        _ => folder.clone(),
    }
}

fn is_option(word: &str) -> bool {
    matches!(word, "-L" | "-P" | "-e" | "-@" | "--")
}

/// As bash joins them: `..` takes a name away, whatever that name was.
pub fn joined(base: &str, path: &str) -> String {
    let absolute = path.starts_with('/') || base.starts_with('/');
    let base = if path.starts_with('/') { "" } else { base };
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    let text = parts.join("/");
    if absolute { format!("/{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn folders_are_joined_as_bash_does() {
        let check = |base: &str, path: &str, want: &str| assert_eq!(joined(base, path), want);
        check("", "a/b", "a/b");
        check("a", "../b", "b");
        check("a", "../../b", "../b");
        check("", "/x/../y", "/y");
        check("/x", "../../y", "/y");
        check("..", "..", "../..");
        check("a", ".", "a");
    }
}
