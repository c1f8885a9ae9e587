//! Every frame that this process sends, written down for tests that decode them all.
//!
//! `PLACET_FRAMES` names a folder. Each connection has a file of its own there
//! and appends one line a frame, `{"method": M, "frame": F}`: F is the text that
//! goes out, M its method, or for an answer the method of the request that it
//! answers (null where the request could not be read). Nothing that goes wrong
//! here is told or felt by the connection.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

static FOLDER: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os("PLACET_FRAMES").map(PathBuf::from));

/// What one connection sends; without a folder it does nothing.
pub(super) struct Trace(Option<Mutex<Inner>>);

struct Inner {
    file: File,
    /// The methods of the requests that wait for their answer, by the text of their id.
    asked: HashMap<String, String>,
}

impl Trace {
    /// A trace as the environment of this process wants it.
    pub(super) fn from_environment() -> Trace {
        Trace::new(FOLDER.as_deref())
    }

    fn new(folder: Option<&Path>) -> Trace {
        let file = folder.and_then(|folder| {
            std::fs::create_dir_all(folder).ok()?;
            let name = format!("{}-{}.ndjson", std::process::id(), uuid::Uuid::new_v4());
            OpenOptions::new().create(true).append(true).open(folder.join(name)).ok()
        });
        Trace(file.map(|file| Mutex::new(Inner { file, asked: HashMap::new() })))
    }

    /// A request came in.
    pub(super) fn asked(&self, id: &Value, method: &str) {
        if let Some(inner) = &self.0 {
            let mut inner = inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.asked.insert(id.to_string(), method.to_owned());
        }
    }

    /// A frame goes out. It is in the file before anybody can read it, also when
    /// the process is killed right behind.
    pub(super) fn sent(&self, frame: &str) {
        let Some(inner) = &self.0 else { return };
        let mut inner = inner.lock().unwrap_or_else(PoisonError::into_inner);
        let parsed: Value = serde_json::from_str(frame).unwrap_or(Value::Null);
        let method = match parsed.get("method") {
            Some(own) => own.clone(),
            None => {
                let id = parsed.get("id").unwrap_or(&Value::Null).to_string();
                json!(inner.asked.remove(&id))
            }
        };
        let line = format!("{{\"method\":{method},\"frame\":{frame}}}\n");
        let _ = inner.file.write_all(line.as_bytes());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn an_answer_carries_the_method_of_its_request() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("frames");
        let trace = Trace::new(Some(&folder));
        trace.asked(&json!(1), "turn/start");
        trace.asked(&json!("1"), "view/page");
        let frames = [
            r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"turn/started","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"approval/request","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{}}"#,
        ];
        frames.iter().for_each(|frame| trace.sent(frame));
        let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        let text = std::fs::read_to_string(file).unwrap();
        let methods =
            ["\"view/page\"", "\"turn/started\"", "\"turn/start\"", "\"approval/request\""];
        let expected: Vec<String> = methods
            .iter()
            .chain(&["null"])
            .zip(frames)
            .map(|(method, frame)| format!("{{\"method\":{method},\"frame\":{frame}}}"))
            .collect();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_folder_that_cannot_be_made_disturbs_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let trace = Trace::new(Some(&file.path().join("below-a-file")));
        trace.asked(&json!(1), "turn/start");
        trace.sent("{}");
        assert!(trace.0.is_none());
    }
}
