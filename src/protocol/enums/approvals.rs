//! Values about approvals: what they ask, decisions, people, and verdicts of the policy.

string_enum!(/// State of an approval.
    ApprovalState as "approval state" {
    /// It waits for a decision.
    Pending = "pending",
    /// Allowed and not used yet.
    Approved = "approved",
    /// Denied.
    Denied = "denied",
    /// Nobody decided before the deadline.
    Expired = "expired",
    /// Taken back, or its turn ended before the decision.
    Revoked = "revoked",
    /// Allowed and used.
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

string_enum!(/// A decision. An approval lists the values that it accepts in `offered`.
    DecisionKind as "decision" {
    /// Allow it.
    Approve = "approve",
    /// Deny it; the model reads the reason and goes on.
    Deny = "deny",
    /// Deny it and end the turn.
    DenyAndStop = "deny_and_stop",
    /// Change the arguments; the approval stays pending with a new revision and digest.
    Edit = "edit",
    /// Give the model this answer in place of the tool's result.
    Answer = "answer",
    /// Hide it from the caller for some minutes.
    Snooze = "snooze",
    /// Take back an approval that is not used yet.
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

string_enum!(/// How far an `approve` reaches.
    DecisionScope as "decision scope" {
    /// This call only.
    Once = "once",
    /// The same tool with the same arguments, until the turn ends.
    Turn = "turn",
    /// The same tool with the same arguments, in this session.
    Session = "session",
});

string_enum!(/// Autonomy level: how much a channel's agent may do without asking. Ordered from least to most.
    Autonomy as "autonomy" {
    /// Everything asks, except tools on `auto_approve`.
    Supervised = "supervised",
    /// Local reads run; everything else asks.
    SemiAuto = "semi_auto",
    /// Everything runs, unless it is blocked, on `always_ask`, tainted or over budget.
    Full = "full",
});

string_enum!(/// The most that a call can touch.
    Access as "access" {
    /// Reads files of the workspace.
    ReadLocal = "read_local",
    /// Reads from the open network.
    ReadOpen = "read_open",
    /// Adds something and destroys nothing.
    WriteAdditive = "write_additive",
    /// Changes or removes something.
    Write = "write",
    /// Runs a program.
    Exec = "exec",
    /// Sends to somebody.
    Send = "send",
    /// Nobody has classified it.
    Unknown = "unknown",
});

string_enum!(/// What recovery may assume about a call that a crash interrupted.
    Effect as "effect class" {
    /// It changes nothing: run it again.
    ReadOnly = "read_only",
    /// Running twice equals running once: run it again.
    Idempotent = "idempotent",
    /// It takes an idempotency key: run it again with the same key.
    Keyed = "keyed",
    /// Whether it happened can be looked up.
    Reconcilable = "reconcilable",
    /// It must not run twice without a person: ask one.
    NonIdempotent = "non_idempotent",
});

string_enum!(/// How much harm a call can do. The engine derives it. Ordered from least to most.
    Risk as "risk" {
    /// Reading.
    Low = "low",
    /// Writing inside the workspace, replies, simple sandboxed commands.
    Medium = "medium",
    /// Overwriting, deleting, other programs, sending elsewhere, unknown access.
    High = "high",
    /// Payments, credentials, policy, unsandboxed programs.
    Critical = "critical",
});

string_enum!(/// Verdict of the policy about a call.
    VerdictKind as "verdict" {
    /// The call runs without asking.
    Allow = "allow",
    /// The call waits for a person.
    Ask = "ask",
    /// The call is refused, and the model reads that.
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

string_enum!(/// What a token or a peer of the unix socket may do.
    Scope as "scope" {
    /// Read everything.
    Read = "read",
    /// Send messages, cancel, pause, lower autonomy, press the emergency stop.
    Operate = "operate",
    /// Decide approvals and settle unknown outcomes.
    Approve = "approve",
    /// Raise autonomy; change lists, rules and tokens; release and restore.
    Admin = "admin",
    /// Use the Model Context Protocol as a host with its own sessions; nothing else.
    Mcp = "mcp",
    /// Ask the gate about calls, wait for its answers, and report; nothing else.
    Gate = "gate",
    /// Talk to an agent as a client of OpenAI's interface, in its own conversations; nothing else.
    Chat = "chat",
});

string_enum!(/// Where a command came from.
    Surface as "surface" {
    /// The console.
    Console = "console",
    /// The HTTP interface.
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

string_enum!(/// What happens to a gated call when nobody is there to decide.
    Unattended as "unattended policy" {
    /// The engine denies it, and the turn goes on.
    Deny = "deny",
    /// It waits for a person.
    Park = "park",
});

string_enum!(/// How a rule compares an argument with its value.
    RuleMatcher as "matcher of rules" {
    /// Equal.
    Exact = "exact",
    /// Begins with the value.
    Prefix = "prefix",
    /// `*` stands for anything, `?` for one character, and a last word `**` for any further words.
    Pattern = "pattern",
});

string_enum!(/// Where a rule applies.
    RuleScope as "scope of rules" {
    /// In one turn, until it ends.
    Turn = "turn",
    /// In one session, until it ends.
    Session = "session",
    /// On one channel.
    Channel = "channel",
    /// On every channel.
    Global = "global",
});
