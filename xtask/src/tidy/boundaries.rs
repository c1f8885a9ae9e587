//! Which crate may depend on which, read from cargo's metadata of the workspace.

use std::collections::BTreeSet;

use serde_json::Value;

/// A crate and the only normal dependencies that it may have.
const ALLOWED: [(&str, &[&str]); 8] = [
    ("placet-visible", &[]),
    (
        "placet-policy",
        &[
            "placet-visible",
            "serde",
            "serde_json",
            "sha2",
            "toml",
            "toml_parser",
            "uuid",
            "wit-bindgen",
        ],
    ),
    ("placet-component", &["placet-policy", "wit-bindgen"]),
    ("placet-modes", &["wit-bindgen"]),
    ("placet-mode-allow-all", &["placet-modes", "wit-bindgen"]),
    ("placet-mode-prompt-unmatched", &["placet-modes", "wit-bindgen"]),
    ("placet-mode-on-request", &["placet-modes", "wit-bindgen"]),
    ("placet-mode-deny-unmatched", &["placet-modes", "wit-bindgen"]),
];

const HOST: &str = "placet";

/// The host gets its verdicts from the component; none of these may be linked into it.
const NOT_IN_HOST: [&str; 3] = ["placet-policy", "placet-component", "placet-modes"];

/// The dependency lists of the guest and the modes are closed.
pub(crate) fn allow_lists(metadata: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (package, allowed) in ALLOWED {
        let Some(dependencies) = dependencies(metadata, package) else {
            found.push(format!("{package}: the workspace has no such crate"));
            continue;
        };
        for (dependency, kind) in dependencies {
            if kind != "dev" && !allowed.contains(&dependency) {
                found.push(format!("{package} must not depend on `{dependency}`"));
            }
        }
    }
    found
}

/// The host does not link the guest, not even through another crate or in its own tests.
pub(crate) fn host_without_guest(metadata: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([HOST]);
    let mut queue = vec![HOST];
    while let Some(package) = queue.pop() {
        let Some(dependencies) = dependencies(metadata, package) else {
            if package == HOST {
                found.push(format!("{HOST}: the workspace has no such crate"));
            }
            continue;
        };
        for (dependency, kind) in dependencies {
            if NOT_IN_HOST.contains(&dependency) {
                found.push(format!("{package} brings `{dependency}` into the host"));
            } else if (kind != "dev" || package == HOST) && seen.insert(dependency) {
                queue.push(dependency);
            }
        }
    }
    found
}

/// Name and kind (`normal`, `build` or `dev`) of a workspace crate's direct dependencies.
fn dependencies<'a>(metadata: &'a Value, package: &str) -> Option<Vec<(&'a str, &'a str)>> {
    let packages = metadata.get("packages")?.as_array()?;
    let found = packages
        .iter()
        .find(|candidate| candidate.get("name").and_then(Value::as_str) == Some(package))?;
    let listed = found.get("dependencies")?.as_array()?;
    let pairs = listed.iter().filter_map(|dependency| {
        let name = dependency.get("name")?.as_str()?;
        Some((name, dependency.get("kind").and_then(Value::as_str).unwrap_or("normal")))
    });
    Some(pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A workspace in which every crate has exactly what it may have, and one dependency more.
    fn workspace(extra: (&str, &str, Value)) -> Value {
        let hosts: (&str, &[&str]) = (HOST, &["serde", "helper"]);
        let helper: (&str, &[&str]) = ("helper", &["serde"]);
        let packages: Vec<Value> = ALLOWED
            .into_iter()
            .chain([hosts, helper])
            .map(|(name, allowed)| {
                let mut listed: Vec<Value> =
                    allowed.iter().map(|name| json!({"name": name, "kind": null})).collect();
                if name == extra.0 {
                    listed.push(json!({"name": extra.1, "kind": extra.2}));
                }
                json!({"name": name, "dependencies": listed})
            })
            .collect();
        json!({ "packages": packages })
    }

    #[test]
    fn the_lists_themselves_are_fine() {
        let metadata = workspace(("", "", Value::Null));
        assert!(allow_lists(&metadata).is_empty());
        assert!(host_without_guest(&metadata).is_empty());
    }

    #[test]
    fn a_dependency_outside_the_list_is_found() {
        for (package, _) in ALLOWED {
            for kind in [Value::Null, json!("build")] {
                let metadata = workspace((package, "rand", kind));
                assert_eq!(
                    allow_lists(&metadata),
                    [format!("{package} must not depend on `rand`")]
                );
            }
            assert!(allow_lists(&workspace((package, "proptest", json!("dev")))).is_empty());
        }
    }

    #[test]
    fn a_missing_crate_is_found() {
        assert_eq!(allow_lists(&json!({"packages": []})).len(), ALLOWED.len());
        assert_eq!(host_without_guest(&json!({"packages": []})).len(), 1);
    }

    #[test]
    fn a_guest_in_the_host_is_found() {
        for guest in NOT_IN_HOST {
            for (through, kind) in
                [(HOST, Value::Null), (HOST, json!("dev")), ("helper", Value::Null)]
            {
                let metadata = workspace((through, guest, kind));
                assert_eq!(
                    host_without_guest(&metadata),
                    [format!("{through} brings `{guest}` into the host")]
                );
            }
        }
    }
}
