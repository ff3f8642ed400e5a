//! A workspace, a hidden directory and a way to call tools in them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use leverframe::protocol::ids::{SessionId, ToolCallId};
use leverframe::tools::registry::Registry;
use leverframe::tools::sandbox::{Places, Sandbox};
use leverframe::tools::tool::{
    NoJournal, Plan, PrepareError, RunJournal, Tool, ToolContext, ToolHost, ToolOutcome,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

#[derive(Default)]
pub struct Watcher {
    pub pieces: Mutex<Vec<String>>,
}

impl ToolHost for Watcher {
    fn progress(&self, text: &str) {
        self.pieces.lock().unwrap().push(text.to_owned());
    }
}

pub struct Bench {
    _root: tempfile::TempDir,
    pub root: PathBuf,
    pub workspace: PathBuf,
    pub hidden: PathBuf,
    pub registry: Registry,
    pub cancel: CancellationToken,
    pub watcher: Watcher,
    pub journal: Arc<dyn RunJournal>,
}

impl Bench {
    pub fn new() -> Self {
        Self::with(&Sandbox::none("test"))
    }

    pub fn with(sandbox: &Sandbox) -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        let (workspace, hidden) = (path.join("workspace"), path.join("data"));
        std::fs::create_dir(&workspace).unwrap();
        std::fs::create_dir(&hidden).unwrap();
        Self {
            _root: root,
            root: path,
            workspace,
            hidden,
            registry: Registry::builtin(sandbox).unwrap(),
            cancel: CancellationToken::new(),
            watcher: Watcher::default(),
            journal: Arc::new(NoJournal),
        }
    }

    pub fn context(&self) -> ToolContext<'_> {
        ToolContext {
            workspace: self.workspace.clone(),
            hidden: vec![self.hidden.clone()],
            changes: self.hidden.join("file_changes"),
            operands: Vec::new(),
            session_id: SessionId::generate(),
            call_id: ToolCallId::generate(),
            idempotency_key: "0123456789abcdef01234567".to_owned(),
            cancel: self.cancel.clone(),
            host: &self.watcher,
            journal: self.journal.clone(),
        }
    }

    pub fn tool(&self, name: &str) -> Arc<dyn Tool> {
        self.registry.lookup(name).unwrap()
    }

    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn prepare(&self, name: &str, args: Value) -> Result<Plan, PrepareError> {
        self.registry.validate(name, &args).unwrap();
        self.tool(name).prepare(&self.context(), &args)
    }

    /// As the engine does: schema, plan, effect.
    pub async fn call(&self, name: &str, args: Value) -> ToolOutcome {
        let plan = self.prepare(name, args.clone()).unwrap();
        self.execute_allowed(name, args, &plan).await
    }

    /// What was allowed then.
    pub async fn execute_allowed(&self, name: &str, args: Value, plan: &Plan) -> ToolOutcome {
        let context = ToolContext {
            operands: plan.operands.clone(),
            ..self.context()
        };
        self.tool(name).execute(&context, &args).await
    }

    /// Allowed as it would be found now.
    pub async fn execute(&self, name: &str, args: Value) -> ToolOutcome {
        let plan = self.tool(name).prepare(&self.context(), &args);
        let context = ToolContext {
            operands: plan.map(|plan| plan.operands).unwrap_or_default(),
            ..self.context()
        };
        self.tool(name).execute(&context, &args).await
    }
}

/// The programs of this machine, with the real binary as helper.
pub fn places() -> Places {
    Places {
        helper: env!("CARGO_BIN_EXE_leverframe").into(),
        ..Places::of_machine()
    }
}

/// A bench with the real sandbox; `None`, said aloud, where this machine has none.
pub fn confined() -> Option<Bench> {
    sandbox().map(|sandbox| Bench::with(&sandbox))
}

/// A sandbox that confines; `None`, and a word about it, where there is none.
pub fn sandbox() -> Option<Sandbox> {
    let sandbox = Sandbox::find(&places());
    if !sandbox.is_confined() {
        crate::support::requirement::missing(
            "a sandbox",
            "the confinement of programs",
            &format!("install bubblewrap (level here: {})", sandbox.level_word()),
        );
        return None;
    }
    Some(sandbox)
}

/// Waits for a condition; panics with the words when it does not come.
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
