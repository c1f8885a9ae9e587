//! Grants that outlive their session, between the decision and the store that keeps them.
//!
//! The terminal record holds the grant; then the host keeps it, under the approval's id,
//! so that keeping it twice is keeping it once; then a record says what became of it.
//! Until that record a recovery gives it to the host again.

use super::{Draft, Needs, Stop, misuse, settle};
use crate::codec::{self, Body, Request};
use crate::describe;
use crate::state::Unsaved;
use crate::types::{Effect, GrantKept, LastingGrant, Mark};

/// Has the host keep the grant that an approval has just given, if it gave one.
pub(super) fn keep_new(draft: &mut Draft<'_>, approval: &str) -> Result<(), Stop> {
    let unsaved = draft.state()?.unsaved.iter().find(|unsaved| unsaved.approval == approval);
    match unsaved.cloned() {
        Some(unsaved) => keep(draft, &unsaved),
        None => Ok(()),
    }
}

/// Has the host keep a grant.
pub(crate) fn keep(draft: &mut Draft<'_>, unsaved: &Unsaved) -> Result<(), Stop> {
    let record = draft.drafted(unsaved.sequence)?;
    let given_ms = record.header.time_ms;
    let Body::ApprovalResolved { approval, lasting: Some(lasting), client, .. } =
        codec::decode(record)?
    else {
        return Err(misuse(format!("record {} gives no grant", unsaved.sequence)));
    };
    draft.effects.push(Effect::Keep(LastingGrant {
        approval_id: approval,
        root: lasting.root,
        text: lasting.text,
        preview: lasting.preview,
        given_ms,
        client: client.unwrap_or_default(),
        mode: lasting.mode.map(|mode| mode.name().to_owned()).unwrap_or_default(),
    }));
    Ok(())
}

/// Records what became of a grant; one that is kept settles what else it covers.
pub(super) fn kept(draft: &mut Draft<'_>, kept: &GrantKept) -> Result<(), Stop> {
    let approval = kept.approval_id.clone();
    let unsaved = draft.state()?.unsaved.iter().find(|unsaved| unsaved.approval == approval);
    let unsaved = unsaved.cloned();
    let unsaved =
        unsaved.ok_or_else(|| misuse(format!("no grant of {approval} waits to be kept")))?;
    let mut needs = Needs::default();
    needs.of(draft.record(unsaved.opened))?;
    needs.of(draft.record(unsaved.sequence))?;
    needs.ask()?;
    let (Body::ApprovalOpened { request, .. }, Body::ApprovalResolved { evidence, item, .. }) = (
        codec::decode(draft.record(unsaved.opened)?)?,
        codec::decode(draft.record(unsaved.sequence)?)?,
    ) else {
        return Err(misuse(format!("the records of {approval} are others")));
    };
    let stages: Vec<codec::Resolution> =
        evidence.into_iter().map(|stage| stage.resolution).collect();
    let Request { subject, current, .. } = request;
    let subject = describe::subject_now(&subject, &stages);
    let body = match &kept.failure {
        None => Body::GrantSaved { approval, item, subject, current },
        Some(why) => Body::GrantFailed { approval, item, subject, current, reason: why.clone() },
    };
    draft.push(&body, vec![Mark::View])?;
    if kept.failure.is_none() { settle::siblings(draft) } else { Ok(()) }
}
