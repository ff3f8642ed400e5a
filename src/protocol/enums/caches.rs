//! Caches and costs.

string_enum!(/// Whom a cached response may be given to.
    CacheScope as "cache scope" {
    /// Nobody: nothing is kept.
    Off = "off",
    /// The person who asked first, on the same channel.
    User = "user",
    /// Everybody on the same channel.
    Channel = "channel",
});

string_enum!(/// Why no cached response was given.
    CacheMissReason as "reason of a miss" {
    /// The channel keeps none.
    Off = "off",
    /// A new answer was asked for (`/fresh`, a retry).
    Bypass = "bypass",
    /// The session had earlier turns that were sent along.
    NotFresh = "not_fresh",
    /// The same, and the question alone would have had an answer.
    DifferentHistory = "different_history",
    /// Untrusted content was in context.
    Tainted = "tainted",
    /// Nobody asked this before, or the answer is gone.
    NoEntry = "no_entry",
    /// It was too old.
    Expired = "expired",
    /// The question is known under another model, prompt, set of tools or policy.
    Changed = "changed",
    /// The last answer to it used tools, so it was not kept.
    ToolsUsed = "tools_used",
    /// The last answer to it could not be kept for another reason.
    Ineligible = "ineligible",
    /// The file cannot be used at the moment.
    Disabled = "disabled",
});

string_enum!(/// Why an answer was not kept.
    CacheSkipReason as "reason not to keep an answer" {
    /// It called tools.
    ToolsUsed = "tools_used",
    /// It was cut at the output limit.
    Cut = "cut",
    /// The provider refused.
    Refused = "refused",
    /// It ended in another way than by itself.
    Unnatural = "unnatural",
    /// It said nothing.
    Empty = "empty",
    /// Another model stood in.
    StandIn = "stand_in",
    /// It is too large.
    TooLarge = "too_large",
    /// It names who asked, and others would be given it too.
    NamesSender = "names_sender",
});

string_enum!(/// Why a cached response went.
    CacheEviction as "reason of an eviction" {
    /// There were more than `max_entries`.
    Count = "count",
    /// They took more than 64 MiB.
    Size = "size",
    /// It was too old.
    Expired = "expired",
    /// It did not read back as it was written.
    Damaged = "damaged",
    /// A person removed it.
    Purged = "purged",
});

string_enum!(/// What costs are summed by.
    CostGrouping as "sum" {
    /// Channel.
    Channel = "channel",
    /// Model.
    Model = "model",
    /// Local day.
    Day = "day",
});

string_enum!(/// How long the spans of statistics are.
    StatsStep as "step" {
    /// A clock hour.
    Hour = "hour",
    /// A local day.
    Day = "day",
    /// A local week; it begins on Monday.
    Week = "week",
});

string_enum!(/// As what statistics are written.
    StatsFormat as "format" {
    /// JSON.
    Json = "json",
    /// CSV, with a line for each span of each group.
    Csv = "csv",
});

string_enum!(/// What statistics are grouped by.
    StatsGrouping as "grouping" {
    /// Nothing: one group of everything.
    All = "all",
    /// Channel.
    Channel = "channel",
    /// Model: only model calls have one.
    Model = "model",
    /// Tool: only its calls, and questions about them, have one.
    Tool = "tool",
    /// Who asked: a person of the configuration, else the id at the platform.
    Person = "person",
});

string_enum!(/// Why a tool ran although its results may be given again.
    ToolCacheMiss as "reason of a tool's miss" {
    /// The channel keeps none.
    Off = "off",
    /// A new answer was asked for (`/fresh`, a retry).
    Bypass = "bypass",
    /// Nobody called it so before, or the result is gone.
    First = "first",
    /// The result was too old.
    Expired = "expired",
    /// Something that may write in the workspace ran since, runs now, or the program was started anew.
    WorkspaceChanged = "workspace_changed",
    /// The policy has another version now.
    PolicyChanged = "policy_changed",
    /// The file cannot be used at the moment.
    Disabled = "disabled",
});

string_enum!(/// Why a tool's result was not kept.
    ToolCacheSkipReason as "reason not to keep a result" {
    /// It is an error, or the run was stopped.
    Failed = "failed",
    /// It is a part: cut short by a limit or by time, or too large for a model to read whole.
    Partial = "partial",
    /// Something that may write in the workspace ran at the same time.
    WorkspaceChanged = "workspace_changed",
});
