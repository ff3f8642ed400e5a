//! `python` in the real sandbox: what a session keeps, and what becomes of cells that do not want to end well.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use leverframe::config::settings::PythonSettings;
use leverframe::protocol::ids::SessionId;
use leverframe::tools::python::dataset::DatasetError;
use leverframe::tools::python::executable;
use leverframe::tools::python::tool::Python;
use leverframe::tools::sandbox::Sandbox;
use leverframe::tools::tool::{EffectDisposition, Tool, ToolContext, ToolHost, ToolOutcome};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::tools::harness::{Bench, eventually, sandbox};

/// A file that a call sent: its path, its media type, its content.
type Sent = (String, String, Vec<u8>);

/// Keeps what is sent and shown.
#[derive(Default)]
struct Host {
    sent: Mutex<Vec<Sent>>,
    shown: Mutex<String>,
}

#[async_trait]
impl ToolHost for Host {
    fn progress(&self, text: &str) {
        self.shown.lock().unwrap().push_str(text);
    }

    async fn send_file(&self, path: &str, media: &str, content: Vec<u8>) -> Result<(), String> {
        let sent = (path.to_owned(), media.to_owned(), content);
        self.sent.lock().unwrap().push(sent);
        Ok(())
    }
}

pub fn settings() -> PythonSettings {
    PythonSettings {
        executable: None,
        idle_minutes: 10,
        max_interpreters: 8,
    }
}

/// A Python of the system; none, said aloud, where there is none.
pub fn program() -> Option<executable::PythonProgram> {
    match executable::find(&settings()) {
        Ok(found) => Some(found),
        Err(why) => {
            crate::support::requirement::missing("python3", "the tool `python`", &why);
            None
        }
    }
}

struct Fixture {
    bench: Bench,
    python: Python,
    host: Host,
    cancel: CancellationToken,
}

impl Fixture {
    fn new() -> Option<Self> {
        Self::with(&sandbox()?)
    }

    fn with(sandbox: &Sandbox) -> Option<Self> {
        let (bench, program) = (Bench::with(sandbox), program()?);
        let datasets = bench.hidden.join("datasets/api");
        let datasets = [(bench.workspace.clone(), datasets)].into();
        Some(Self {
            python: Python::new(sandbox.clone(), program, &settings(), datasets),
            bench,
            host: Host::default(),
            cancel: CancellationToken::new(),
        })
    }

    fn context(&self, session_id: SessionId) -> ToolContext<'_> {
        ToolContext {
            session_id,
            host: &self.host,
            cancel: self.cancel.clone(),
            ..self.bench.context()
        }
    }

    async fn cell(&self, session: SessionId, code: &str) -> ToolOutcome {
        self.timed(session, code, 60).await
    }

    async fn timed(&self, session: SessionId, code: &str, seconds: u64) -> ToolOutcome {
        let args = json!({"code": code, "timeout_seconds": seconds});
        self.python.execute(&self.context(session), &args).await
    }

    /// What a cell gives that ends well, without the first line.
    async fn value(&self, session: SessionId, code: &str) -> String {
        let outcome = self.cell(session, code).await;
        assert!(!outcome.is_error, "{code}: {}", outcome.content);
        assert!(
            outcome.content.starts_with("done after"),
            "{}",
            outcome.content
        );
        let (_, rest) = outcome.content.split_once('\n').unwrap_or_default();
        rest.to_owned()
    }

    /// The error of a cell that the interpreter survives.
    async fn error(&self, session: SessionId, code: &str) -> String {
        let outcome = self.cell(session, code).await;
        assert!(outcome.is_error, "{code}: {}", outcome.content);
        assert!(
            outcome.content.starts_with("error after"),
            "{}",
            outcome.content
        );
        assert_eq!(outcome.disposition, EffectDisposition::Done);
        outcome.content
    }

    /// A cell that ends the interpreter: the result says why, and the next call hears it once more.
    async fn deadly(&self, session: SessionId, code: &str, seconds: u64, why: &str) -> ToolOutcome {
        self.value(session, "kept = 1").await;
        let outcome = self.timed(session, code, seconds).await;
        assert!(outcome.is_error, "{code}");
        assert!(outcome.content.contains(why), "{code}: {}", outcome.content);
        assert!(
            outcome.content.contains("are lost"),
            "{code}: {}",
            outcome.content
        );
        assert!(self.python.interpreters().unwrap().list().is_empty());
        let next = self.value(session, "'kept' in globals()").await;
        let told = format!("[Python is new: {why}");
        assert!(
            next.contains(&told) || next.contains("[Python is new: "),
            "{next}"
        );
        assert!(next.ends_with("False"), "{next}");
        outcome
    }
}

#[tokio::test]
async fn a_session_keeps_what_its_cells_define_and_no_other_sees_it() {
    let Some(one) = Fixture::new() else { return };
    let (a, b) = (SessionId::generate(), SessionId::generate());
    assert_eq!(
        one.value(a, "import math\nx = 41\ndef f(n):\n    return n + x\n")
            .await,
        ""
    );
    assert_eq!(one.value(a, "print('first'); f(1)").await, "first\n42");
    assert_eq!(one.value(a, "math.floor(2.5)").await, "2");
    assert!(one.error(b, "x").await.contains("NameError"));
    assert_eq!(one.python.interpreters().unwrap().list().len(), 2);
    // Its files are those of the workspace, which is importable, and nothing installed is hidden by it.
    one.bench.put("helper.py", "value = 7");
    one.bench.put("json.py", "raise SystemError");
    assert_eq!(
        one.value(
            a,
            "import helper, json; open('made', 'w').write('x'); helper.value"
        )
        .await,
        "7"
    );
    assert_eq!(
        crate::tools::harness::text(&one.bench.workspace.join("made")),
        "x"
    );
    // A long value is cut.
    let long = one.value(a, "'y' * 5000").await;
    assert!(
        long.len() < 2200 && long.ends_with("(5002 characters)"),
        "{}",
        long.len()
    );
    // Standard input is empty, and output comes while a cell runs.
    assert!(one.error(a, "input()").await.contains("EOFError"));
    let session = one.cell(a, "import time\nprint('step')\ntime.sleep(30)");
    tokio::select! {
        outcome = session => panic!("{}", outcome.content),
        () = eventually("output", || one.host.shown.lock().unwrap().contains("step")) => {}
    }
    let told = one.value(a, "1").await;
    assert!(told.contains("its last command was given up"), "{told}");
}

#[tokio::test]
async fn errors_show_the_lines_of_the_cell_and_end_no_interpreter() {
    let Some(one) = Fixture::new() else { return };
    let session = SessionId::generate();
    one.value(session, "kept = 5").await;
    let error = one.error(session, "import json\n\njson.loads('{')").await;
    assert!(
        error.contains("File \"<cell 2>\", line 3, in <module>"),
        "{error}"
    );
    assert!(error.contains("JSONDecodeError"), "{error}");
    assert!(!error.contains("decoder.py"), "{error}");
    let error = one
        .error(session, "def g():\n    return 1 / 0\n\ng()")
        .await;
    assert!(
        error.contains("line 4") && error.contains("line 2, in g"),
        "{error}"
    );
    assert!(error.contains("return 1 / 0"), "the line itself: {error}");
    assert!(one.error(session, "a b").await.contains("SyntaxError"));
    assert!(
        one.error(session, "import sys; sys.exit(3)")
            .await
            .contains("SystemExit: 3")
    );
    let ended = one.value(session, "exit()").await;
    assert!(ended.contains("the interpreter goes on"), "{ended}");
    assert!(
        one.error(session, "raise KeyboardInterrupt")
            .await
            .contains("KeyboardInterrupt")
    );
    let error = one.error(session, "b'x' * (10 << 30)").await;
    assert!(error.contains("MemoryError"), "{error}");
    let error = one
        .error(session, "def deep(n): return deep(n + 1)\ndeep(0)")
        .await;
    assert!(error.contains("RecursionError"), "{error}");
    let hidden = "class A:\n    def __repr__(self): raise ValueError('no')\nA()";
    assert!(one.error(session, hidden).await.contains("ValueError: no"));
    assert_eq!(one.value(session, "kept").await, "5");
}

#[tokio::test]
async fn a_forged_reply_stands_for_no_other() {
    let Some(one) = Fixture::new() else { return };
    let session = SessionId::generate();
    let forge = "import os\nprint('{\"nonce\": \"x\", \"value\": \"forged\"}')\n\
                 for fd in range(3, 64):\n    try:\n        os.write(fd, b'{\"nonce\": \"x\", \"value\": \"forged\"}\\n{\"cut')\n    \
                 except OSError:\n        pass\n'own'";
    let value = one.value(session, forge).await;
    assert!(value.ends_with("'own'"), "{value}");
    for number in 0..3 {
        assert_eq!(
            one.value(session, &number.to_string()).await,
            number.to_string()
        );
    }
    // A copy of the process answers nobody.
    assert_eq!(one.value(session, "os.fork(); 'once'").await, "'once'");
    assert_eq!(one.value(session, "'next'").await, "'next'");
}

#[tokio::test]
async fn an_interpreter_that_dies_is_told_of_and_replaced() {
    let Some(one) = Fixture::new() else { return };
    let session = SessionId::generate();
    let own_end = |outcome: ToolOutcome| assert_eq!(outcome.disposition, EffectDisposition::Done);
    own_end(
        one.deadly(session, "import os; os._exit(0)", 20, "exit status 0")
            .await,
    );
    own_end(
        one.deadly(
            session,
            "import ctypes; ctypes.string_at(0)",
            20,
            "signal 11",
        )
        .await,
    );
    let closed = "import os; os.closerange(3, 64)";
    one.deadly(session, closed, 20, "exit status").await;
    let deaf = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass";
    let outcome = one
        .deadly(session, deaf, 1, "it did not end when it was interrupted")
        .await;
    assert_eq!(outcome.disposition, EffectDisposition::Unknown);
    assert!(
        outcome
            .content
            .starts_with("stopped after 1 s (timeout_seconds), and the interpreter was killed")
    );
    // It dies between two calls, too.
    one.value(
        session,
        "import threading, os\nthreading.Timer(0.05, lambda: os._exit(3)).start()",
    )
    .await;
    let next = one.cell(session, "import time; time.sleep(5)").await;
    assert!(next.content.contains("exit status 3"), "{}", next.content);
}

#[tokio::test]
async fn time_that_runs_out_interrupts_and_variables_stay() {
    let Some(one) = Fixture::new() else { return };
    let session = SessionId::generate();
    one.value(session, "kept = 9").await;
    for code in [
        "while True: pass",
        "import time; time.sleep(100)",
        "import subprocess\nsubprocess.run(['sleep', '100'])",
    ] {
        let outcome = one.timed(session, code, 1).await;
        assert!(outcome.is_error);
        assert!(
            outcome
                .content
                .starts_with("stopped after 1 s (timeout_seconds); variables stay"),
            "{}",
            outcome.content
        );
        assert!(
            outcome.content.contains("KeyboardInterrupt"),
            "{}",
            outcome.content
        );
        assert_eq!(outcome.disposition, EffectDisposition::Done);
    }
    assert_eq!(one.value(session, "kept").await, "9");
    // Cancelled, as by the emergency stop: within 2 s, also when it does not listen.
    let deaf = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nopen('up', 'w')\nwhile True: pass";
    let up = one.bench.workspace.join("up");
    let (outcome, began) = tokio::join!(one.cell(session, deaf), async {
        eventually("it runs", || up.exists()).await;
        one.cancel.cancel();
        Instant::now()
    });
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    assert!(
        outcome.content.starts_with("cancelled after"),
        "{}",
        outcome.content
    );
    assert_eq!(outcome.disposition, EffectDisposition::Unknown);
    let schema = &one.python.spec().input_schema;
    assert_eq!(schema["properties"]["timeout_seconds"]["maximum"], 900);
}

#[tokio::test]
async fn two_cells_of_a_session_run_one_after_the_other() {
    let Some(one) = Fixture::new() else { return };
    let session = SessionId::generate();
    one.value(session, "import time\nlog = []").await;
    let slow =
        |name| format!("log.append('{name} begins'); time.sleep(0.3); log.append('{name} ends')");
    let (a, b) = (slow("a"), slow("b"));
    tokio::join!(one.cell(session, &a), one.cell(session, &b));
    let log = one.value(session, "log").await;
    let orders = [
        "['a begins', 'a ends', 'b begins', 'b ends']",
        "['b begins', 'b ends', 'a begins', 'a ends']",
    ];
    assert!(orders.contains(&log.as_str()), "{log}");
}

#[tokio::test]
async fn the_sixth_process_is_denied_and_threads_do_not_count() {
    let Some(one) = Fixture::new() else { return };
    let session = SessionId::generate();
    let start = "import subprocess, threading, time\n\
                 threads = [threading.Thread(target=time.sleep, args=(1,)) for _ in range(20)]\n\
                 for one in threads: one.start()\n\
                 started = []\nfor n in range(6):\n    started.append(subprocess.Popen(['sleep', '60']))";
    let error = one.error(session, start).await;
    assert!(
        error.contains("a cell can have 5 processes beside its own at a time"),
        "{error}"
    );
    assert_eq!(one.value(session, "len(started)").await, "5");
    one.value(session, "for one in started:\n    one.kill(); one.wait()")
        .await;
    assert_eq!(
        one.value(session, "subprocess.run(['echo', 'x']).returncode")
            .await,
        "x\n0"
    );
    // What the driver does not see ends the cell.
    let script = "subprocess.run(['sh', '-c', 'for n in 1 2 3 4 5 6 7; do sleep 60 & done; wait'])";
    let outcome = one
        .deadly(session, script, 30, "processes beside its own, of 5")
        .await;
    assert_eq!(outcome.disposition, EffectDisposition::Unknown);
    let threads = "import threading, time\nfor n in range(10000): threading.Thread(target=time.sleep, args=(60,)).start()";
    let outcome = one.timed(session, threads, 30).await;
    // Root is ended for it; for others the kernel refuses the thread.
    let ended = outcome.content.contains("processes and threads, of 64");
    let refused = outcome.content.contains("can't start new thread");
    assert!(
        outcome.is_error && (ended || refused),
        "{}",
        outcome.content
    );
}

#[tokio::test]
async fn memory_and_growth_are_bounded() {
    let Some(sandbox) = sandbox() else { return };
    let Some(one) = Fixture::with(&sandbox.with_max_growth(8 << 20)) else {
        return;
    };
    let session = SessionId::generate();
    let error = one
        .error(session, "open('large', 'wb').write(b'x' * (9 << 20))")
        .await;
    assert!(error.contains("File too large"), "{error}");
    let many = "import time\nfor n in range(4):\n    open(f'part{n}', 'wb').write(b'x' * (4 << 20))\ntime.sleep(60)";
    one.deadly(session, many, 30, "MiB into the workspace, of 8 MiB")
        .await;
    let hogs = "import subprocess, sys, time\nhog = 'import time; x = b\"x\" * (400 << 20); time.sleep(60)'\n\
                for n in range(3): subprocess.Popen([sys.executable, '-c', hog])\ntime.sleep(60)";
    one.deadly(session, hogs, 30, "MiB of memory, of 1024 MiB")
        .await;
}

#[tokio::test]
async fn nothing_runs_between_two_cells() {
    let Some(one) = Fixture::new() else { return };
    let session = SessionId::generate();
    let busy = "import threading, time, subprocess\ncount = 0\ndef work():\n    global count\n    while True:\n        \
                count += 1; time.sleep(0.001)\nthreading.Thread(target=work, daemon=True).start()\n\
                subprocess.Popen(['sh', '-c', 'while :; do echo x >> ticks; sleep 0.01; done'])\ntime.sleep(0.2)\ncount > 0";
    assert!(one.value(session, busy).await.ends_with("True"));
    let length = || {
        std::fs::metadata(one.bench.workspace.join("ticks"))
            .unwrap()
            .len()
    };
    let before = length();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(length(), before, "it went on between two cells");
    // It goes on with the next one.
    assert!(
        one.value(session, "seen = count; time.sleep(0.2); count > seen")
            .await
            .ends_with("True")
    );
    assert!(length() > before);
}

#[tokio::test]
async fn a_place_that_came_since_gets_another_sandbox() {
    let Some(one) = Fixture::new() else { return };
    let session = SessionId::generate();
    one.value(session, "x = 1").await;
    one.bench.put(".git/hooks/pre-commit", "#!/bin/sh\n");
    one.bench.put(".git/HEAD", "ref: refs/heads/main\n");
    let error = one
        .cell(session, "open('.git/hooks/pre-commit', 'a')")
        .await
        .content;
    assert!(
        error.contains("a new place from which programs are run"),
        "{error}"
    );
    assert!(error.contains("Read-only file system"), "{error}");
    // What a cell makes there itself is set aside.
    let made = one
        .value(session, "import os; os.makedirs('sub/.git/hooks')")
        .await;
    assert!(made.contains("[set aside:"), "{made}");
}

#[tokio::test]
async fn a_variable_gets_the_rows_of_a_data_set() {
    let Some(one) = Fixture::new() else { return };
    let session = SessionId::generate();
    let context = one.context(session);
    let load = |name: &'static str, file: &'static str| {
        one.python.assign_dataset(&context, name, file.as_ref())
    };
    one.value(session, "kept = 1").await;
    let missing = load("sales", "sales.csv").await.unwrap_err();
    assert_eq!(
        missing,
        DatasetError::Failed("no directory of datasets is here: the channel has none, or another channel has its workspace too".to_owned())
    );
    let directory = one.bench.hidden.join("datasets/api");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("sales.csv"), "city,amount\nBonn,3\nRome,4\n").unwrap();
    std::fs::write(one.bench.hidden.join("datasets/other.csv"), "a\n1\n").unwrap();
    let said = load("sales", "sales.csv").await.unwrap();
    assert!(
        said.contains("Python is new: the channel has datasets now"),
        "{said}"
    );
    assert!(said.contains("`sales` is a "), "{said}");
    assert_eq!(one.value(session, "len(sales)").await, "2");
    let error = one.error(session, "open('/datasets/new', 'w')").await;
    assert!(error.contains("Read-only"), "{error}");
    for name in [
        "x; import os",
        "__builtins__",
        "class",
        "None",
        "print",
        "1a",
        "",
        "a-b",
        "ä",
    ] {
        let refused = load(name, "sales.csv").await.unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("cannot be the name of a variable"),
            "{name}: {refused}"
        );
    }
    for file in ["../other.csv", "/etc/passwd", "", "a/../../other.csv"] {
        let refused = load("x", file).await.unwrap_err();
        assert!(
            matches!(refused, DatasetError::Invalid(_)),
            "{file}: {refused}"
        );
    }
    assert!(
        load("x", "none.csv")
            .await
            .unwrap_err()
            .to_string()
            .contains("FileNotFoundError")
    );
}

/// A stand-in for matplotlib, as the driver uses it.
pub const PYPLOT: &str = "\
class Figure:
    def savefig(self, path):
        open(path, 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n of figure %d' % self.number)
_open = {}
def figure(number=None):
    number = number or max(_open, default=0) + 1
    one = _open.setdefault(number, Figure())
    one.number = number
    return one
def get_fignums():
    return list(_open)
def close(number):
    del _open[number]
def show():
    raise SystemError('there is no screen')
";

#[tokio::test]
async fn pictures_and_tables_go_to_the_conversation() {
    let Some(one) = Fixture::new() else { return };
    let session = SessionId::generate();
    let has = |name: &str| {
        program().is_some_and(|found| found.packages.iter().any(|one| one.starts_with(name)))
    };
    if !has("matplotlib") {
        one.bench.put("matplotlib/__init__.py", "");
        one.bench.put("matplotlib/pyplot.py", PYPLOT);
    }
    let two =
        "import matplotlib.pyplot as plt\nplt.figure()\nplt.show()\nplt.figure()\nprint('drawn')";
    let said = one.value(session, two).await;
    assert!(said.starts_with("drawn\n[outputs/call_"), "{said}");
    assert!(said.contains("figure-2.png ("), "{said}");
    assert_eq!(
        said.matches("goes to the conversation with your answer]")
            .count(),
        2,
        "{said}"
    );
    let sent = std::mem::take(&mut *one.host.sent.lock().unwrap());
    assert_eq!(sent.len(), 2);
    for (path, media, content) in &sent {
        assert_eq!(media, "image/png");
        assert!(content.starts_with(b"\x89PNG"), "{path}");
        assert_eq!(
            &std::fs::read(one.bench.workspace.join(path)).unwrap(),
            content
        );
    }
    // At most eight files, and none that is larger than 8 MiB.
    let said = one.value(session, "for n in range(10): plt.figure()").await;
    assert!(
        said.contains("[2 more pictures or tables were left out"),
        "{said}"
    );
    assert_eq!(one.host.sent.lock().unwrap().drain(..).count(), 8);
    let large =
        "f = plt.figure()\nf.savefig = lambda path: open(path, 'wb').write(b'x' * (9 << 20))";
    let said = one.value(session, large).await;
    assert!(
        said.contains("is not sent: it has more than 8 MiB"),
        "{said}"
    );
    // A link in the place of a picture sends no other file.
    one.bench.put("secret", "s");
    let link =
        "import os\nf = plt.figure()\nf.savefig = lambda path: os.symlink('../../secret', path)";
    let said = one.value(session, link).await;
    assert!(said.contains("is not sent: it is a link"), "{said}");
    assert!(one.host.sent.lock().unwrap().is_empty());
    if has("pandas") {
        let table = "import pandas\npandas.DataFrame({'a': range(100), 'b': ['x'] * 100})";
        let said = one.value(session, table).await;
        assert!(
            said.contains("[100 rows x 2 columns]") && said.contains("table-1.csv"),
            "{said}"
        );
        assert!(said.lines().count() < 30, "{said}");
        let (_, media, content) = one.host.sent.lock().unwrap().remove(0);
        assert_eq!(media, "text/csv");
        assert_eq!(content.split(|byte| *byte == b'\n').count(), 102);
    }
}

#[tokio::test]
async fn a_card_names_what_counts_and_says_whether_it_is_new() {
    let Some(one) = Fixture::new() else { return };
    let session = SessionId::generate();
    let plan = |code: &str| {
        one.python
            .prepare(&one.context(session), &json!({"code": code}))
            .unwrap()
    };
    let found = plan(
        "import subprocess\nsubprocess.run(['ls'])\nimport os; os.remove('a')\nshutil.rmtree('b')\neval('1')",
    );
    let reasons = found.reasons().join("\n");
    for says in [
        "runs Python code",
        "the interpreter is new",
        "can start programs: subprocess",
        "deletes files: os.remove",
        "recursive delete: shutil.rmtree",
        "can run code that is not shown: eval",
    ] {
        assert!(reasons.contains(says), "{says}: {reasons}");
    }
    let reasons = plan("import socket").reasons().join("\n");
    assert!(reasons.contains("uses the network: socket"), "{reasons}");
    let quiet = plan("sockets = subprocesses = df.eval('a')");
    assert_eq!(
        quiet.reasons(),
        [
            "runs Python code",
            "the interpreter is new: nothing is defined in it"
        ]
    );
    assert!(quiet.always_asks.is_none());
    assert!(
        quiet
            .facts
            .executable
            .is_some_and(|path| path.starts_with("/usr/"))
    );
    one.value(session, "1").await;
    assert_eq!(plan("1").reasons(), ["runs Python code"]);
    // Without a sandbox no rule covers it.
    let none = Fixture::with(&Sandbox::none("test")).unwrap();
    let plan = none
        .python
        .prepare(&none.context(session), &json!({"code": "1"}))
        .unwrap();
    assert_eq!(plan.always_asks.as_deref(), Some("no sandbox: test"));
    assert_eq!(none.value(session, "1 + 1").await, "2");
    let long = json!({"code": "x".repeat(300 * 1024)});
    assert!(one.python.prepare(&one.context(session), &long).is_err());
}

#[test]
fn a_python_that_cannot_be_used_is_said_to_be() {
    let find = |path: &str| {
        let executable = Some(path.into());
        executable::find(&PythonSettings {
            executable,
            ..settings()
        })
    };
    for (path, why) in [
        ("/usr/bin/no-such-python", "No such file"),
        ("/usr/bin", "it is no executable file"),
        ("/usr/bin/true", "it is no Python 3"),
        (
            "/home/somebody/python3",
            "the sandbox shows no programs there",
        ),
    ] {
        let said = find(path).unwrap_err();
        assert!(said.starts_with(path) && said.contains(why), "{said}");
    }
}
