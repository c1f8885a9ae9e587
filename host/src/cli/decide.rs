//! `placet decide`: decides one approval through the host that holds its session.

use super::reach::{Reach, listed, within};
use super::{EXIT_FAILED, EXIT_OK, EXIT_PENDING, EXIT_REFUSED, EXIT_SETTLED, EXIT_USAGE};
use super::{Failure, from_outside, runtime, show};
use crate::client::{Client, ClientError, Refusal};
use crate::log::{HostRow, Log as _, Mark};
use serde_json::{Value, json};

/// Decide an approval that waits
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Decide {
    /// The approval; `placet pending` lists them
    approval: String,
    /// A choice of its menu; without one the menu is shown
    choice: Option<String>,
    /// The stage that is decided; needed where more than one waits
    #[arg(long, value_name = "N", requires = "choice")]
    stage: Option<u64>,
    /// A word to the agent, where the choice takes it
    #[arg(long, value_name = "TEXT", requires = "choice")]
    feedback: Option<String>,
}

const HELP: &str = "\
Examples:
  placet decide APPROVAL                                  show it, with its menu
  placet decide APPROVAL allow_once
  placet decide APPROVAL allow_once --stage 2
  placet decide APPROVAL abort --feedback 'use a branch'

Exit codes:
   0  decided                              10  refused: this is a command that placet runs
   2  no such approval, choice or stage    12  nobody can be asked; it stays pending
   3  configuration or log                 14  somebody else decided first";

impl Decide {
    pub(super) fn run(self) -> Result<u8, Failure> {
        from_outside("decides nothing")?;
        let reach = Reach::open()?.map_err(|folder| {
            let why = format!("nothing is pending: there is no log in {} yet", folder.display());
            Failure::new(EXIT_USAGE, why)
        })?;
        runtime()?.block_on(self.decide(reach))
    }

    async fn decide(self, mut reach: Reach) -> Result<u8, Failure> {
        let session = self.session(&mut reach).await?;
        let Some(holder) = reach.log.holder(&session).await? else {
            if self.choice.is_none() {
                let (requests, _) = reach.session(&session).await?;
                requests.iter().filter(|request| self.is_about(request)).for_each(show::print);
            }
            let why = format!(
                "no host holds the session {session}, so that nobody can be told; \
                 `placet run --session {session}` asks again, under a new id"
            );
            return Err(Failure::new(EXIT_PENDING, why));
        };
        let mut client = connect(&reach, &holder).await?;
        let requests = listed(&mut client, &session).await.map_err(|e| self.failure(e))?;
        let Some(request) = requests.into_iter().find(|request| self.is_about(request)) else {
            return Err(self.settled(&mut reach, &session).await);
        };
        let Some(choice) = &self.choice else {
            show::print(&request);
            let why = "name the choice: placet decide APPROVAL CHOICE";
            return Err(Failure::new(EXIT_USAGE, why));
        };
        self.check_stage(&request)?;
        let subscribed = client.request("view/subscribe", json!({"sessionId": session}));
        within(subscribed).await.unwrap_or(Err(ClientError::Ended)).map_err(|e| self.failure(e))?;
        let decided =
            within(client.decide(&session, &request, choice, self.feedback.as_deref())).await;
        match decided.unwrap_or(Err(ClientError::Ended)) {
            Ok(ack) => self.outcome(&mut client, &ack).await,
            Err(error) => {
                if matches!(&error, ClientError::Refused(r) if r.kind == "approvalChoiceInvalid") {
                    show::print(&request);
                }
                Err(self.failure(error))
            }
        }
    }

    fn is_about(&self, request: &Value) -> bool {
        request["approvalId"] == self.approval.as_str()
    }

    /// The session that the approval is pending in.
    async fn session(&self, reach: &mut Reach) -> Result<String, Failure> {
        let rows = reach.log.pending().await?;
        if let Some(row) = rows.into_iter().find(|row| row.approval == self.approval) {
            return Ok(row.session);
        }
        for row in reach.log.sessions().await? {
            let headers = reach.log.headers(&row.session).await?;
            let mut marks = headers.iter().flat_map(|header| &header.marks);
            if marks
                .any(|mark| matches!(mark, Mark::Opens { approval } if *approval == self.approval))
            {
                return Err(self.settled(reach, &row.session).await);
            }
        }
        let approval = show::visible(&self.approval);
        let why = format!("there is no approval {approval}; `placet pending` lists what waits");
        Err(Failure::new(EXIT_USAGE, why))
    }

    /// Says how an approval was resolved, that is pending no more.
    async fn settled(&self, reach: &mut Reach, session: &str) -> Failure {
        let resolved = reach.resolved(session, &self.approval).await.unwrap_or_default();
        let word = |name: &str| resolved[name].as_str().map_or("?".to_owned(), show::visible);
        let why = format!(
            "the approval {} was resolved already: {} by {}; `placet log show {session}` shows more",
            show::visible(&self.approval),
            word("decision"),
            word("resolvedBy"),
        );
        Failure::new(EXIT_SETTLED, why)
    }

    /// The stage must be the one that the person means.
    fn check_stage(&self, request: &Value) -> Result<(), Failure> {
        let stages = request["subject"]["stages"].as_array().map_or(&[] as &[Value], Vec::as_slice);
        let current = stages
            .iter()
            .find(|stage| stage["requirementId"] == request["currentRequirementId"])
            .and_then(|stage| stage["position"].as_u64())
            .unwrap_or(1);
        let waiting =
            stages.iter().filter(|stage| stage["resolution"]["kind"] == "unresolved").count();
        let why = match self.stage {
            Some(stage) if stage != current => {
                format!("stage {stage} is not the one to decide; that is stage {current}")
            }
            None if waiting > 1 => format!(
                "{waiting} stages wait for a decision; say which one you decide: --stage {current}"
            ),
            _ => return Ok(()),
        };
        show::print(request);
        Err(Failure::new(EXIT_USAGE, why))
    }

    /// What became of the decision.
    async fn outcome(&self, client: &mut Client, ack: &Value) -> Result<u8, Failure> {
        let expected =
            if ack["terminal"] == true { "approval/resolved" } else { "approval/updated" };
        let told = within(async {
            loop {
                let message = client.next().await?;
                if message.method == expected && self.is_about(&message.params) {
                    return Ok::<Value, ClientError>(message.params);
                }
            }
        });
        let told = told.await.unwrap_or(Err(ClientError::Ended)).map_err(|error| {
            let why = format!("it was decided, but what became of it is not told: {error}");
            Failure::new(EXIT_FAILED, why)
        })?;
        let word = |value: &Value| show::visible(value.as_str().unwrap_or_default());
        if expected == "approval/updated" {
            show::line(format_args!(
                "decided: {}; this is left:",
                word(&told["change"]["decision"])
            ));
            show::print(&told);
            return Ok(EXIT_OK);
        }
        show::line(format_args!(
            "decided: {} ({})",
            word(&told["decision"]),
            word(&told["policyResult"])
        ));
        if told["amendment"].is_object() {
            let rule = word(&told["amendment"]["rulePreview"]);
            show::line(format_args!(
                "a rule came of it ({}): {rule}",
                word(&told["amendment"]["durability"])
            ));
        }
        Ok(EXIT_OK)
    }

    /// An error of the wire as a sentence with its exit code.
    fn failure(&self, error: ClientError) -> Failure {
        let code = match &error {
            ClientError::Refused(Refusal { kind, .. }) => match kind.as_str() {
                "approvalAlreadyResolved" | "approvalRequirementStale" => EXIT_SETTLED,
                "approvalChoiceInvalid" | "approvalNotFound" => EXIT_USAGE,
                "peerRefused" => EXIT_REFUSED,
                "sessionNotLoaded" => EXIT_PENDING,
                other => super::refusal_code(other),
            },
            ClientError::Ended | ClientError::Protocol(_) => EXIT_FAILED,
        };
        Failure::new(code, show::visible(&error.to_string()))
    }
}

async fn connect(reach: &Reach, holder: &HostRow) -> Result<Client, Failure> {
    reach.connect(holder).await.map_err(|why| {
        let why = format!(
            "the host {} holds the session and cannot be reached: {}; decide it where its \
             client is, or when that has ended",
            holder.host,
            show::visible(&why)
        );
        Failure::new(EXIT_PENDING, why)
    })
}
