//! `placet explain`: what would happen to an action now, and why. Nothing runs.

mod input;
mod print;

use super::reach::Reach;
use super::{EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK, EXIT_USAGE, Failure, runtime, show};
use crate::config::UserConfig;
use crate::engine::types::{
    Caller, CommandId, Context, Explained, Explanation, Facts, Input, ModeDigest, Proposal, Reply,
    RuleSet, SessionStart, Supply,
};
use crate::engine::{Engine, MODES, POLICY, components_folder};
use crate::exec::environment;
use crate::home::Home;
use crate::log::{GrantStore as _, SqliteLog};
use crate::reviewer::{Reviewer, grants_root};
use crate::sessions::Rulebook;
use clap::Args;
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Say what would happen to a command or an action, and why; nothing runs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Explain {
    /// The shell command
    #[arg(required_unless_present = "jsonl", conflicts_with = "jsonl")]
    command: Option<String>,
    /// Read actions from stdin, one JSON value a line, and print one JSON verdict a line
    #[arg(long)]
    jsonl: bool,
    /// Print the verdict as JSON
    #[arg(long)]
    json: bool,
    /// The mode, where none is given with the action
    #[arg(long, default_value = "promptUnmatched")]
    mode: String,
    /// The folder that it would run in, which is taken for the workspace too
    #[arg(long)]
    workspace: Option<PathBuf>,
    /// A rule file to use instead of the user's own and the workspace's
    #[arg(long)]
    rules: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  placet explain 'git status && git push'
  placet explain --mode denyUnmatched 'make test'
  placet explain --rules draft.toml 'npm run build'
  printf '%s\\n' '\"ls -la\"' '{\"subject\":{\"kind\":\"network\",\"host\":\"example.org\",\"port\":443}}' |
    placet explain --jsonl

A line for --jsonl is a JSON string (a command) or an object with `command` or `subject`, and if
wanted tool, args, cwd, workspaceRoot, home, mode, requestApproval, confined, rules (a file),
rulesText (its text) and facts ([{\"path\", \"canonical\", \"class\", \"linked\", \"exists\"}]).";

impl Explain {
    pub(super) fn run(self) -> Result<u8, Failure> {
        runtime()?.block_on(self.explain())
    }

    async fn explain(self) -> Result<u8, Failure> {
        let folder = std::env::current_dir()
            .map_err(|error| Failure::new(EXIT_FAILED, format!("no working folder: {error}")))?;
        let folder = self.workspace.clone().unwrap_or(folder);
        let folder = folder.canonicalize().map_err(|error| {
            Failure::new(EXIT_USAGE, format!("{} is no folder: {error}", folder.display()))
        })?;
        let defaults = input::Defaults {
            folder: folder.to_string_lossy().into_owned(),
            mode: self.mode.clone(),
            rules: self.rules.clone(),
        };
        let desk = Desk::open()?;
        if let Some(command) = self.command {
            let asked = input::command(&command, &defaults);
            let explanation = desk.explain(asked).await?;
            if self.json {
                show::line(print::json(&explanation));
            } else {
                show::line(print::text(&explanation, &command));
            }
            return Ok(EXIT_OK);
        }
        for (number, line) in (1_u64..).zip(std::io::stdin().lock().lines()) {
            let line = line.map_err(|error| {
                Failure::new(EXIT_FAILED, format!("line {number} cannot be read: {error}"))
            })?;
            if line.trim().is_empty() {
                continue;
            }
            let asked = input::line(&line, &defaults)
                .map_err(|why| Failure::new(EXIT_USAGE, format!("line {number}: {why}")))?;
            show::line(print::json(&desk.explain(asked).await?));
        }
        Ok(EXIT_OK)
    }
}

/// What is needed to explain: components, rule files and what looks at paths.
struct Desk {
    engine: Engine,
    rulebook: Rulebook,
    reviewer: Reviewer,
    /// None where there is no log yet.
    log: Option<Arc<SqliteLog>>,
}

impl Desk {
    fn open() -> Result<Desk, Failure> {
        let configuration = |message: String| Failure::new(EXIT_CONFIGURATION, message);
        let home =
            Home::open(&Home::default_folder().map_err(configuration)?).map_err(configuration)?;
        // A file that the host would refuse explains nothing.
        UserConfig::read(home.folder()).map_err(configuration)?;
        Ok(Desk {
            engine: Engine::load(&components_folder()?, &home.cache())?,
            rulebook: Rulebook::new(home.folder(), None),
            reviewer: Reviewer::new(home.folder()),
            log: Reach::open()?.ok().map(|reach| reach.log),
        })
    }

    async fn explain(&self, asked: input::Asked) -> Result<Explanation, Failure> {
        let workspace = asked.workspace.as_deref().map(Path::new);
        let root = workspace.map(|root| grants_root(root).to_string_lossy().into_owned());
        let rules = match &asked.rules {
            Some(set) => set.clone(),
            None => self.rulebook.at(workspace, &self.grants(root.as_deref()).await?),
        };
        let state = self.session(&asked, &rules).await?;
        let queries = self.engine.survey(asked.action.clone()).await?;
        let mut paths = self.reviewer.at(workspace).facts(queries.clone());
        for query in queries {
            if let Some(fact) = asked.facts.iter().find(|fact| fact.path == query.text) {
                paths.retain(|found| found.query != query);
                paths.extend(fact.of(query));
            }
        }
        let proposal = Proposal {
            action: asked.action,
            facts: Facts { paths, environment: String::new() },
            last: true,
        };
        let context = self.context(&rules, root);
        let supplied = vec![Supply::Rules(rules)];
        match self.engine.explain(state, context, proposal, supplied).await? {
            Ok(Explained::Done(explanation)) => Ok(explanation),
            Ok(Explained::Needs(needs)) => {
                Err(Failure::new(EXIT_FAILED, format!("the policy component wants {needs:?}")))
            }
            Err(refusal) => Err(Failure::new(EXIT_FAILED, format!("it was refused: {refusal:?}"))),
        }
    }

    /// The grants that were saved for a root.
    async fn grants(&self, root: Option<&str>) -> Result<Vec<String>, Failure> {
        match (&self.log, root) {
            (Some(log), Some(root)) => Ok(log.in_force(root).await?.texts),
            _ => Ok(Vec::new()),
        }
    }

    /// The state of a session that has just begun.
    async fn session(&self, asked: &input::Asked, rules: &RuleSet) -> Result<Arc<[u8]>, Failure> {
        let start = Input::Start(SessionStart {
            command: CommandId { id: "explain".to_owned(), payload: String::new() },
            caller: Caller {
                client: "placet explain".to_owned(),
                connection: "explain".to_owned(),
                seal: "allowAll".to_owned(),
                withheld: Vec::new(),
                subscribed: true,
            },
            mode: Some(asked.mode.clone()),
            workspace_root: asked.workspace.clone(),
            provider_id: None,
            model_id: None,
        });
        let supplied = vec![Supply::Rules(rules.clone())];
        match self.engine.step(None, self.context(rules, None), start, supplied).await? {
            Reply::Done(outcome) => Ok(outcome.state.into()),
            other => {
                let why = format!("no session can begin in the mode {}: {other:?}", asked.mode);
                Err(Failure::new(EXIT_USAGE, why))
            }
        }
    }

    fn context(&self, rules: &RuleSet, grants_root: Option<String>) -> Context {
        let catalog = self.engine.catalog();
        let mode = |name: &&str| ModeDigest {
            name: (*name).to_owned(),
            digest: catalog.digest(name).to_owned(),
        };
        Context {
            session_id: "explain".to_owned(),
            now_ms: 0,
            entropy: vec![0; 16],
            component: catalog.digest(POLICY).to_owned(),
            rules_digest: rules.digest.clone(),
            modes: MODES.iter().map(mode).collect(),
            log_path: String::new(),
            grants_root,
        }
    }
}

/// What `~` stands for where nothing else is said.
fn home() -> Option<String> {
    environment::home()
}
