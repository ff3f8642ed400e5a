//! The table of commands: what any surface can ask the engine to do.
//!
//! Commands are plain data. The adapter sets actor and surface from the authenticated caller, never from a request
//! body. Only `engine::handle` checks scopes and policy.

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
    /// A command of a surface to the engine.
    #[serde(tag = "command", rename_all = "snake_case")]
    enum Command;

    /// What a successful [`Command`] returns: the variant of the same name.
    #[serde(tag = "outcome", content = "value", rename_all = "snake_case")]
    enum Outcome;

    /// Opens a session, or returns the active one of the same conversation.
    StartSession: Operate -> Session {
        /// Channel name; default `api`.
        #[serde(default)]
        channel: Option<String>,
        /// Conversation key on that channel; default: a new key.
        #[serde(default)]
        conversation: Option<String>,
        /// Title in lists.
        #[serde(default)]
        title: Option<String>,
        /// Model of the session, `<provider>/<model>`; default: the channel's model.
        #[serde(default)]
        model: Option<String>,
    }

    /// Changes a session; absent fields stay.
    UpdateSession: Operate -> Session {
        /// Session id.
        session_id: SessionId,
        /// New title.
        #[serde(default)]
        title: Option<String>,
        /// New model, `<provider>/<model>`.
        #[serde(default)]
        model: Option<String>,
        /// Whether new continuations wait.
        #[serde(default)]
        paused: Option<bool>,
        /// Instructions for models in every turn of the session, at most 2 KiB; empty removes them.
        #[serde(default)]
        preferences: Option<String>,
    }

    /// Ends a session and cancels its open continuations.
    EndSession: Operate -> Session {
        /// Session id.
        session_id: SessionId,
    }

    /// Resumes an earlier session of a conversation; ends its active session and cancels open continuations.
    ResumeSession: Operate -> Session {
        /// Session id.
        session_id: SessionId,
    }

    /// Submits a user message.
    SendMessage: Operate -> Accepted {
        /// Session id.
        session_id: SessionId,
        /// The text, at most 256 KiB.
        text: String,
        /// Model for this turn only, `<provider>/<model>`.
        #[serde(default)]
        model: Option<String>,
        /// Lower limits for this turn.
        #[serde(default)]
        budgets: BudgetRequest,
        /// Whether to ask the model even if a response is cached, and then cache the new one.
        #[serde(default)]
        fresh: bool,
        /// Files of the message, at most 10.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<NewAttachment>,
        /// Tools, hints and model parameters of the turn.
        #[serde(default)]
        options: TurnOptions,
    }

    /// Submits a message to a temporary session that ends with the turn.
    Ask: Operate -> Accepted {
        /// Channel whose policy applies; `api` over HTTP, `cli` from the command line.
        channel: String,
        /// Conversation key on that channel; default: a new key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversation: Option<String>,
        /// The text, at most 256 KiB.
        text: String,
        /// Model for this turn only, `<provider>/<model>`.
        #[serde(default)]
        model: Option<String>,
        /// Lower limits for this turn.
        #[serde(default)]
        budgets: BudgetRequest,
        /// Whether to ask the model even if a response is cached, and then cache the new one.
        #[serde(default)]
        fresh: bool,
        /// Files of the message, at most 10.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<NewAttachment>,
        /// Tools, hints and model parameters of the turn.
        #[serde(default)]
        options: TurnOptions,
    }

    /// Submits a message of a chat client to its own conversation. A repeated idempotency key returns the turn of the
    /// first request, whichever session the repetition names.
    Converse: Chat -> Accepted {
        /// Channel whose agent answers.
        channel: String,
        /// The session to continue; none = a new one, or the active one of the conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<SessionId>,
        /// Conversation key without the prefix of its client, 1 to 128 characters.
        conversation: String,
        /// The text, at most 256 KiB.
        text: String,
        /// Messages from before the session, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier: Vec<EarlierMessage>,
        /// Whether the session ends with the turn.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        once: bool,
        /// Lower limits for this turn.
        #[serde(default)]
        budgets: BudgetRequest,
        /// Files of the message, at most 10.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<NewAttachment>,
        /// Tools, hints and model parameters of the turn.
        #[serde(default)]
        options: TurnOptions,
    }

    /// Calls a tool without a model: the turn makes this one call and answers with its result.
    CallTool: Operate -> Accepted {
        /// Session id.
        session_id: SessionId,
        /// Tool name.
        tool: String,
        /// Arguments of the tool, as its schema says.
        #[serde(default)]
        arguments: Map<String, Value>,
    }

    /// Asks whether an external agent may make a call, and waits for the answer; or accepts a report of its hook.
    AskGate: Gate -> GateAnswer {
        /// The external agent.
        agent: ExternalAgent,
        /// The hook's input in the format of the program: an object.
        hook: Value,
        /// Seconds that the hook waits for an answer, 1 to 86 400.
        wait_seconds: u32,
        /// The machine that the program runs on; none = the machine of the daemon.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    }

    /// Starts an external agent on a task. The policy checks each of its calls. The agent ends while a call waits for
    /// a decision, and goes on after it.
    RunAgent: Admin -> AgentJob {
        /// The external agent: `claude`.
        agent: ExternalAgent,
        /// Absolute path of its working directory, on the machine of the daemon.
        directory: String,
        /// The task for the agent.
        task: String,
    }

    /// Cancels the job of an external agent, ends its program, and withdraws its pending approval.
    CancelAgentJob: Operate -> AgentJob {
        /// Job id.
        id: SessionId,
    }

    /// Cancels a continuation and kills its tools.
    CancelContinuation: Operate -> Continuation {
        /// Continuation id.
        continuation_id: ContinuationId,
        /// Reason, shown in the history.
        #[serde(default)]
        reason: Option<String>,
    }

    /// Resumes an interrupted continuation from its last durable step.
    ResumeContinuation: Operate -> Continuation {
        /// Continuation id.
        continuation_id: ContinuationId,
    }

    /// Sends the message of an ended continuation again, as a new continuation.
    RetryContinuation: Operate -> Continuation {
        /// Continuation id.
        continuation_id: ContinuationId,
    }

    /// Begins the upload of a file that becomes a dataset. Parts follow.
    BeginDatasetUpload: Operate -> DatasetUpload {
        /// Channel whose agents can query it.
        channel: String,
        /// Dataset name; characters other than letters and digits become `_`. Default: from the file name.
        #[serde(default)]
        name: Option<String>,
        /// File name; its ending names the format.
        file: String,
    }

    /// Uploads the next part of a file.
    AppendDatasetUpload: Operate -> DatasetUpload {
        /// Upload id.
        upload_id: DatasetUploadId,
        /// Number of bytes sent before.
        offset: u64,
        /// The part, at most 4 MiB.
        data: Base64Bytes,
    }

    /// Creates the dataset from an uploaded file.
    FinishDatasetUpload: Operate -> Dataset {
        /// Upload id.
        upload_id: DatasetUploadId,
    }

    /// Exports a dataset, one part at a time.
    ExportDataset: Read -> DatasetPart {
        /// Id, name, or `CHANNEL/NAME`.
        dataset: String,
        /// Format of the export.
        format: DatasetFormat,
        /// Number of the part: 0, then `next` of the part before.
        #[serde(default)]
        part: u64,
    }

    /// Removes a dataset for good.
    DeleteDataset: Operate -> Dataset {
        /// Id, name, or `CHANNEL/NAME`.
        dataset: String,
    }

    /// Decides an approval.
    Decide: Approve -> Approval {
        /// Approval id.
        approval_id: ApprovalId,
        /// The decision.
        decision: DecisionRequest,
    }

    /// Changes a channel's policy; absent fields stay.
    SetPolicy: Operate -> Channel {
        /// Channel name.
        channel: String,
        /// The change; absent fields stay.
        patch: PolicyPatch,
    }

    /// Pauses a channel: the bridge exchanges no messages with the platform.
    PauseChannel: Operate -> Channel {
        /// Channel name.
        channel: String,
    }

    /// Ends the pause of a channel.
    ResumeChannel: Operate -> Channel {
        /// Channel name.
        channel: String,
    }

    /// Settles an unknown or failed delivery.
    ResolveDelivery: Approve -> OutboxItem {
        /// Delivery id of the part.
        outbox_id: OutboxId,
        /// `sent`, `send_again` or `drop`.
        resolution: DeliveryResolution,
        /// Reason, stored with the decision.
        #[serde(default)]
        reason: Option<String>,
    }

    /// Presses the emergency stop: kills running tools, and blocks model calls, tool starts and sends until a release.
    EmergencyStop: Operate -> EngineStatus {
        /// Reason, shown to everybody.
        #[serde(default)]
        reason: Option<String>,
    }

    /// Releases the emergency stop.
    ReleaseEmergencyStop: Admin -> EngineStatus {
        /// What happens to turns that waited; default `all`.
        #[serde(default)]
        waiting: Waiting,
        /// Exceptions for conversations: `{session_id, waiting}` each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conversations: Vec<ConversationChoice>,
    }

    /// Writes a backup into a new file while the engine goes on.
    CreateBackup: Admin -> BackupReport {
        /// Absolute path of the file on the machine of the daemon. The file must not exist.
        path: String,
    }

    /// Reads the configuration again and applies changes that need no restart.
    ReloadConfiguration: Admin -> ConfigurationReload {
        /// Whether to only compare.
        #[serde(default)]
        preview: bool,
    }

    /// Removes data whose retention has ended, or counts it.
    Sweep: Admin -> SweepReport {
        /// Whether to only count.
        #[serde(default)]
        preview: bool,
    }

    /// Tests a model with a few small calls, which cost money; answers when they have ended.
    TestModel: Operate -> ModelTest {
        /// `<provider>/<model>`; default: the default model.
        #[serde(default)]
        model: Option<String>,
    }

    /// Pins a cached response, so that it never expires, or unpins it.
    PinCacheEntry: Operate -> CacheEntry {
        /// Id, or a longer prefix of its key.
        id: String,
        /// Whether it is pinned; over HTTP the default is true.
        pinned: bool,
    }

    /// Removes cached responses.
    PurgeCache: Operate -> CachePurgeResult {
        /// Which responses to remove.
        what: CachePurge,
    }

    /// Adds a memory.
    AddMemory: Operate -> Memory {
        /// Place: `{scope: global}`, `{scope: channel, channel}` or `{scope: session, session_id}`.
        place: MemoryTarget,
        /// The text, at most 4096 bytes.
        text: String,
        /// Kind of the memory; default `fact`.
        #[serde(default)]
        kind: Option<MemoryKind>,
        /// Whether it goes into every context of its scope.
        #[serde(default)]
        pinned: bool,
        /// When it expires; default: never by itself.
        #[serde(default)]
        expires_at: Option<Timestamp>,
    }

    /// Changes a memory; absent fields stay.
    EditMemory: Operate -> Memory {
        /// Memory id.
        id: MemoryId,
        /// New text, at most 4096 bytes.
        #[serde(default)]
        text: Option<String>,
        /// New kind.
        #[serde(default)]
        kind: Option<MemoryKind>,
        /// New expiry time.
        #[serde(default)]
        expires_at: Option<Timestamp>,
    }

    /// Pins a memory, so that it goes into every context of its scope, or unpins it.
    PinMemory: Operate -> Memory {
        /// Memory id.
        id: MemoryId,
        /// Whether it is pinned; over HTTP the default is true.
        pinned: bool,
    }

    /// Accepts a proposed memory.
    AcceptMemory: Operate -> Memory {
        /// Memory id.
        id: MemoryId,
    }

    /// Replaces memories by a better one; the engine no longer recalls the replaced ones.
    SupersedeMemories: Operate -> Memory {
        /// Id of the better memory.
        id: MemoryId,
        /// Ids of the replaced memories, 1 to 100.
        others: Vec<MemoryId>,
    }

    /// Deletes a memory for good, or refuses a proposed one.
    DeleteMemory: Operate -> MemoryId {
        /// Memory id.
        id: MemoryId,
    }

    /// Erases a user: removes all of their data for good from memory, sessions, artifacts and caches.
    EraseUser: Admin -> Erasure {
        /// Stable platform id, for example `telegram:123456`.
        person: String,
    }

    /// Imports memories: all of them or none.
    ImportMemories: Admin -> MemoryImportResult {
        /// Objects in the format of an export.
        items: Vec<MemoryImport>,
    }

    /// Compacts a session: its summary replaces all turns but the newest. Answers when the compaction has ended.
    CompactSession: Operate -> Compaction {
        /// Session id.
        session_id: SessionId,
    }

    /// Archives memories that are too old or too many now, and removes for good what was archived long ago.
    RunHygiene: Admin -> HygieneRun {
        /// Whether to run even if a scope would lose more than half of its memories to retention.
        #[serde(default)]
        yes: bool,
    }

    /// Restores what a memory hygiene run archived.
    UndoHygiene: Admin -> HygieneRun {
        /// Id of the run.
        id: HygieneRunId,
    }

    /// Runs a hook on trial with an example or a document. The engine ignores the verdict.
    TryHook: Operate -> HookTrial {
        /// Name of the hook.
        name: String,
        /// Which of its points; default: its first one.
        #[serde(default)]
        point: Option<HookPoint>,
        /// Input of the hook; default: an example.
        #[serde(default)]
        input: Option<Value>,
    }

    /// Calls a hook again at once that failed too often. Answers its points.
    ResetHook: Operate -> Page<Hook> {
        /// Name of the hook.
        name: String,
    }

    /// Creates a routine.
    AddRoutine: Admin -> Routine {
        /// Settings; name, schedule and prompt are required.
        routine: RoutinePatch,
    }

    /// Changes a routine; absent fields stay.
    ChangeRoutine: Admin -> Routine {
        /// Id or name.
        routine: String,
        /// The change; absent fields stay.
        patch: RoutinePatch,
    }

    /// Removes a routine with its history; its turns stay.
    RemoveRoutine: Admin -> RoutineId {
        /// Id or name.
        routine: String,
    }

    /// Runs a routine now, even if it is disabled.
    RunRoutine: Operate -> RoutineRun {
        /// Id or name.
        routine: String,
    }

    /// Looks for model servers on the machine of the daemon, with the configuration for them. It uses none of them.
    DiscoverModels: Admin -> Discovery {}

    /// Trusts instructions or a skill in the current version of its files: agents get it.
    TrustSkill: Admin -> Skill {
        /// Name of the skill, or `instructions:` and a channel.
        name: String,
        /// Digest of the files that the person has read.
        sha256: String,
    }

    /// Revokes the trust in instructions or a skill: agents no longer get it.
    DistrustSkill: Admin -> Skill {
        /// Name of the skill, or `instructions:` and a channel.
        name: String,
    }

    /// Trusts the current offer of a tool server, or some of its tools: agents get them.
    TrustMcpServer: Admin -> McpServerReview {
        /// Name in the configuration.
        name: String,
        /// Digest of the offer that the person has read.
        sha256: String,
        /// Only these tools, by their names on the server; default: all that can be trusted. Others stay as they are.
        #[serde(default)]
        tools: Option<Vec<String>>,
    }

    /// Revokes the trust in a tool server: agents get none of its tools.
    DistrustMcpServer: Admin -> McpServerReview {
        /// Name in the configuration, or the name of a removed server.
        name: String,
    }

    /// Disconnects a tool server; calls of its tools fail until somebody starts it.
    StopMcpServer: Operate -> McpServer {
        /// Name in the configuration.
        name: String,
    }

    /// Connects a tool server, or connects it again.
    StartMcpServer: Operate -> McpServer {
        /// Name in the configuration.
        name: String,
    }

    /// Connects a tool server if necessary, and lists what it offers.
    TestMcpServer: Operate -> McpServerReview {
        /// Name in the configuration.
        name: String,
    }

    /// Lists the resources of a tool server; connects it if necessary.
    ListMcpResources: Operate -> Page<McpResource> {
        /// Name in the configuration.
        name: String,
    }

    /// Reads a resource of a tool server: untrusted text. Connects the server if necessary.
    ReadMcpResource: Operate -> McpText {
        /// Name in the configuration.
        name: String,
        /// URI of the resource.
        uri: String,
    }

    /// Lists the prompts of a tool server; connects it if necessary.
    ListMcpPrompts: Operate -> Page<McpPrompt> {
        /// Name in the configuration.
        name: String,
    }

    /// Fills in a prompt of a tool server: untrusted text. Connects the server if necessary.
    GetMcpPrompt: Operate -> McpText {
        /// Name in the configuration.
        name: String,
        /// Name of the prompt.
        prompt: String,
        /// Arguments by name.
        #[serde(default)]
        arguments: BTreeMap<String, String>,
    }

    /// Allows a call of an external agent once whose approval expired, if the agent asks again within 15 minutes.
    AllowLater: Approve -> Rule {
        /// Id of the expired approval.
        approval_id: ApprovalId,
    }

    /// Creates a rule.
    AddRule: Admin -> Rule {
        /// Settings; tool, matcher and value are required.
        rule: Box<RulePatch>,
    }

    /// Changes a rule; absent fields stay.
    ChangeRule: Admin -> Rule {
        /// Rule id.
        id: RuleId,
        /// The change; absent fields stay.
        patch: Box<RulePatch>,
    }

    /// Removes a rule; its decisions stay in the history.
    RemoveRule: Admin -> RuleId {
        /// Rule id.
        id: RuleId,
    }

    /// Revokes a grant, by the id of its approval.
    RemoveGrant: Operate -> ApprovalId {
        /// Approval id.
        id: ApprovalId,
    }

    /// Takes a conversation over: its agent pauses, and the caller writes in its place. A second take-over by the same
    /// person moves it to the new console.
    TakeOverSession: Operate -> Session {
        /// Session id.
        session_id: SessionId,
        /// Whether to take it even from another person.
        #[serde(default)]
        force: bool,
    }

    /// Sends a message as the bot in a conversation that the caller has taken over; ends the turns that waited there.
    SendAsBot: Operate -> Session {
        /// Session id.
        session_id: SessionId,
        /// `taken_over.id` of the session.
        take_over_id: TakeOverId,
        /// Text in Markdown, at most 256 KiB.
        text: String,
    }

    /// Gives a conversation back to its agent, which answers the messages since the last one that was sent.
    GiveBackSession: Operate -> Session {
        /// Session id.
        session_id: SessionId,
        /// Whether to give back even another person's take-over.
        #[serde(default)]
        force: bool,
    }

    /// Drains a channel: it finishes started work and starts nothing new. Or ends the drain.
    DrainChannel: Operate -> Channel {
        /// Channel name.
        channel: String,
        /// True drains; false takes up work again. Over HTTP the default is true.
        drain: bool,
    }

    /// Asks the platform whether a channel's account is set up correctly; changes nothing there.
    CheckChannel: Operate -> Page<Finding> {
        /// Channel name.
        channel: String,
    }

    /// Sends a message that is marked as a test. The delivery shows the outcome.
    TestChannel: Operate -> OutboxItem {
        /// Channel name.
        channel: String,
        /// Conversation key; default: the conversation with the newest change.
        #[serde(default)]
        conversation: Option<String>,
    }

    /// Grants an unknown sender access as a user.
    AcceptPairing: Approve -> Pairing {
        /// Code of the sender, or id of the pairing.
        pairing: String,
    }

    /// Refuses access to a sender without telling them.
    RefusePairing: Approve -> Pairing {
        /// Code of the sender, or id of the pairing.
        pairing: String,
    }

    /// Revokes a decision about access: the sender is unknown again, and may ask again.
    RevokePairing: Approve -> Pairing {
        /// Code of the sender, or id of the pairing.
        pairing: String,
    }

    /// Rehearses a pending command: runs it in a throw-away copy of its workspace, without network, and reports its
    /// effects. It is no run of the call, and decides nothing.
    RehearseCall: Approve -> Rehearsal {
        /// Approval id.
        approval_id: ApprovalId,
    }

    /// Runs a command of a person in the shell of a session, or code in its Python. It needs no approval; the audit
    /// names the person. The agent hears of it with its next command there. Refused while another command runs there.
    RunInShell: Admin -> ShellRun {
        /// Session id.
        session_id: SessionId,
        /// The command.
        request: ShellRequest,
    }

    /// Ends a shell, or another interpreter, of a session, with everything that runs in it.
    EndInterpreter: Operate -> Interpreter {
        /// Session id.
        session_id: SessionId,
        /// Kind of the interpreter.
        kind: InterpreterKind,
    }

    /// Assigns an approval to a person. It decides nothing, and everybody who may decide still can.
    AssignApproval: Approve -> Approval {
        /// Approval id.
        approval_id: ApprovalId,
        /// The assignee and a note.
        request: AssignRequest,
    }

    /// Sets who is on call.
    SetOnCall: Operate -> OnCallStatus {
        /// Who, for how long, and a note.
        #[serde(flatten)]
        request: OnCallRequest,
    }

    /// Starts an escalation drill: marked test messages take all steps of the policy. Nothing waits and nothing runs.
    DrillEscalation: Operate -> crate::protocol::escalation::EscalationDrill {
        /// Channel and speed of the drill.
        #[serde(flatten)]
        request: crate::protocol::escalation::DrillRequest,
    }

    /// Removes the leftovers of a call from the Queue after a review; no file changes.
    DismissLeftovers: Approve -> Leftovers {
        /// Tool call id.
        tool_call_id: ToolCallId,
    }

    /// Undoes the file changes of a call: all of them, or none if a file has changed since.
    UndoFileChange: Operate -> FileChange {
        /// Tool call id.
        tool_call_id: ToolCallId,
    }

    /// Removes calls that were refused because too many approvals waited from the Queue; they stay refused.
    DismissRefusedCalls: Approve -> Session {
        /// Session id.
        session_id: SessionId,
    }

    /// Creates a token and returns its value, only this once. Its scopes cannot exceed those of the caller, or of its
    /// owner's role.
    CreateToken: Admin -> NewToken {
        /// Name: 1 to 64 letters, digits, `.`, `_` or `-`.
        name: String,
        /// Scopes of the token.
        scopes: Vec<Scope>,
        /// Owner, a name under `[people]`; default: none, because a program uses it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        person: Option<String>,
        /// When it ends; default: never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    }

    /// Revokes a token for good; its open streams end within a second.
    RevokeToken: Admin -> Token {
        /// Name of the token.
        name: String,
    }
}
