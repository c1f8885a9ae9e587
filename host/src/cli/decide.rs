//! `placet decide`: decides one approval through the host that holds its session.

use super::reach::{Reach, listed, within};
use super::{EXIT_FAILED, EXIT_OK, EXIT_PENDING, EXIT_REFUSED, EXIT_SETTLED, EXIT_USAGE};
use super::{Failure, runtime, show};
use crate::client::{Client, ClientError, Refusal};
use crate::exec::processes::is_inside_an_action;
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
        if is_inside_an_action(std::process::id()) != Some(false) {
            let why = "refused: this is a command that placet runs, and such a command decides \
                       nothing; do it from outside";
            return Err(Failure::new(EXIT_REFUSED, why));
        }
        let reach = Reach::open()?.map_err(|folder| {
            let why = format!("nothing is pending: there is no log in {} yet", folder.display());
            Failure::new(EXIT_USAGE, why)
        })?;
        runtime()?.block_on(self.decide(reach))
    }

    async fn decide(self, mut reach: Reach) -> Result<u8, Failure> {
        let session = self.session(&reach).await?;
        let Some(holder) = reach.log.holder(&session).await? else {
            if self.choice.is_none() {
                let (requests, _) = reach.session(&session).await?;
                requests.iter().filter(|request| self.is_about(request)).for_each(print);
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
            return Err(self.settled(&session));
        };
        let Some(choice) = &self.choice else {
            print(&request);
            let why = "name the choice: placet decide APPROVAL CHOICE";
            return Err(Failure::new(EXIT_USAGE, why));
        };
        self.check_stage(&request)?;
        let subscribed = client.request("view/subscribe", json!({"sessionId": session}));
        within(subscribed).await.unwrap_or(Err(ClientError::Ended)).map_err(|e| self.failure(e))?;
        let mut params = json!({
            "sessionId": session, "approvalId": self.approval, "choiceId": choice,
            "requirementId": request["currentRequirementId"],
        });
        if let (Value::Object(members), Some(feedback)) = (&mut params, &self.feedback) {
            members.insert("feedback".to_owned(), json!(feedback));
        }
        let decided = within(client.command("approval/decide", params)).await;
        match decided.unwrap_or(Err(ClientError::Ended)) {
            Ok(ack) => self.outcome(&mut client, &ack).await,
            Err(error) => {
                if matches!(&error, ClientError::Refused(r) if r.kind == "approvalChoiceInvalid") {
                    print(&request);
                }
                Err(self.failure(error))
            }
        }
    }

    fn is_about(&self, request: &Value) -> bool {
        request["approvalId"] == self.approval.as_str()
    }

    /// The session that the approval is pending in.
    async fn session(&self, reach: &Reach) -> Result<String, Failure> {
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
                return Err(self.settled(&row.session));
            }
        }
        let approval = show::visible(&self.approval);
        let why = format!("there is no approval {approval}; `placet pending` lists what waits");
        Err(Failure::new(EXIT_USAGE, why))
    }

    fn settled(&self, session: &str) -> Failure {
        let why = format!(
            "the approval {} was resolved already; `placet log show {session}` shows how",
            show::visible(&self.approval)
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
        print(request);
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
            println!("decided: {}; this is left:", word(&told["change"]["decision"]));
            print(&told);
            return Ok(EXIT_OK);
        }
        println!("decided: {} ({})", word(&told["decision"]), word(&told["policyResult"]));
        if told["amendment"].is_object() {
            let rule = word(&told["amendment"]["rulePreview"]);
            println!("a rule came of it ({}): {rule}", word(&told["amendment"]["durability"]));
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

fn print(request: &Value) {
    for line in show::request(request) {
        println!("  {line}");
    }
    for line in show::menu(request, show::choice_id) {
        println!("  choice {line}");
    }
}
