//! The four modes, their order of authority, and the clamp on a mode's answer.

use crate::limits;
use crate::types::{Answer, Decision, Summary};
use serde::{Deserialize, Serialize};

/// A mode by its wire name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Mode {
    AllowAll,
    PromptUnmatched,
    OnRequest,
    DenyUnmatched,
}

impl Mode {
    pub(crate) const ALL: [Mode; 4] =
        [Mode::AllowAll, Mode::PromptUnmatched, Mode::OnRequest, Mode::DenyUnmatched];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::AllowAll => "allowAll",
            Mode::PromptUnmatched => "promptUnmatched",
            Mode::OnRequest => "onRequest",
            Mode::DenyUnmatched => "denyUnmatched",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Whether this mode is at or below a seal.
    ///
    /// The order is partial: `onRequest` is incomparable with `promptUnmatched`
    /// and `denyUnmatched`, so "not above" would be the wrong test.
    pub(crate) fn within(self, seal: Mode) -> bool {
        use Mode::{AllowAll, DenyUnmatched, PromptUnmatched};
        self == seal || seal == AllowAll || (seal == PromptUnmatched && self == DenyUnmatched)
    }

    /// The greatest mode at or below both, if there is one.
    pub(crate) fn meet(a: Option<Mode>, b: Option<Mode>) -> Option<Mode> {
        let (a, b) = (a?, b?);
        if a.within(b) {
            Some(a)
        } else if b.within(a) {
            Some(b)
        } else {
            None
        }
    }

    /// Whether a mode of this name may give such an answer for such an action.
    fn may_answer(self, decision: Decision, summary: &Summary) -> bool {
        match self {
            Mode::AllowAll => true,
            Mode::PromptUnmatched => decision != Decision::Allow,
            Mode::OnRequest => {
                decision != Decision::Allow || (summary.confined.is_some() && !summary.asked_for)
            }
            Mode::DenyUnmatched => decision == Decision::Deny,
        }
    }

    /// The mode's answer, or the sentence that says why it is not taken.
    pub(crate) fn clamp(
        self,
        answer: Result<Answer, String>,
        summary: &Summary,
    ) -> Result<Answer, (Option<Answer>, String)> {
        let answer = answer.map(|answer| Answer { reason: clip(answer.reason), ..answer });
        match answer.map_err(clip) {
            Err(fault) => Err((None, format!("the mode {} failed: {fault}", self.name()))),
            Ok(answer) if self.may_answer(answer.decision, summary) => Ok(answer),
            Ok(answer) => {
                let why = format!(
                    "the mode component behind {} answered {}, which that name may not answer here",
                    self.name(),
                    word(answer.decision)
                );
                Err((Some(answer), why))
            }
        }
    }
}

/// As much of a component's text as goes into a record.
fn clip(text: String) -> String {
    if text.len() <= limits::MODE_TEXT_BYTES_MAX {
        return text;
    }
    let end = text.floor_char_boundary(limits::MODE_TEXT_BYTES_MAX);
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// A decision's word.
pub(crate) fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

#[cfg(test)]
mod tests {
    use super::Mode::{self, AllowAll, DenyUnmatched, OnRequest, PromptUnmatched};

    #[test]
    fn order_is_the_table_of_16_3() {
        let table = [
            (AllowAll, [AllowAll, PromptUnmatched, OnRequest, DenyUnmatched].as_slice()),
            (PromptUnmatched, &[PromptUnmatched, DenyUnmatched]),
            (DenyUnmatched, &[DenyUnmatched]),
            (OnRequest, &[OnRequest]),
        ];
        for (seal, reachable) in table {
            for mode in Mode::ALL {
                assert_eq!(mode.within(seal), reachable.contains(&mode), "{mode:?} under {seal:?}");
            }
        }
    }

    #[test]
    fn meet_is_none_where_nothing_is_common() {
        assert_eq!(Mode::meet(Some(OnRequest), Some(DenyUnmatched)), None);
        assert_eq!(Mode::meet(Some(OnRequest), Some(PromptUnmatched)), None);
        assert_eq!(Mode::meet(Some(AllowAll), Some(OnRequest)), Some(OnRequest));
        assert_eq!(Mode::meet(Some(DenyUnmatched), Some(PromptUnmatched)), Some(DenyUnmatched));
        assert_eq!(Mode::meet(None, Some(AllowAll)), None);
    }
}
