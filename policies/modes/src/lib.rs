//! What each of the four approval modes answers for an unmatched action.
//!
//! The functions are pure and compile natively, so that tests can hold a
//! component against them; the crates beside this one export them.

/// Bindings of the world `approval-mode`, shared by the four component crates.
#[allow(missing_docs, clippy::all, reason = "generated from wit/")]
pub mod wit {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "approval-mode",
        pub_export_macro: true,
        default_bindings_module: "placet_modes::wit",
        additional_derives: [PartialEq, Eq],
    });
}

use wit::exports::placet::policy::mode::{Answer, Decision, Summary};

fn answer(decision: Decision, reason: &str) -> Answer {
    Answer { decision, reason: reason.to_owned() }
}

/// `allowAll`: everything that nothing else refuses may run.
pub fn allow_all(_summary: &Summary) -> Answer {
    answer(Decision::Allow, "the mode allowAll allows what no rule refuses")
}

/// `promptUnmatched`: a person decides whatever no rule covers.
pub fn prompt_unmatched(_summary: &Summary) -> Answer {
    answer(Decision::Ask, "no rule, grant or known-safe entry covers it")
}

/// `onRequest`: a person decides what the agent asks about; confined work runs; the rest is refused.
pub fn on_request(summary: &Summary) -> Answer {
    if summary.asked_for {
        return answer(Decision::Ask, "the agent asked for approval");
    }
    match &summary.confined {
        Some(sandbox) => Answer {
            decision: Decision::Allow,
            reason: format!("it is confined by {sandbox} and was not asked about"),
        },
        None => answer(
            Decision::Deny,
            "nothing confines it and the agent did not ask; ask for approval to run it",
        ),
    }
}

/// `denyUnmatched`: whatever no rule covers is refused, without asking.
pub fn deny_unmatched(_summary: &Summary) -> Answer {
    answer(
        Decision::Deny,
        "no rule, grant or known-safe entry covers it and the mode denyUnmatched never asks",
    )
}

/// Exports one of the functions above as a mode component.
#[macro_export]
macro_rules! export_mode {
    ($function:path) => {
        struct Mode;

        impl $crate::wit::exports::placet::policy::mode::Guest for Mode {
            fn unmatched(
                summary: $crate::wit::exports::placet::policy::mode::Summary,
            ) -> Result<$crate::wit::exports::placet::policy::mode::Answer, String> {
                Ok($function(&summary))
            }
        }

        $crate::wit::export!(Mode with_types_in $crate::wit);
    };
}
