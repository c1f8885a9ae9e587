//! What an approval is about, as records keep it.

use serde::{Deserialize, Serialize};

/// What is being approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Subject {
    Shell {
        command: String,
        workspace: Option<String>,
        stages: Vec<Stage>,
    },
    FileAccess {
        tool: String,
        /// As clients are shown it: relative inside the workspace, else absolute.
        path: String,
        /// The canonical path; empty where the host could not tell.
        canonical: String,
        /// `read` or `write`.
        access: String,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        origin: Option<Origin>,
    },
    Network {
        tool: String,
        host: String,
        /// None: every port.
        port: Option<u16>,
        protocol: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        origin: Option<Origin>,
    },
    UnixSocket {
        tool: String,
        /// The canonical path; as it was named where the host could not tell.
        path: String,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        origin: Option<Origin>,
    },
    Process {
        tool: String,
        target: String,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        origin: Option<Origin>,
    },
    Tool {
        tool: String,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        origin: Option<Origin>,
    },
    /// A kind that this evaluator does not know, by the word that the agent used.
    Unknown {
        word: String,
        tool: String,
    },
}

/// What triggered an action, as the agent says: shown, and never matched on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum Origin {
    ShellCommand { command: String },
    Url { url: String },
}

/// One stage of a shell subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stage {
    pub(crate) argv: Vec<String>,
    pub(crate) complete: bool,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) resolution: Resolution,
    /// The words that a lasting grant for this stage would cover, where it could have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) prefix: Vec<String>,
    /// Nothing may follow them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) exact: bool,
}

/// What has become of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(crate) enum Resolution {
    Unresolved,
    KnownSafe,
    PolicyAllow {
        diagnostic: String,
    },
    AllowOnce,
    /// Allowed, with a grant for every command that starts with these words.
    PolicyAmendment {
        #[serde(rename = "argvPrefix")]
        prefix: Vec<String>,
    },
}
