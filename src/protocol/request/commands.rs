//! The table of commands: what any surface can ask the engine to do.
//!
//! Commands are plain data. The adapter sets actor and surface from what it has authenticated, never from a request
//! body; `engine::handle` alone checks scopes and policy.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::protocol::agent_job::AgentJob;
use crate::protocol::approval::Approval;
use crate::protocol::artifact::NewAttachment;
use crate::protocol::backup::BackupReport;
use crate::protocol::cache::{CacheEntry, CachePurge, CachePurgeResult};
use crate::protocol::channel::Channel;
use crate::protocol::chat::EarlierMessage;
use crate::protocol::command::{
    Accepted, BudgetRequest, DecisionRequest, DeliveryResolution, Waiting,
};
use crate::protocol::configuration::ConfigurationReload;
use crate::protocol::dataset::{Base64Bytes, Dataset, DatasetPart, DatasetUpload};
use crate::protocol::doctor::Finding;
use crate::protocol::enums::{
    DatasetFormat, ExternalAgent, HookPoint, InterpreterKind, MemoryKind, Scope,
};
use crate::protocol::file_change::FileChange;
use crate::protocol::gate::GateAnswer;
use crate::protocol::hook::{Hook, HookTrial};
use crate::protocol::hygiene::HygieneRun;
use crate::protocol::ids::{
    ApprovalId, ContinuationId, DatasetUploadId, HygieneRunId, MemoryId, OutboxId, RoutineId,
    RuleId, SessionId, TakeOverId, ToolCallId,
};
use crate::protocol::leftovers::Leftovers;
use crate::protocol::mcp::{McpPrompt, McpResource, McpServer, McpServerReview, McpText};
use crate::protocol::memory::{
    Compaction, Erasure, Memory, MemoryImport, MemoryImportResult, MemoryTarget,
};
use crate::protocol::models::{Discovery, ModelTest};
use crate::protocol::on_call::{AssignRequest, OnCallRequest, OnCallStatus};
use crate::protocol::options::TurnOptions;
use crate::protocol::pairing::Pairing;
use crate::protocol::policy::PolicyPatch;
use crate::protocol::problem::Problem;
use crate::protocol::rehearsal::Rehearsal;
use crate::protocol::request::table::{Request, mismatch, requests};
use crate::protocol::routine::{Routine, RoutinePatch, RoutineRun};
use crate::protocol::rule::{Rule, RulePatch};
use crate::protocol::session::{Continuation, OutboxItem, Session};
use crate::protocol::skill::Skill;
use crate::protocol::snapshot::{EngineStatus, Page, SweepReport};
use crate::protocol::token::{NewToken, Token};
use crate::protocol::tool::{Interpreter, ShellRequest, ShellRun};
use crate::protocol::uncertain::ConversationChoice;

requests! {
    /// Everything a surface can submit.
    #[serde(tag = "command", rename_all = "snake_case")]
    enum Command;

    /// What a carried-out [`Command`] returns, of the variant of the same name.
    #[serde(tag = "outcome", content = "value", rename_all = "snake_case")]
    enum Outcome;

    /// Opens a session, or gets the active one of the same conversation.
    StartSession: Operate -> Session {
        /// Channel name; default `api`.
        #[serde(default)]
        channel: Option<String>,
        /// Conversation key on that channel; default a fresh one.
        #[serde(default)]
        conversation: Option<String>,
        /// Title shown in lists.
        #[serde(default)]
        title: Option<String>,
        /// `<provider>/<model>`.
        #[serde(default)]
        model: Option<String>,
    }

    /// Changes a session.
    UpdateSession: Operate -> Session {
        /// Which one.
        session_id: SessionId,
        /// New title.
        #[serde(default)]
        title: Option<String>,
        /// New model.
        #[serde(default)]
        model: Option<String>,
        /// Whether new continuations are held back.
        #[serde(default)]
        paused: Option<bool>,
        /// What models are told in every turn of it, at most 2 KiB; empty: nothing any more.
        #[serde(default)]
        preferences: Option<String>,
    }

    /// Ends a session; open continuations are cancelled.
    EndSession: Operate -> Session {
        /// Which one.
        session_id: SessionId,
    }

    /// Goes back to an earlier session of a conversation. Its active session ends, and open continuations are
    /// cancelled.
    ResumeSession: Operate -> Session {
        /// Which one.
        session_id: SessionId,
    }

    /// Submits a user message.
    SendMessage: Operate -> Accepted {
        /// Which session.
        session_id: SessionId,
        /// The text, at most 256 KiB.
        text: String,
        /// Model for this turn only.
        #[serde(default)]
        model: Option<String>,
        /// Lower limits for this turn.
        #[serde(default)]
        budgets: BudgetRequest,
        /// Ask the model even where a response is cached, and cache the new one.
        #[serde(default)]
        fresh: bool,
        /// Files that come with it, at most 10.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<NewAttachment>,
        /// What the turn may use, and how models are asked in it.
        #[serde(default)]
        options: TurnOptions,
    }

    /// Submits a message to a temporary session that ends with the turn.
    Ask: Operate -> Accepted {
        /// Channel whose policy applies; `api` over HTTP, `cli` from the command line.
        channel: String,
        /// Conversation key on that channel; default a fresh one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversation: Option<String>,
        /// The text.
        text: String,
        /// Model for this turn only.
        #[serde(default)]
        model: Option<String>,
        /// Lower limits for this turn.
        #[serde(default)]
        budgets: BudgetRequest,
        /// Ask the model even where a response is cached, and cache the new one.
        #[serde(default)]
        fresh: bool,
        /// Files that come with it, at most 10.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<NewAttachment>,
        /// What the turn may use, and how models are asked in it.
        #[serde(default)]
        options: TurnOptions,
    }

    /// Submits a message of a chat client to a conversation of its own. A repeated key gives the turn that it began,
    /// whichever session the repetition names.
    Converse: Chat -> Accepted {
        /// Channel whose agent answers.
        channel: String,
        /// The session that goes on; none = a new one, or the active one of the conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<SessionId>,
        /// Key of the conversation, 1 to 128 characters, without the prefix of its client.
        conversation: String,
        /// The text, at most 256 KiB.
        text: String,
        /// What was said before the session began, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier: Vec<EarlierMessage>,
        /// Whether the session ends with the turn.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        once: bool,
        /// Lower limits for this turn.
        #[serde(default)]
        budgets: BudgetRequest,
        /// Files that come with it, at most 10.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<NewAttachment>,
        /// What the turn may use, and how models are asked in it.
        #[serde(default)]
        options: TurnOptions,
    }

    /// Calls a tool without a model: a turn that makes this one call, and answers with its result.
    CallTool: Operate -> Accepted {
        /// Which session.
        session_id: SessionId,
        /// Tool name.
        tool: String,
        /// Its arguments, as its schema says.
        #[serde(default)]
        arguments: Map<String, Value>,
    }

    /// Asks whether an external agent may make a call, and waits for the answer; or takes what its hook reports.
    AskGate: Gate -> GateAnswer {
        /// Which program.
        agent: ExternalAgent,
        /// What the hook of the program says: an object in its words.
        hook: Value,
        /// Seconds that the hook waits for an answer, 1 to 86 400.
        wait_seconds: u32,
        /// The machine that the program runs on; none = this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    }

    /// Starts an external agent on a task. Each call that it makes is judged; it ends while one waits, and goes on after the
    /// decision.
    RunAgent: Admin -> AgentJob {
        /// Which program: `claude`.
        agent: ExternalAgent,
        /// Where it works, on the machine of the daemon; absolute.
        directory: String,
        /// What it is to do.
        task: String,
    }

    /// Ends the job of an external agent, with its program and the question that it waits for.
    CancelAgentJob: Operate -> AgentJob {
        /// Which.
        id: SessionId,
    }

    /// Ends a continuation; kills its tools.
    CancelContinuation: Operate -> Continuation {
        /// Which one.
        continuation_id: ContinuationId,
        /// Shown in history.
        #[serde(default)]
        reason: Option<String>,
    }

    /// Lets an interrupted continuation go on from its last durable step.
    ResumeContinuation: Operate -> Continuation {
        /// Which one.
        continuation_id: ContinuationId,
    }

    /// Starts a terminal continuation's message again as a new continuation.
    RetryContinuation: Operate -> Continuation {
        /// Which one.
        continuation_id: ContinuationId,
    }

    /// Begins to send a file that is to become a dataset: parts follow.
    BeginDatasetUpload: Operate -> DatasetUpload {
        /// Whose agents can ask it.
        channel: String,
        /// Its name; what is no letter or digit becomes `_`. None = from the name of the file.
        #[serde(default)]
        name: Option<String>,
        /// Name of the file: the end says what it is.
        file: String,
    }

    /// Sends the next part of a file.
    AppendDatasetUpload: Operate -> DatasetUpload {
        /// Which upload.
        upload_id: DatasetUploadId,
        /// Bytes that were sent before.
        offset: u64,
        /// The part, at most 4 MiB.
        data: Base64Bytes,
    }

    /// Makes the dataset of a file that was sent.
    FinishDatasetUpload: Operate -> Dataset {
        /// Which upload.
        upload_id: DatasetUploadId,
    }

    /// Takes a copy of a dataset, a piece at a time.
    ExportDataset: Read -> DatasetPart {
        /// Its id, its name, or `CHANNEL/NAME`.
        dataset: String,
        /// As what.
        format: DatasetFormat,
        /// Which piece: 0, then what the one before says.
        #[serde(default)]
        part: u64,
    }

    /// Removes a dataset for good.
    DeleteDataset: Operate -> Dataset {
        /// Its id, its name, or `CHANNEL/NAME`.
        dataset: String,
    }

    /// Answers an approval.
    Decide: Approve -> Approval {
        /// Which one.
        approval_id: ApprovalId,
        /// The answer.
        decision: DecisionRequest,
    }

    /// Changes a channel's policy; absent fields stay.
    SetPolicy: Operate -> Channel {
        /// Channel name.
        channel: String,
        /// What changes; absent fields stay.
        patch: PolicyPatch,
    }

    /// Stops taking messages from and sending to a channel's platform.
    PauseChannel: Operate -> Channel {
        /// Channel name.
        channel: String,
    }

    /// Undoes a pause.
    ResumeChannel: Operate -> Channel {
        /// Channel name.
        channel: String,
    }

    /// Settles an unknown or failed delivery.
    ResolveDelivery: Approve -> OutboxItem {
        /// Which part.
        outbox_id: OutboxId,
        /// It was sent, send it again, or drop it.
        resolution: DeliveryResolution,
        /// Why, kept with the decision.
        #[serde(default)]
        reason: Option<String>,
    }

    /// Kills running tools, and holds all model calls, tool starts and sends until released.
    EmergencyStop: Operate -> EngineStatus {
        /// Shown to everyone.
        #[serde(default)]
        reason: Option<String>,
    }

    /// Releases the emergency stop.
    ReleaseEmergencyStop: Admin -> EngineStatus {
        /// What happens to what waited; default all.
        #[serde(default)]
        waiting: Waiting,
        /// Where something else happens: `{session_id, waiting}` each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conversations: Vec<ConversationChoice>,
    }

    /// Writes a backup into one new file, while everything goes on.
    CreateBackup: Admin -> BackupReport {
        /// Absolute path of the file, which must not exist, as the engine's process sees it.
        path: String,
    }

    /// Reads the configuration again, and applies what needs no restart.
    ReloadConfiguration: Admin -> ConfigurationReload {
        /// Only compares.
        #[serde(default)]
        preview: bool,
    }

    /// Removes what is kept no longer, or counts it.
    Sweep: Admin -> SweepReport {
        /// Only counts.
        #[serde(default)]
        preview: bool,
    }

    /// Really asks a model, a few small calls that cost what they cost; answers when they have ended.
    TestModel: Operate -> ModelTest {
        /// `<provider>/<model>`; the default model where it is left out.
        #[serde(default)]
        model: Option<String>,
    }

    /// Keeps an answer past its time, or no longer.
    PinCacheEntry: Operate -> CacheEntry {
        /// Its id, or a longer beginning of its key.
        id: String,
        /// Whether; over HTTP true when left out.
        pinned: bool,
    }

    /// Removes cached responses.
    PurgeCache: Operate -> CachePurgeResult {
        /// Which.
        what: CachePurge,
    }

    /// Remembers something.
    AddMemory: Operate -> Memory {
        /// Where: `{scope: global}`, `{scope: channel, channel}` or `{scope: session, session_id}`.
        place: MemoryTarget,
        /// What it says, at most 4096 bytes.
        text: String,
        /// What kind; default `fact`.
        #[serde(default)]
        kind: Option<MemoryKind>,
        /// Into every context of its scope.
        #[serde(default)]
        pinned: bool,
        /// When it ends by itself.
        #[serde(default)]
        expires_at: Option<Timestamp>,
    }

    /// Changes a memory; what is absent stays.
    EditMemory: Operate -> Memory {
        /// Which.
        id: MemoryId,
        /// What it says now, at most 4096 bytes.
        #[serde(default)]
        text: Option<String>,
        /// New kind.
        #[serde(default)]
        kind: Option<MemoryKind>,
        /// New end.
        #[serde(default)]
        expires_at: Option<Timestamp>,
    }

    /// Puts a memory into every context of its scope, or no longer.
    PinMemory: Operate -> Memory {
        /// Which.
        id: MemoryId,
        /// Whether; over HTTP true when left out.
        pinned: bool,
    }

    /// Accepts a proposed memory.
    AcceptMemory: Operate -> Memory {
        /// Which.
        id: MemoryId,
    }

    /// One memory says better what others say: they are recalled no longer.
    SupersedeMemories: Operate -> Memory {
        /// The better one.
        id: MemoryId,
        /// Ids of the others, 1 to 100.
        others: Vec<MemoryId>,
    }

    /// Deletes a memory for good; a proposed one is refused that way.
    DeleteMemory: Operate -> MemoryId {
        /// Which.
        id: MemoryId,
    }

    /// Removes everything of a person for good: in memory, sessions, artifacts and caches.
    EraseUser: Admin -> Erasure {
        /// Stable platform id.
        person: String,
    }

    /// Remembers many things: all of them or none.
    ImportMemories: Admin -> MemoryImportResult {
        /// The objects of an export.
        items: Vec<MemoryImport>,
    }

    /// Puts all but the newest turn of a session into its summary; answers when that has ended, well or badly.
    CompactSession: Operate -> Compaction {
        /// Which.
        session_id: SessionId,
    }

    /// Archives now what is old or too much, and removes for good what was archived long ago.
    RunHygiene: Admin -> HygieneRun {
        /// Also where a scope would lose more than half of what it holds to retention.
        #[serde(default)]
        yes: bool,
    }

    /// Brings back what a run archived.
    UndoHygiene: Admin -> HygieneRun {
        /// Which.
        id: HygieneRunId,
    }

    /// Calls a hook with an example or a document; nothing follows from what it says.
    TryHook: Operate -> HookTrial {
        /// Which.
        name: String,
        /// At which of its points; none = its first.
        #[serde(default)]
        point: Option<HookPoint>,
        /// What it reads; none = an example.
        #[serde(default)]
        input: Option<Value>,
    }

    /// Calls a hook again at once that failed too often; answers its points.
    ResetHook: Operate -> Page<Hook> {
        /// Which.
        name: String,
    }

    /// Makes a routine.
    AddRoutine: Admin -> Routine {
        /// What it is; name, schedule and prompt are needed.
        routine: RoutinePatch,
    }

    /// Changes a routine; what is left out stays.
    ChangeRoutine: Admin -> Routine {
        /// Which, by id or name.
        routine: String,
        /// What changes.
        patch: RoutinePatch,
    }

    /// Removes a routine with its history; its turns stay.
    RemoveRoutine: Admin -> RoutineId {
        /// Which, by id or name.
        routine: String,
    }

    /// Runs a routine now, enabled or not.
    RunRoutine: Operate -> RoutineRun {
        /// Which, by id or name.
        routine: String,
    }

    /// Looks for model servers on the engine's machine, with the lines that would declare them; none is used.
    DiscoverModels: Admin -> Discovery {}

    /// Trusts instructions or a skill as its files are now: agents get it.
    TrustSkill: Admin -> Skill {
        /// Its name, or `instructions:` and a channel.
        name: String,
        /// Digest of its files as the person has read them.
        sha256: String,
    }

    /// Trusts instructions or a skill no longer: agents do not get it.
    DistrustSkill: Admin -> Skill {
        /// Its name, or `instructions:` and a channel.
        name: String,
    }

    /// Trusts what a tool server offers now, or some of its tools: agents get them.
    TrustMcpServer: Admin -> McpServerReview {
        /// Its name in the configuration.
        name: String,
        /// Digest of all that it offers, as the person has read it.
        sha256: String,
        /// Only these tools, by their names on the server; none = all that can be trusted. Others stay as they are.
        #[serde(default)]
        tools: Option<Vec<String>>,
    }

    /// Trusts a tool server no longer: agents get none of its tools.
    DistrustMcpServer: Admin -> McpServerReview {
        /// Its name in the configuration, or that of a server which was taken out of it.
        name: String,
    }

    /// Ends the connection to a tool server; calls of its tools fail until somebody starts it.
    StopMcpServer: Operate -> McpServer {
        /// Its name in the configuration.
        name: String,
    }

    /// Connects a tool server, anew where it is connected.
    StartMcpServer: Operate -> McpServer {
        /// Its name in the configuration.
        name: String,
    }

    /// Connects a tool server where that is needed, and lists what it offers.
    TestMcpServer: Operate -> McpServerReview {
        /// Its name in the configuration.
        name: String,
    }

    /// The resources of a tool server; connects it where that is needed.
    ListMcpResources: Operate -> Page<McpResource> {
        /// Its name in the configuration.
        name: String,
    }

    /// The text of a resource of a tool server; connects it where that is needed. Outside text.
    ReadMcpResource: Operate -> McpText {
        /// Its name in the configuration.
        name: String,
        /// Address of the resource.
        uri: String,
    }

    /// The prompts of a tool server; connects it where that is needed.
    ListMcpPrompts: Operate -> Page<McpPrompt> {
        /// Its name in the configuration.
        name: String,
    }

    /// A prompt of a tool server with its arguments filled in; connects it where that is needed. Outside text.
    GetMcpPrompt: Operate -> McpText {
        /// Its name in the configuration.
        name: String,
        /// Name of the prompt.
        prompt: String,
        /// Its arguments, by name.
        #[serde(default)]
        arguments: BTreeMap<String, String>,
    }

    /// Lets an external agent make a call once that nobody decided in time, if it asks again within 15 minutes.
    AllowLater: Approve -> Rule {
        /// The approval that is over.
        approval_id: ApprovalId,
    }

    /// Makes a rule.
    AddRule: Admin -> Rule {
        /// What it says; tool, matcher and value are needed.
        rule: Box<RulePatch>,
    }

    /// Changes a rule; what is left out stays.
    ChangeRule: Admin -> Rule {
        /// Which.
        id: RuleId,
        /// What changes.
        patch: Box<RulePatch>,
    }

    /// Removes a rule; what it decided stays in the history.
    RemoveRule: Admin -> RuleId {
        /// Which.
        id: RuleId,
    }

    /// Takes a permission for a shape back, by the approval it was given with.
    RemoveGrant: Operate -> ApprovalId {
        /// Which.
        id: ApprovalId,
    }

    /// Holds the agent of a conversation, to write in its place. Somebody who holds it already takes it along to where
    /// they are now.
    TakeOverSession: Operate -> Session {
        /// Which session.
        session_id: SessionId,
        /// Even from somebody else.
        #[serde(default)]
        force: bool,
    }

    /// Writes as the bot in a conversation that was taken over; what waited is answered with it.
    SendAsBot: Operate -> Session {
        /// Which session.
        session_id: SessionId,
        /// `taken_over.id` of the session.
        take_over_id: TakeOverId,
        /// Markdown, at most 256 KiB.
        text: String,
    }

    /// Gives a conversation back to its agent, which answers what came in since the last word.
    GiveBackSession: Operate -> Session {
        /// Which session.
        session_id: SessionId,
        /// Even somebody else's.
        #[serde(default)]
        force: bool,
    }

    /// Lets a channel finish what was begun and take up nothing new, or everything again.
    DrainChannel: Operate -> Channel {
        /// Channel name.
        channel: String,
        /// False takes up work again; over HTTP true when left out.
        drain: bool,
    }

    /// Asks the platform whether a channel's account is set up as it must be; changes nothing there.
    CheckChannel: Operate -> Page<Finding> {
        /// Channel name.
        channel: String,
    }

    /// Sends a message that says that it is a test; the delivery tells how it ended.
    TestChannel: Operate -> OutboxItem {
        /// Channel name.
        channel: String,
        /// Conversation key; the one with the newest change where it is left out.
        #[serde(default)]
        conversation: Option<String>,
    }

    /// Lets somebody in as a user, by the code they were told or by id.
    AcceptPairing: Approve -> Pairing {
        /// Code or id.
        pairing: String,
    }

    /// Keeps somebody out, without a word to them.
    RefusePairing: Approve -> Pairing {
        /// Code or id.
        pairing: String,
    }

    /// Takes either back: they are unknown again, and may ask again.
    RevokePairing: Approve -> Pairing {
        /// Code or id.
        pairing: String,
    }

    /// Runs the command that an approval waits for in a throw-away copy of its workspace, without network, and tells what
    /// it would do. It is no run of the call, and decides nothing.
    RehearseCall: Approve -> Rehearsal {
        /// Which approval.
        approval_id: ApprovalId,
    }

    /// Runs a command in the shell of a session, or code in its Python, as a person. Nobody is asked, and the audit says
    /// who it was. The agent hears of it with its next command there. Refused while another command runs there.
    RunInShell: Admin -> ShellRun {
        /// Which session.
        session_id: SessionId,
        /// What runs.
        request: ShellRequest,
    }

    /// Ends a shell, or another interpreter, of a session, with everything that runs in it.
    EndInterpreter: Operate -> Interpreter {
        /// Which session.
        session_id: SessionId,
        /// Which of its interpreters.
        kind: InterpreterKind,
    }

    /// Lets a question wait for somebody in particular; decides nothing, and everybody still can.
    AssignApproval: Approve -> Approval {
        /// Which one.
        approval_id: ApprovalId,
        /// To whom.
        request: AssignRequest,
    }

    /// Says who is on call.
    SetOnCall: Operate -> OnCallStatus {
        /// Who, for how long.
        #[serde(flatten)]
        request: OnCallRequest,
    }

    /// Sends marked messages the way of a question that nobody decides; nothing waits and nothing runs.
    DrillEscalation: Operate -> crate::protocol::escalation::EscalationDrill {
        /// Which channel, how fast.
        #[serde(flatten)]
        request: crate::protocol::escalation::DrillRequest,
    }

    /// Takes what a call left off the Queue, once it was looked at; no file changes.
    DismissLeftovers: Approve -> Leftovers {
        /// Which call.
        tool_call_id: ToolCallId,
    }

    /// Puts the files of a call back as they were before it: all of them, or none where one was changed since.
    UndoFileChange: Operate -> FileChange {
        /// Which call.
        tool_call_id: ToolCallId,
    }

    /// Takes the calls that were refused because too many waited off the Queue; they stay refused.
    DismissRefusedCalls: Approve -> Session {
        /// Which session.
        session_id: SessionId,
    }

    /// Makes a token, and answers its value this once. It gives no more than the caller has, nor than the role of its
    /// person.
    CreateToken: Admin -> NewToken {
        /// Its name: 1 to 64 letters, digits, `.`, `_` or `-`.
        name: String,
        /// What it may do.
        scopes: Vec<Scope>,
        /// Whose it is, a name under `[people]`; left out, it stands for a program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        person: Option<String>,
        /// When it ends; never when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    }

    /// Ends a token for good; its open streams end within a second.
    RevokeToken: Admin -> Token {
        /// Its name.
        name: String,
    }
}
