//! Which sessions a client is listed, and in which pages.

use super::outlet::Fault;
use crate::limits;
use crate::log::SessionRow;

/// A request for a list of sessions.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The page, as the one before it named it.
    pub cursor: Option<String>,
    /// How many sessions at most.
    pub limit: Option<u64>,
    /// Only sessions of this workspace.
    pub workspace: Option<String>,
    /// Only sessions that were used after this time, in milliseconds since 1970.
    pub updated_after_ms: Option<u64>,
}

impl Listing {
    /// The rows of the page, and the cursor of the next one.
    pub(super) fn page(
        &self,
        mut rows: Vec<SessionRow>,
    ) -> Result<(Vec<SessionRow>, Option<String>), Fault> {
        let limit = self.limit.unwrap_or(limits::SESSIONS_LISTED_DEFAULT);
        if limit == 0 || limit > limits::SESSIONS_LISTED_MAX {
            let most = limits::SESSIONS_LISTED_MAX;
            return Err(Fault::Invalid(format!("`limit` must be from 1 to {most}")));
        }
        rows.retain(|row| {
            row.head_sequence > 0
                && self.updated_after_ms.is_none_or(|after| row.updated_ms > after)
                && self
                    .workspace
                    .as_ref()
                    .is_none_or(|wanted| row.workspace.as_ref() == Some(wanted))
        });
        // Two that were used at the same time keep an order of their own.
        rows.sort_by(|a, b| place(b).cmp(&place(a)));
        if let Some(cursor) = &self.cursor {
            let after = parse(cursor).ok_or_else(|| Fault::MissingAnchor(cursor.clone()))?;
            rows.retain(|row| place(row) < (after.0, after.1.as_str()));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| more);
        let next = last.map(|row| format!("{}:{}", row.updated_ms, row.session));
        Ok((rows, next))
    }
}

fn place(row: &SessionRow) -> (u64, &str) {
    (row.updated_ms, &row.session)
}

fn parse(cursor: &str) -> Option<(u64, String)> {
    let (time, session) = cursor.split_once(':')?;
    Some((time.parse().ok()?, session.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::{Listing, SessionRow};

    fn rows() -> Vec<SessionRow> {
        let row = |session: &str, updated_ms, head_sequence| SessionRow {
            session: session.to_owned(),
            created_ms: 1,
            updated_ms,
            workspace: Some(session.to_owned()),
            head_sequence,
        };
        vec![row("a", 5, 1), row("b", 9, 1), row("c", 5, 1), row("empty", 9, 0), row("d", 7, 1)]
    }

    #[test]
    fn pages_hold_every_session_once_the_last_used_first() {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let listing = Listing { cursor, limit: Some(2), ..Listing::default() };
            let (page, next) = listing.page(rows()).unwrap();
            assert!(page.len() <= 2);
            found.extend(page.into_iter().map(|row| row.session));
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, ["b", "d", "c", "a"]);
    }

    #[test]
    fn what_is_asked_for_wrongly_is_refused() {
        for (cursor, limit) in
            [(None, Some(0)), (None, Some(201)), (Some("x"), None), (Some("x:a"), None)]
        {
            let cursor = cursor.map(str::to_owned);
            let listing = Listing { cursor: cursor.clone(), limit, ..Listing::default() };
            assert!(listing.page(rows()).is_err(), "{cursor:?} {limit:?}");
        }
        let listing = Listing { workspace: Some("d".to_owned()), ..Listing::default() };
        assert_eq!(listing.page(rows()).unwrap().0.len(), 1);
        let listing = Listing { updated_after_ms: Some(5), ..Listing::default() };
        assert_eq!(listing.page(rows()).unwrap().0.len(), 2);
    }
}
