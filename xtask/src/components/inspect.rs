//! What a component imports and exports, held against what its role may.
//!
//! An imported interface that carries types only gives a component nothing to
//! call, so it does not count; everything else does.

use std::fmt;

use anyhow::{Context, ensure};
use wasmparser::component_types::ComponentEntityType;
use wasmparser::types::TypesRef;
use wasmparser::{Encoding, Parser, Payload, Validator};

const MODE: &str = "placet:policy/mode@0.1.0";
const EVALUATOR: &str = "placet:policy/evaluator@0.1.0";

/// What a component is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Exports the evaluator; may call the mode and nothing else.
    Policy,
    /// Exports the mode; may call nothing.
    Mode,
}

impl Role {
    fn may_call(self) -> &'static [&'static str] {
        match self {
            Self::Policy => &[MODE],
            Self::Mode => &[],
        }
    }

    fn exports(self) -> &'static str {
        match self {
            Self::Policy => EVALUATOR,
            Self::Mode => MODE,
        }
    }
}

/// The imports of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// What it can call.
    pub(crate) callable: Vec<String>,
    /// Interfaces of which it knows the types only.
    pub(crate) types_only: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: &[String]| match names {
            [] => "nothing".to_owned(),
            names => names.join(", "),
        };
        write!(out, "{}", list(&self.callable))?;
        if !self.types_only.is_empty() {
            write!(out, " (types only: {})", list(&self.types_only))?;
        }
        Ok(())
    }
}

/// Reads a component and fails unless it is what its role says.
pub(crate) fn inspect(bytes: &[u8], role: Role) -> anyhow::Result<Report> {
    let types = Validator::new().validate_all(bytes).context("it is not valid WebAssembly")?;
    let (imports, exports) = names(bytes)?;
    let mut report = Report { callable: Vec::new(), types_only: Vec::new() };
    for name in imports {
        let item = types
            .as_ref()
            .component_item_for_import(&name)
            .with_context(|| format!("its import `{name}` has no type"))?;
        if has_types_only(types.as_ref(), &item.ty) {
            report.types_only.push(name);
        } else {
            report.callable.push(name);
        }
    }
    let wanted = role.may_call();
    let extra: Vec<&str> =
        report.callable.iter().map(String::as_str).filter(|name| !wanted.contains(name)).collect();
    ensure!(extra.is_empty(), "it must not import {}", extra.join(", "));
    for name in wanted {
        ensure!(report.callable.iter().any(|import| import == name), "it does not import {name}");
    }
    ensure!(
        exports == [role.exports()],
        "it exports [{}] where it must export {} only",
        exports.join(", "),
        role.exports()
    );
    Ok(report)
}

/// The names of the outermost component's imports and exports, in order.
fn names(bytes: &[u8]) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let (mut imports, mut exports, mut depth) = (Vec::new(), Vec::new(), 0_u32);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::Version { encoding, .. } if depth == 0 => {
                ensure!(encoding == Encoding::Component, "it is a core module, not a component");
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    imports.push(import?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    exports.push(export?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok((imports, exports))
}

fn has_types_only(types: TypesRef<'_>, entity: &ComponentEntityType) -> bool {
    match entity {
        ComponentEntityType::Type { .. } => true,
        ComponentEntityType::Instance(id) => {
            types[*id].exports.values().all(|item| has_types_only(types, &item.ty))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty component: magic, version 13, layer 1.
    const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";
    /// A function type without parameters and result, then the import `x` of that type.
    const FUNCTION_IMPORT: [u8; 14] = [0x07, 5, 1, 0x40, 0, 1, 0, 0x0a, 6, 1, 0, 1, b'x', 1];

    fn complaint(bytes: &[u8], role: Role) -> String {
        inspect(bytes, role).map_or_else(|error| format!("{error:#}"), |report| report.to_string())
    }

    #[test]
    fn a_component_without_the_export_is_refused() {
        assert!(complaint(&COMPONENT, Role::Mode).contains("it must export placet:policy/mode"));
        assert!(
            complaint(&COMPONENT, Role::Policy).contains("it does not import placet:policy/mode")
        );
    }

    #[test]
    fn a_function_import_is_refused() {
        let mut bytes = COMPONENT.to_vec();
        bytes.extend(FUNCTION_IMPORT);
        bytes.push(0);
        for role in [Role::Mode, Role::Policy] {
            assert_eq!(complaint(&bytes, role), "it must not import x");
        }
    }

    #[test]
    fn what_is_no_component_is_refused() {
        let core_module = *b"\0asm\x01\0\0\0";
        assert!(complaint(&core_module, Role::Mode).contains("a core module, not a component"));
        assert!(complaint(b"text", Role::Mode).contains("not valid WebAssembly"));
    }
}
