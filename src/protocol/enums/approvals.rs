//! What is asked, what is decided, by whom, and what the policy says.

string_enum!(/// State of an approval.
    ApprovalState as "approval state" {
    /// Waits for a decision.
    Pending = "pending",
    /// Allowed, not yet used.
    Approved = "approved",
    /// Refused.
    Denied = "denied",
    /// Not answered in time.
    Expired = "expired",
    /// Taken back, or its continuation ended first.
    Revoked = "revoked",
    /// Allowed and used, once.
    Consumed = "consumed",
});

string_enum!(/// What an approval asks.
    ApprovalKind as "approval kind" {
    /// May this tool call run?
    Execute = "execute",
    /// A call was in flight when the process died: did it happen?
    ResolveUnknown = "resolve_unknown",
    /// A reply was in flight when the process died: was it delivered?
    Resend = "resend",
    /// A budget is used up: continue with more?
    Budget = "budget",
    /// The agent asks a person.
    Question = "question",
    /// An unknown sender asks for access.
    Pairing = "pairing",
    /// The agent wants to store a fact.
    Memory = "memory",
    /// A tool server changed.
    ServerPin = "server_pin",
    /// The configuration file raises a channel's autonomy.
    PolicyRaise = "policy_raise",
});

string_enum!(/// What a decision says. Which words an approval accepts is in its `offered` list.
    DecisionKind as "decision" {
    /// Allow.
    Approve = "approve",
    /// Refuse; the model reads the reason and goes on.
    Deny = "deny",
    /// Refuse and end the continuation.
    DenyAndStop = "deny_and_stop",
    /// Change the arguments; stays pending under a new revision and digest.
    Edit = "edit",
    /// Give the model this answer in place of the tool's.
    Answer = "answer",
    /// Hide from me for some minutes.
    Snooze = "snooze",
    /// Take an unused approval back.
    Revoke = "revoke",
    /// (unknown outcome) It happened.
    Happened = "happened",
    /// (unknown outcome) Run it again.
    RunAgain = "run_again",
    /// (unknown outcome) Give it up.
    GiveUp = "give_up",
    /// (unknown delivery) It was sent.
    Sent = "sent",
    /// (unknown delivery) Send it again.
    SendAgain = "send_again",
    /// (unknown delivery) Drop it.
    Drop = "drop",
});

string_enum!(/// How far an approval reaches.
    DecisionScope as "decision scope" {
    /// This call only.
    Once = "once",
    /// The same tool with the same arguments until the turn ends that asked.
    Turn = "turn",
    /// The same tool with the same arguments in this session.
    Session = "session",
});

string_enum!(/// How much a channel's agent may do by itself. Ordered from least to most.
    Autonomy as "autonomy" {
    /// Everything not explicitly auto-approved asks.
    Supervised = "supervised",
    /// Local reads run, the rest asks.
    SemiAuto = "semi_auto",
    /// Runs everything not blocked, always_ask, tainted or over budget.
    Full = "full",
});

string_enum!(/// What a call touches.
    Access as "access" {
    /// Reads files of the workspace.
    ReadLocal = "read_local",
    /// Reads from the open network.
    ReadOpen = "read_open",
    /// Adds without destroying.
    WriteAdditive = "write_additive",
    /// Changes or removes.
    Write = "write",
    /// Runs a program.
    Exec = "exec",
    /// Sends to somebody.
    Send = "send",
    /// Not classified.
    Unknown = "unknown",
});

string_enum!(/// What recovery may assume about a call found in flight after a crash.
    Effect as "effect class" {
    /// Changes nothing: run again.
    ReadOnly = "read_only",
    /// Running twice equals running once: run again.
    Idempotent = "idempotent",
    /// Takes an idempotency key: run again with the same key.
    Keyed = "keyed",
    /// Can be probed.
    Reconcilable = "reconcilable",
    /// Must not run twice by itself: ask a person.
    NonIdempotent = "non_idempotent",
});

string_enum!(/// How much harm a call can do. Derived, ordered from least to most.
    Risk as "risk" {
    /// Reads.
    Low = "low",
    /// Writes inside the workspace, replies, simple sandboxed commands.
    Medium = "medium",
    /// Overwrites, deletes, other programs, sends elsewhere, unknown.
    High = "high",
    /// Payments, credentials, policy, unsandboxed programs.
    Critical = "critical",
});

string_enum!(/// What the policy says about a call.
    VerdictKind as "verdict" {
    /// Runs without asking.
    Allow = "allow",
    /// Waits for a person.
    Ask = "ask",
    /// Refused; the model is told.
    Deny = "deny",
});

string_enum!(/// Role of a person. Ordered from least to most.
    Role as "role" {
    /// May talk to the agent.
    User = "user",
    /// May also decide approvals.
    Approver = "approver",
    /// May also change policy.
    Owner = "owner",
});

string_enum!(/// What a token (or socket peer) may do.
    Scope as "scope" {
    /// Read everything.
    Read = "read",
    /// Messages, cancel, pause, lower autonomy, emergency stop.
    Operate = "operate",
    /// Decide approvals and unknown outcomes.
    Approve = "approve",
    /// Raise autonomy, lists, rules, tokens, release, restore.
    Admin = "admin",
    /// Use the Model Context Protocol, as a host with sessions of its own; nothing else.
    Mcp = "mcp",
    /// Ask the gate about calls, wait for the answers, and report; nothing else.
    Gate = "gate",
    /// Talk to an agent as a client of OpenAI's interface, in conversations of its own; nothing else.
    Chat = "chat",
});

string_enum!(/// Where a command came from.
    Surface as "surface" {
    /// The console's keyboard.
    Console = "console",
    /// HTTP.
    Http = "http",
    /// The command line.
    Cli = "cli",
    /// A chat platform.
    Chat = "chat",
    /// A scripted channel of `--demo`.
    Scripted = "scripted",
    /// The engine itself (deadlines, recovery).
    Engine = "engine",
    /// A host of the Model Context Protocol.
    Mcp = "mcp",
    /// A hook of an external agent.
    Gate = "gate",
});

string_enum!(/// What becomes of a gated call where nobody is there to answer.
    Unattended as "unattended policy" {
    /// It is denied and the turn goes on.
    Deny = "deny",
    /// It waits for a person.
    Park = "park",
});

string_enum!(/// How a rule compares.
    RuleMatcher as "matcher of rules" {
    /// The same, nothing more.
    Exact = "exact",
    /// It begins so.
    Prefix = "prefix",
    /// `*` stands for anything, `?` for one character, and a last word `**` for any further words.
    Pattern = "pattern",
});

string_enum!(/// How far a rule reaches.
    RuleScope as "scope of rules" {
    /// One turn of a session, until it ends.
    Turn = "turn",
    /// One session, while it lasts.
    Session = "session",
    /// One channel.
    Channel = "channel",
    /// Every channel.
    Global = "global",
});
