//! `placet pending`: what waits for a decision, over all sessions of the home.

use super::reach::{Holder, Reach};
use super::{EXIT_CONFIGURATION, Failure, runtime, show};
use crate::date::rfc3339;
use crate::log::{Log as _, PendingRow};
use serde_json::{Value, json};

/// List what waits for a decision, over all sessions
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Pending {
    /// Print one JSON object, with the requests as the wire has them
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Examples:
  placet pending                    all that waits, and who holds it
  placet decide APPROVAL            one of them, with its menu
  placet decide APPROVAL CHOICE     decide it
  placet pending --json | jq -r '.approvals[].approvalId'";

/// One approval that waits.
struct Waiting {
    approval: String,
    session: String,
    since: Option<String>,
    holder: Option<Holder>,
    request: Value,
}

impl Pending {
    pub(super) fn run(self) -> Result<(), Failure> {
        let mut reach = match Reach::open()? {
            Ok(reach) => reach,
            Err(folder) => {
                self.print(&[]);
                show::tell(format_args!("placet: there is no log in {} yet", folder.display()));
                return Ok(());
            }
        };
        runtime()?.block_on(async {
            let mut waiting = Vec::new();
            let mut unreadable = 0_usize;
            let rows = reach.log.pending().await?;
            let mut sessions: Vec<&str> = rows.iter().map(|row| row.session.as_str()).collect();
            sessions.dedup();
            for session in sessions {
                match of_session(&mut reach, session, &rows).await {
                    Ok(found) => waiting.extend(found),
                    Err(failure) => {
                        show::tell(format_args!(
                            "placet: session {session}: {}",
                            show::visible(&failure.message)
                        ));
                        unreadable = unreadable.saturating_add(1);
                    }
                }
            }
            self.print(&waiting);
            match unreadable {
                0 => Ok(()),
                _ => {
                    let why = format!("what waits in {unreadable} sessions cannot be shown");
                    Err(Failure::new(EXIT_CONFIGURATION, why))
                }
            }
        })
    }

    fn print(&self, waiting: &[Waiting]) {
        if self.json {
            let approvals: Vec<Value> = waiting.iter().map(object).collect();
            show::line(format_args!("{}", json!({"approvals": approvals})));
            return;
        }
        for one in waiting {
            text(one);
        }
        match waiting.len() {
            0 => show::line("nothing is pending"),
            1 => show::line("1 approval is pending"),
            count => show::line(format_args!("{count} approvals are pending")),
        }
    }
}

async fn of_session(
    reach: &mut Reach,
    session: &str,
    rows: &[PendingRow],
) -> Result<Vec<Waiting>, Failure> {
    // The holder is asked once for each session, and told with each of its approvals.
    let (requests, holder) = reach.session(session).await?;
    let mut waiting = Vec::new();
    for request in requests {
        let approval = request["approvalId"].as_str().unwrap_or_default().to_owned();
        let row = rows.iter().find(|row| row.approval == approval && row.session == session);
        let since = match row {
            Some(row) => reach.since(row).await.map(rfc3339),
            None => None,
        };
        let session = session.to_owned();
        waiting.push(Waiting { approval, session, since, holder: holder.clone(), request });
    }
    Ok(waiting)
}

fn object(waiting: &Waiting) -> Value {
    let holder = waiting.holder.as_ref();
    json!({
        "approvalId": waiting.approval, "sessionId": waiting.session, "since": waiting.since,
        "holder": holder.map(|holder| json!({"host": holder.host, "unreachable": holder.silent})),
        "request": waiting.request,
    })
}

fn text(waiting: &Waiting) {
    let Waiting { approval, session, since, holder, request } = waiting;
    show::line(format_args!("{}", show::visible(approval)));
    show::line(format_args!("  session: {}", show::visible(session)));
    show::line(format_args!("  since: {}", since.as_deref().unwrap_or("(not known)")));
    match holder {
        Some(Holder { host, silent: None }) => {
            show::line(format_args!(
                "  held by: host {host}; decide it with `placet decide {approval} CHOICE`"
            ));
        }
        Some(Holder { host, silent: Some(why) }) => {
            show::line(format_args!(
                "  held by: host {host}, which cannot be reached: {}",
                show::visible(why)
            ));
        }
        None => show::line(format_args!(
            "  held by: nobody; `placet run --session {session}` asks again, under a new id"
        )),
    }
    show::print(request);
    show::line("");
}
