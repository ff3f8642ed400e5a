//! Everything a key can mean. Help, footer, palette and the key table are derived from this list;
//! no handler looks at a raw key.

use std::fmt;

use crate::protocol::enums::DecisionKind;

impl Action {
    /// Whether it only moves about in what is shown.
    pub const fn only_moves(self) -> bool {
        matches!(
            self,
            Self::MoveDown
                | Self::MoveUp
                | Self::MoveTop
                | Self::MoveBottom
                | Self::PageDown
                | Self::PageUp
                | Self::Open
                | Self::Back
                | Self::NextPane
        )
    }
}

/// How careful the keymap must be with an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionClass {
    /// May be bound anywhere.
    Ordinary,
    /// Decides something for good: only on the card or row it concerns, under the arming rule.
    Decision,
    /// Only means something in a dialog.
    Dialog,
    /// Only means something in a text field.
    Text,
}

macro_rules! actions {
    ($($variant:ident = $name:literal, $class:ident, $short:expr, $description:literal;)+) => {
        /// An action. The name is what keymap files and the palette use.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Action { $(#[doc = $description] $variant),+ }

        impl Action {
            /// Every action, in the order of the help screen.
            pub const ALL: &'static [Action] = &[$(Action::$variant),+];

            pub const fn name(self) -> &'static str {
                match self { $(Action::$variant => $name),+ }
            }

            /// One or two words, for the footer.
            pub const fn short(self) -> &'static str {
                match self { $(Action::$variant => $short),+ }
            }

            /// One line, for help.
            pub const fn description(self) -> &'static str {
                match self { $(Action::$variant => $description),+ }
            }

            /// Where it may be bound.
            pub const fn class(self) -> ActionClass {
                match self { $(Action::$variant => ActionClass::$class),+ }
            }

            pub fn from_name(name: &str) -> Option<Action> {
                match name { $($name => Some(Action::$variant),)+ _ => None }
            }
        }
    };
}

actions! {
    ScreenQueue = "screen-queue", Ordinary, "queue", "go to Queue: what needs a person";
    ScreenLive = "screen-live", Ordinary, "live", "go to Live: every session and what it is doing";
    ScreenSession = "screen-session", Ordinary, "session", "go to Session: the transcript last opened";
    ScreenChannels = "screen-channels", Ordinary, "channels", "go to Channels: health and autonomy";
    ScreenContinuations = "screen-continuations", Ordinary, "continuations", "go to Continuations: what runs, waits, was interrupted or has ended";
    ScreenRules = "screen-rules", Ordinary, "rules", "go to Rules: rules and session grants, and what they match";
    ScreenCacheCost = "screen-cache-cost", Ordinary, "cache & cost", "go to Cache & cost: cached responses, spending, budgets";
    ScreenMemory = "screen-memory", Ordinary, "memory", "go to Memory: memories, and what hygiene archives";
    ScreenAudit = "screen-audit", Ordinary, "audit & log", "go to Audit & log: who did what";
    ScreenDoctor = "screen-doctor", Ordinary, "doctor", "go to Doctor: checks with fixes, hooks, models";
    ScreenResources = "screen-resources", Ordinary, "resources", "go to Resources: tools, people, routines, pairings";
    ScreenDatasets = "screen-datasets", Ordinary, "datasets", "go to Datasets: tables that people sent";
    ScreenServers = "screen-servers", Ordinary, "servers", "go to Servers: tool servers, and which of their tools agents get";
    ScreenStats = "screen-stats", Ordinary, "statistics", "go to Statistics: cost and health over time";
    ScreenFleet = "screen-fleet", Ordinary, "fleet", "go to Fleet: every channel of every daemon, what waits first";
    LastScreen = "last-screen", Ordinary, "last screen", "go back to the previous screen";
    MoveDown = "move-down", Ordinary, "down", "move down one line";
    MoveUp = "move-up", Ordinary, "up", "move up one line";
    MoveTop = "move-top", Ordinary, "top", "move to the first line";
    MoveBottom = "move-bottom", Ordinary, "bottom", "move to the last line";
    PageDown = "page-down", Ordinary, "page down", "scroll the card or list down half a page";
    PageUp = "page-up", Ordinary, "page up", "scroll the card or list up half a page";
    Open = "open", Ordinary, "open", "open what is selected; never decides anything";
    Back = "back", Ordinary, "back", "close what was opened last";
    NextPane = "next-pane", Ordinary, "pane", "move between the list and the card";
    NextWaiting = "next-waiting", Ordinary, "next", "go to the next card that waits for a person; decides nothing";
    Approve = "approve", Decision, DecisionKind::Approve.text().label, "allow this call once";
    Deny = "deny", Decision, DecisionKind::Deny.text().label, "refuse; the model is told and goes on";
    DenyWithReason = "deny-with-reason", Decision, "deny, reason", "refuse with a reason that the model reads";
    EditArguments = "edit-arguments", Decision, "edit", "change the arguments; it stays pending until allowed";
    AnswerInstead = "answer-instead", Decision, "answer", "give the model an answer in place of the tool's";
    DenyAndStop = "deny-and-stop", Decision, "deny+stop", "refuse and end the whole turn";
    Snooze = "snooze", Decision, DecisionKind::Snooze.text().label, "hide from me for some minutes";
    SettleHappened = "settle-happened", Decision, DecisionKind::Happened.text().label, "unknown outcome: it happened, or was sent";
    SettleAgain = "settle-again", Decision, "again", "unknown outcome: run or send it again; on a command that waits: rehearse it";
    SettleGiveUp = "settle-give-up", Decision, DecisionKind::GiveUp.text().label, "unknown outcome: give it up";
    Dismiss = "dismiss", Decision, "dismiss", "dismiss leftovers of a run, or refused calls; changes no file";
    AllowShape = "allow-shape", Decision, "shape", "allow exactly this for this turn, some time or this session; a dialog prints it and asks again";
    Rehearse = "rehearse", Decision, "rehearse", "run the command in a throw-away copy of the workspace, without network; decides nothing";
    MakeRule = "make-rule", Decision, "rule", "make a rule on this call, with what it would have matched, and decide it";
    ResumeContinuation = "resume-continuation", Ordinary, "resume", "let an interrupted turn go on from its last durable step";
    RetryContinuation = "retry-continuation", Ordinary, "retry", "start an ended turn's message again";
    AllowLater = "allow-later", Ordinary, "allow later", "let an external agent make an expired call once; asks first";
    KillContinuation = "kill-continuation", Ordinary, "kill", "cancel the turn and kill its tools";
    Autonomy = "autonomy", Ordinary, "autonomy", "open the autonomy selector with its what-if";
    ToolLists = "tool-lists", Ordinary, "tools", "let tools of this channel run alone, always ask or never run";
    Models = "models", Ordinary, "models", "choose the session's model; look for model servers on this machine";
    PauseSession = "pause-session", Ordinary, "pause", "pause or resume the session";
    PauseChannel = "pause-channel", Ordinary, "pause channel", "pause or resume the channel";
    NewSession = "new-session", Ordinary, "new", "open a new desk session";
    Compose = "compose", Ordinary, "write", "write a message to this session";
    Fold = "fold", Ordinary, "fold", "fold or unfold this entry";
    FoldAll = "fold-all", Ordinary, "fold all", "fold or unfold every tool card";
    Follow = "follow", Ordinary, "follow", "follow the newest line";
    Freeze = "freeze", Ordinary, "freeze", "stop following, keep reading here";
    Search = "search", Ordinary, "search", "search in the transcript as you type";
    SearchNext = "search-next", Ordinary, "next", "next match";
    SearchPrevious = "search-previous", Ordinary, "previous", "previous match";
    CopyId = "copy-id", Ordinary, "copy id", "copy the id of what is selected (OSC 52)";
    CopyAll = "copy-all", Ordinary, "copy all", "copy everything of what is selected (OSC 52)";
    Help = "help", Ordinary, "help", "keys of this screen; type to search, enter to execute";
    Palette = "palette", Ordinary, "palette", "every action; type to search, enter to execute";
    CommandLine = "command-line", Ordinary, "command", "command line with completion";
    EmergencyStop = "emergency-stop", Ordinary, "STOP", "emergency stop: kill tools, hold model calls and sends";
    ReleaseStop = "release-stop", Ordinary, "release", "release the emergency stop";
    Lock = "lock", Ordinary, "lock", "lock or unlock: read-only until unlocked";
    Refresh = "refresh", Ordinary, "refresh", "ask the engine again";
    Redraw = "redraw", Ordinary, "redraw", "draw the whole screen again";
    Suspend = "suspend", Ordinary, "suspend", "suspend the console";
    Quit = "quit", Ordinary, "back/quit", "back, then the quit menu";
    GroupCosts = "group-costs", Ordinary, "channel/model/day", "sum spending by channel, by model or by day";
    StatsShorter = "stats-shorter", Ordinary, "shorter", "show a shorter time: 90 days, 30 days, 7 days, 24 hours";
    StatsLonger = "stats-longer", Ordinary, "longer", "show a longer time: 24 hours, 7 days, 30 days, 90 days";
    GroupStats = "group-stats", Ordinary, "group", "group by nothing, channel, model, tool or person";
    Numbers = "numbers", Ordinary, "numbers", "all the numbers of this screen, or the overview again";
    PinAnswer = "pin-answer", Ordinary, "pin", "pin or unpin this response; a pinned one does not expire";
    PurgeAnswer = "purge-answer", Ordinary, "purge", "remove this cached response; asks first";
    PurgeAnswers = "purge-answers", Ordinary, "purge channel", "purge the cached responses of this channel; asks first";
    FullCheck = "full-check", Ordinary, "full check", "verify every rule of the database; shows first how much it reads";
    ResetHook = "reset-hook", Ordinary, "reset hook", "call this hook again at once, although it failed too often";
    Filter = "filter", Ordinary, "filter", "show only the rows with these words";
    Why = "why", Ordinary, "why", "why did this run, ask or get refused: rule, level, lists, history";
    OpenQuestion = "open-question", Ordinary, "its question", "go to the question that this turn waits for";
    QueueOfChannel = "queue-of-channel", Ordinary, "its queue", "show this channel's part of the Queue";
    AuditPeople = "audit-people", Ordinary, "people", "list only what people did, or everything";
    ShowLog = "show-log", Ordinary, "log", "switch between the audit and the daemon's log";
    LogLevel = "log-level", Ordinary, "level", "change the level of the log: debug, errors only, warnings, info";
    VerifyAudit = "verify-audit", Ordinary, "verify", "verify the whole audit chain";
    MemoryAdd = "memory-add", Ordinary, "remember", "write a memory in the scope that is shown";
    MemoryEdit = "memory-edit", Ordinary, "edit", "edit this memory";
    MemoryPin = "memory-pin", Ordinary, "pin", "pin or unpin; a pinned memory is in every context of its scope";
    MemoryAccept = "memory-accept", Ordinary, "accept", "accept this proposed memory";
    MemoryDelete = "memory-delete", Ordinary, "delete", "delete this memory for good, or refuse a proposed one";
    MemorySupersede = "memory-supersede", Ordinary, "replaces", "replace the marked memories by this one";
    MemoryMark = "memory-mark", Ordinary, "mark", "mark or unmark this memory";
    MemorySummary = "memory-summary", Ordinary, "summary", "read the summary of its session";
    MemoryHygiene = "memory-hygiene", Ordinary, "hygiene", "hygiene: what it would archive, and past runs";
    MemoryRoutines = "memory-routines", Ordinary, "routines", "routines: prompts that the bot runs on a schedule";
    MemoryRun = "memory-run", Ordinary, "run", "run hygiene, or the selected routine, now";
    MemoryUndo = "memory-undo", Ordinary, "undo", "undo a hygiene run";
    MemoryToggle = "memory-toggle", Ordinary, "on/off", "enable or disable the selected routine";
    DatasetUpload = "dataset-upload", Ordinary, "upload", "upload a file of this machine as a dataset";
    DatasetAsk = "dataset-ask", Ordinary, "ask", "query the selected dataset: filter, group, aggregate";
    DatasetDelete = "dataset-delete", Ordinary, "delete", "remove the selected dataset for good";
    ServerTest = "server-test", Ordinary, "test", "connect the selected server and list what it offers";
    ServerTrust = "server-trust", Ordinary, "trust", "let agents call the tools of the selected server as they are shown";
    ServerDistrust = "server-distrust", Ordinary, "distrust", "let agents call no tool of the selected server";
    ServerStart = "server-start", Ordinary, "restart", "reconnect the selected server";
    ServerStop = "server-stop", Ordinary, "stop", "end the connection to the selected server until somebody starts it";
    RuleAdd = "rule-add", Ordinary, "new rule", "make a rule";
    RuleEdit = "rule-edit", Ordinary, "edit rule", "edit the rule";
    RuleToggle = "rule-toggle", Ordinary, "on/off", "enable or disable the rule; asks first where more calls would run";
    RuleRemove = "rule-remove", Ordinary, "remove", "remove the rule, or revoke the session grant; asks first";
    RuleTest = "rule-test", Ordinary, "test", "test a call against the rules; runs nothing";
    Mark = "mark", Ordinary, "mark", "mark or unmark the card; decision keys then list all marked cards in a table";
    GroupQueue = "group-queue", Ordinary, "group", "group by channel, by tool, by risk, or by deadline alone";
    Undo = "undo", Ordinary, "undo", "undo the last decision of this console while possible; names it first";
    NextHost = "next-host", Ordinary, "next host", "show the next of the daemons this console is attached to";
    TakeOver = "take-over", Ordinary, "take over", "write as the bot while its agent waits, or give it back";
    Shell = "shell", Ordinary, "shell", "run commands in the shell of the session's agent";
    EndInterpreter = "end-interpreter", Ordinary, "end it", "end the selected shell or Python with all that runs in it; asks first";
    DrainChannel = "drain-channel", Ordinary, "drain", "drain the channel (finish open work, start nothing new), or end the drain";
    TestChannel = "test-channel", Ordinary, "test", "send a message through the channel that says that it is a test";
    ShiftSummary = "shift-summary", Ordinary, "summary", "shift summary: what waits, what is unusual, who did what";
    Mouse = "mouse", Ordinary, "mouse", "let the mouse select and scroll, or leave it to the terminal; it never decides";
    Export = "export", Ordinary, "export", "write the whole session as Markdown into the current directory";
    NextApproval = "next-approval", Ordinary, "next approval", "go down to the next call that asked";
    PreviousApproval = "previous-approval", Ordinary, "previous approval", "go up to the call that asked before";
    NextError = "next-error", Ordinary, "next error", "go down to the next thing that failed";
    PreviousError = "previous-error", Ordinary, "previous error", "go up to what failed before";
    Raw = "raw", Ordinary, "as written", "show model texts raw or as Markdown; on a card: show every field";
    Replay = "replay", Ordinary, "replay", "replay the selected turn, or the session if no turn is selected";
    ReplayPause = "replay-pause", Ordinary, "pause/play", "replay: pause, or go on";
    ReplayForward = "replay-forward", Ordinary, "forward", "replay: pause, and show the next thing that happened";
    ReplayBack = "replay-back", Ordinary, "back one", "replay: pause, and show what was before";
    ReplayLater = "replay-later", Ordinary, "later", "replay: a tenth of the time forward";
    ReplayEarlier = "replay-earlier", Ordinary, "earlier", "replay: a tenth of the time back";
    ReplayFilesDown = "replay-files-down", Ordinary, "files down", "replay: scroll the files of the step down";
    ReplayFilesUp = "replay-files-up", Ordinary, "files up", "replay: scroll the files of the step up";
    ReplayFaster = "replay-faster", Ordinary, "faster", "replay: four times faster, up to 16";
    ReplaySlower = "replay-slower", Ordinary, "slower", "replay: four times slower, down to the time it took";
    Assign = "assign", Ordinary, "assign", "assign this question to a person, or to nobody; decides nothing";
    DialogNext = "dialog-next", Dialog, "next", "next choice";
    DialogPrevious = "dialog-previous", Dialog, "previous", "previous choice";
    DialogAccept = "dialog-accept", Dialog, "choose", "take the choice";
    DialogCancel = "dialog-cancel", Dialog, "cancel", "close without doing anything";
    DialogFilter = "dialog-filter", Dialog, "filter", "list only rows with these words";
    DialogDiscover = "dialog-discover", Dialog, "look for servers", "look for model servers on this machine";
    DialogPageDown = "dialog-page-down", Dialog, "page down", "scroll down half a page";
    DialogPageUp = "dialog-page-up", Dialog, "page up", "scroll up half a page";
    DialogLonger = "dialog-longer", Dialog, "more", "let the level, shape or rule hold longer, or the tool do more";
    DialogShorter = "dialog-shorter", Dialog, "less", "let the level, shape or rule hold shorter, or the tool do less";
    DialogAgain = "dialog-again", Dialog, "allow", "shape dialog: allow what it prints, 0.7 s after it appeared";
    DialogApprove = "dialog-approve", Dialog, "allow", "table that `a` opens: allow the listed calls, 0.7 s after it appeared";
    TextEnter = "text-enter", Text, "done", "new line, or finish a one-line field";
    TextSubmit = "text-submit", Text, "send", "finish the field";
    TextCancel = "text-cancel", Text, "close", "close the field; the draft is kept";
    TextLeft = "text-left", Text, "left", "cursor left";
    TextRight = "text-right", Text, "right", "cursor right";
    TextUp = "text-up", Text, "previous", "cursor up, or previous choice";
    TextDown = "text-down", Text, "next", "cursor down, or next choice";
    TextWordLeft = "text-word-left", Text, "word left", "cursor one word left";
    TextWordRight = "text-word-right", Text, "word right", "cursor one word right";
    TextHome = "text-home", Text, "line start", "cursor to the start of the line";
    TextEnd = "text-end", Text, "line end", "cursor to the end of the line";
    TextDeleteBack = "text-delete-back", Text, "delete", "delete the character before the cursor";
    TextDeleteForward = "text-delete-forward", Text, "delete", "delete the character under the cursor";
    TextDeleteWord = "text-delete-word", Text, "delete word", "delete the word before the cursor";
    TextKillToEnd = "text-kill-to-end", Text, "kill", "delete to the end of the line";
    TextKillToStart = "text-kill-to-start", Text, "kill back", "delete to the start of the line";
    TextComplete = "text-complete", Text, "complete", "complete the word";
    TextEditor = "text-editor", Text, "editor", "edit in $EDITOR";
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
