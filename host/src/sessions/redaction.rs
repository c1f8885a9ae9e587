//! Erasing bodies of a session that this host holds but has not loaded.
//!
//! The component says what may go and writes the record of it. That record is
//! durable before the first body is erased: cut short in between, the same again
//! finishes it.

use super::advance::{self, Appended, Ground, Question};
use super::hub::{Hub, fold, log_fault};
use super::ledger::Ledger;
use super::opening;
use super::outlet::Fault;
use crate::engine::types::{Erasure, Input, Redaction};
use crate::limits;
use crate::log::Lease;
use std::sync::Arc;

impl Hub {
    /// Which of the wanted bodies of a session can be erased, and what goes with them.
    ///
    /// # Errors
    /// A fault that says why the session cannot be read.
    pub async fn erasable(&self, session: &str, wanted: Vec<u64>) -> Result<Erasure, Fault> {
        let records = super::history::records(self, session, 0).await?;
        self.engine.erasable(records, wanted).await?.map_err(Fault::unreadable)
    }

    /// Records that these bodies are erased, then erases them. The last record that says so.
    ///
    /// # Errors
    /// A fault; what was erased until then is recorded.
    pub async fn erase(
        &self,
        lease: &Lease,
        sequences: &[u64],
        client: &str,
    ) -> Result<u64, Fault> {
        let session = &lease.session;
        let records = super::history::records(self, session, 0).await?;
        let mut state: Arc<[u8]> = fold(self, records).await?.into();
        let read = |error| log_fault(session, &error);
        let head = self.log.head(session).await.map_err(read)?;
        let (mut version, mut last) = (head.version, head.sequence);
        for named in sequences.chunks(limits::REDACTED_RECORDS_MAX) {
            let redaction = Redaction { client: client.to_owned(), sequences: named.to_vec() };
            let question = Question::Step(Some(state), Box::new(Input::Redact(redaction)));
            let outcome =
                advance::ask(self, session, &Ground::default(), &Ledger::default(), &question)
                    .await
                    .map_err(|halted| opening::fault(halted, ""))?;
            version = match advance::append(self, lease, &version, &outcome.records).await {
                Appended::Durable(version) => version,
                other => return Err(advance::append_fault(session, &other)),
            };
            state = outcome.state.into();
            last = outcome.overview.head;
        }
        self.log.erase(lease, sequences).await.map_err(read)?;
        Ok(last)
    }
}
