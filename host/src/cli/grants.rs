//! `placet grants`: the grants that outlive their session, to list and to revoke.

use super::reach::Reach;
use super::{EXIT_CONFIGURATION, EXIT_USAGE, Failure, from_outside, runtime, show};
use crate::date::rfc3339;
use crate::home::Home;
use crate::log::{GrantRow, GrantStore as _, SqliteLog, WhichGrants};
use crate::reviewer::grants_root;
use crate::sessions::system_now_ms;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// List the grants that outlive their session, or revoke them
#[derive(Debug, clap::Subcommand)]
pub(super) enum Grants {
    /// List the grants in force: what each covers, where, and who gave it
    #[command(after_help = LIST)]
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Revoke grants, at once and in every host of the home
    #[command(after_help = REVOKE)]
    Revoke(Revoke),
}

/// Which grants are revoked.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Revoke {
    /// The grants, by the ids that `placet grants list` shows
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// All that count in a workspace: its repository with all worktrees
    #[arg(long, value_name = "PATH")]
    workspace: Option<PathBuf>,
    /// All
    #[arg(long)]
    all: bool,
}

const LIST: &str = "\
Examples:
  placet grants list
  placet grants list --json | jq -r '.grants[].id'

Grants for one session are not listed: they end with it and are nowhere but in its log.";

const REVOKE: &str = "\
Examples:
  placet grants revoke ID
  placet grants revoke ID ID
  placet grants revoke --workspace .
  placet grants revoke --all

Whatever begins after this command has ended is asked about again. What has begun goes on.

Exit codes:
  0  revoked, or there was nothing to revoke    3  configuration or log
  2  an id that no grant in force has           10  refused: this is a command that placet runs";

impl Grants {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self {
            Grants::List { json } => runtime()?.block_on(list(json)),
            Grants::Revoke(revoke) => {
                from_outside("revokes nothing")?;
                runtime()?.block_on(revoke.run())
            }
        }
    }
}

async fn list(as_json: bool) -> Result<(), Failure> {
    let grants = match Reach::open()? {
        Ok(reach) => reach.log.list().await?,
        Err(folder) => {
            show::tell(format_args!("placet: there is no log in {} yet", folder.display()));
            Vec::new()
        }
    };
    if as_json {
        let grants: Vec<Value> = grants.iter().map(object).collect();
        show::line(format_args!("{}", json!({"grants": grants})));
        return Ok(());
    }
    grants.iter().for_each(text);
    match grants.len() {
        0 => show::line("no grant outlives its session"),
        1 => show::line("1 grant is in force"),
        count => show::line(format_args!("{count} grants are in force")),
    }
    Ok(())
}

fn object(grant: &GrantRow) -> Value {
    json!({
        "id": grant.id, "root": grant.root, "preview": grant.preview, "text": grant.text,
        "givenAt": rfc3339(grant.given_ms), "client": grant.client, "session": grant.session,
        "mode": grant.mode,
    })
}

fn text(grant: &GrantRow) {
    let GrantRow { id, root, preview, given_ms, session, client, mode, text: _ } = grant;
    show::line(format_args!("{}", show::visible(id)));
    show::line(format_args!("  covers: {}", show::visible(preview)));
    show::line(format_args!("  where: {}", show::visible(root)));
    show::line(format_args!(
        "  given: {} by {} in session {}, under the mode {}",
        rfc3339(*given_ms),
        show::visible(client),
        show::visible(session),
        show::visible(mode)
    ));
    show::line("");
}

impl Revoke {
    async fn run(self) -> Result<(), Failure> {
        let Ok(reach) = Reach::open()? else {
            if self.ids.is_empty() {
                show::line("nothing to revoke: no grant is in force");
                return Ok(());
            }
            return Err(unknown(&self.ids));
        };
        let listed = reach.log.list().await?;
        let which = self.which(&listed)?;
        drop(reach);
        let configuration = |message: String| Failure::new(EXIT_CONFIGURATION, message);
        let home = Home::default_folder().and_then(|folder| Home::open(&folder));
        let log = SqliteLog::open(home.map_err(configuration)?.folder())?;
        let revoked = log.revoke(which, system_now_ms()).await?;
        for grant in &revoked {
            let (id, preview) = (show::visible(&grant.id), show::visible(&grant.preview));
            show::line(format_args!("{id}: revoked; it covered {preview}"));
        }
        let found = |id: &&String| revoked.iter().any(|grant| grant.id == **id);
        let missing: Vec<String> = self.ids.iter().filter(|id| !found(id)).cloned().collect();
        if !missing.is_empty() {
            return Err(unknown(&missing));
        }
        if revoked.is_empty() {
            show::line("nothing to revoke: no such grant is in force");
        }
        Ok(())
    }

    fn which(&self, listed: &[GrantRow]) -> Result<WhichGrants, Failure> {
        match &self.workspace {
            Some(path) => Ok(WhichGrants::Root(root(path, listed)?)),
            None if self.all => Ok(WhichGrants::All),
            None => Ok(WhichGrants::Ids(self.ids.clone())),
        }
    }
}

/// The root that a workspace's grants count at; one that is gone is named as the list has it.
fn root(path: &Path, listed: &[GrantRow]) -> Result<String, Failure> {
    let given = path.to_string_lossy();
    if listed.iter().any(|grant| grant.root == given) {
        return Ok(given.into_owned());
    }
    let canonical = path.canonicalize().map_err(|error| {
        let shown = show::visible(&given);
        let why = format!(
            "{shown}: {error}; of a workspace that is gone name the root that \
             `placet grants list` shows"
        );
        Failure::new(EXIT_USAGE, why)
    })?;
    Ok(grants_root(&canonical).to_string_lossy().into_owned())
}

fn unknown(ids: &[String]) -> Failure {
    let ids: Vec<String> = ids.iter().map(|id| show::visible(id)).collect();
    let why =
        format!("no grant in force has the id {}; `placet grants list` shows them", ids.join(", "));
    Failure::new(EXIT_USAGE, why)
}
