//! The one place where the contract in `wit/` becomes host code.

#[allow(missing_docs, clippy::all, unreachable_pub, reason = "generated from wit/")]
mod generated {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "policy",
        additional_derives: [PartialEq, Eq],
    });
}

#[allow(missing_docs, clippy::all, unreachable_pub, reason = "generated from wit/")]
mod generated_mode {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "approval-mode",
    });
}

pub(super) use generated::placet::policy::mode::{self as mode_import};
pub(super) use generated::{Policy, PolicyPre};
pub(super) use generated_mode::exports::placet::policy::mode as mode_export;
pub(super) use generated_mode::{ApprovalMode, ApprovalModePre};

/// The types of the contract, by their WIT names.
pub mod types {
    pub use super::generated::placet::policy::mode::{Answer, Decision, Summary};
    pub use super::generated::placet::policy::types::*;
}
