//! What goes over the life line: the job one way, the report the other.
//!
//! The job is a length (four bytes, big endian) and that much JSON. After it the
//! host may send [`INTERRUPT`]; the end of the stream means that the host is
//! gone. The report is one line of JSON.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};

use crate::limits::EXEC_JOB_BYTES_MAX;

/// The byte that asks the supervisor to end the command.
pub(super) const INTERRUPT: u8 = b'i';

/// A job as it is sent.
#[derive(Serialize, Deserialize)]
pub(super) struct WireJob {
    pub(super) command: String,
    pub(super) cwd: Text,
    pub(super) environment: Vec<(Text, Text)>,
}

/// Operating system text: a string where it is UTF-8, else its bytes.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Text {
    Utf8(String),
    Bytes(Vec<u8>),
}

impl From<&OsStr> for Text {
    fn from(text: &OsStr) -> Self {
        match text.to_str() {
            Some(utf8) => Self::Utf8(utf8.to_owned()),
            None => Self::Bytes(text.as_bytes().to_vec()),
        }
    }
}

impl From<Text> for OsString {
    fn from(text: Text) -> Self {
        match text {
            Text::Utf8(utf8) => utf8.into(),
            Text::Bytes(bytes) => Self::from_vec(bytes),
        }
    }
}

/// How a command ended.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signal: Option<i32>,
    /// It was ended because the host asked for it.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) interrupted: bool,
    /// It could not be started: a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// Processes that could not be ended (such as those of another user).
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) survivors: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

impl WireJob {
    /// The bytes to send, or `None` where they exceed [`EXEC_JOB_BYTES_MAX`].
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let json = serde_json::to_vec(self).ok()?;
        let length = u32::try_from(json.len()).ok().filter(|_| json.len() <= EXEC_JOB_BYTES_MAX)?;
        let mut sent = Vec::with_capacity(4 + json.len());
        sent.extend_from_slice(&length.to_be_bytes());
        sent.extend_from_slice(&json);
        Some(sent)
    }

    /// Reads a job from the life line.
    pub(super) fn read(line: &mut impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        line.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > EXEC_JOB_BYTES_MAX {
            return Err(io::Error::other("the job is too large"));
        }
        let mut json = vec![0; length];
        line.read_exact(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_job_arrives_as_it_was_sent() {
        let odd = OsString::from_vec(vec![b'a', 0xff]);
        let job = WireJob {
            command: "echo \u{1}é".into(),
            cwd: OsStr::new("/tmp").into(),
            environment: vec![(OsStr::new("K").into(), odd.as_os_str().into())],
        };
        let sent = job.encode().unwrap();
        let read = WireJob::read(&mut sent.as_slice()).unwrap();
        assert_eq!(read.command, "echo \u{1}é");
        let (name, value) = read.environment.into_iter().next().unwrap();
        assert_eq!((OsString::from(name), OsString::from(value)), ("K".into(), odd));
    }

    #[test]
    fn an_absurd_length_is_refused_before_it_is_allocated() {
        assert!(WireJob::read(&mut [0xff; 8].as_slice()).is_err());
        assert!(WireJob::read(&mut [0, 0, 0, 9, b'{'].as_slice()).is_err());
    }

    #[test]
    fn a_report_is_small() {
        let report = Report { exit_code: Some(0), ..Report::default() };
        assert_eq!(serde_json::to_string(&report).unwrap(), r#"{"exitCode":0}"#);
        assert_eq!(serde_json::from_str::<Report>(r#"{"exitCode":0}"#).unwrap(), report);
    }
}
