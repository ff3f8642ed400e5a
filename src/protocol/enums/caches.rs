//! Values about caches, costs and statistics.

string_enum!(/// Who may receive a cached response.
    CacheScope as "cache scope" {
    /// Nobody: the channel stores no responses.
    Off = "off",
    /// The person who asked first, on the same channel.
    User = "user",
    /// Everybody on the same channel.
    Channel = "channel",
});

string_enum!(/// Why the cache returned no response.
    CacheMissReason as "reason of a miss" {
    /// The channel does not cache responses.
    Off = "off",
    /// The request asked for a new answer (`/fresh`, a retry).
    Bypass = "bypass",
    /// The session had earlier turns, which were part of the prompt.
    NotFresh = "not_fresh",
    /// The session had earlier turns; without them, the cache had a response to the question.
    DifferentHistory = "different_history",
    /// Untrusted content was in the context.
    Tainted = "tainted",
    /// Nobody asked this before, or the response has left the cache.
    NoEntry = "no_entry",
    /// The response was too old.
    Expired = "expired",
    /// The question is cached under another model, prompt, set of tools or policy.
    Changed = "changed",
    /// The last answer used tools and was not stored.
    ToolsUsed = "tools_used",
    /// The last answer was not stored for another reason.
    Ineligible = "ineligible",
    /// The cache file cannot be used at the moment.
    Disabled = "disabled",
});

string_enum!(/// Why an answer was not stored in the cache.
    CacheSkipReason as "reason not to keep an answer" {
    /// It called tools.
    ToolsUsed = "tools_used",
    /// It was cut at the output limit.
    Cut = "cut",
    /// The provider refused to answer.
    Refused = "refused",
    /// It stopped for an unusual reason.
    Unnatural = "unnatural",
    /// It was empty.
    Empty = "empty",
    /// A fallback model answered.
    StandIn = "stand_in",
    /// It is too large.
    TooLarge = "too_large",
    /// It names the sender, and other people could receive it.
    NamesSender = "names_sender",
});

string_enum!(/// Why a cached response was removed.
    CacheEviction as "reason of an eviction" {
    /// The cache had more than `max_entries`.
    Count = "count",
    /// The cache took more than 64 MiB.
    Size = "size",
    /// It was too old.
    Expired = "expired",
    /// Its stored content was damaged.
    Damaged = "damaged",
    /// A person removed it.
    Purged = "purged",
});

string_enum!(/// What costs are grouped by.
    CostGrouping as "sum" {
    /// Channel.
    Channel = "channel",
    /// Model.
    Model = "model",
    /// Local day.
    Day = "day",
});

string_enum!(/// Length of the periods in statistics.
    StatsStep as "step" {
    /// A clock hour.
    Hour = "hour",
    /// A local day.
    Day = "day",
    /// A local week, from Monday.
    Week = "week",
});

string_enum!(/// Output format of statistics.
    StatsFormat as "format" {
    /// JSON.
    Json = "json",
    /// CSV with a line for each period of each group.
    Csv = "csv",
});

string_enum!(/// What statistics are grouped by.
    StatsGrouping as "grouping" {
    /// One group for everything.
    All = "all",
    /// Channel.
    Channel = "channel",
    /// Model; only model calls have one.
    Model = "model",
    /// Tool; only tool calls and their approvals have one.
    Tool = "tool",
    /// Who asked: a person of the configuration, or else the platform id.
    Person = "person",
});

string_enum!(/// Why a cacheable tool ran.
    ToolCacheMiss as "reason of a tool's miss" {
    /// The channel does not cache tool results.
    Off = "off",
    /// The request asked for a new answer (`/fresh`, a retry).
    Bypass = "bypass",
    /// There was no such call before, or its result has left the cache.
    First = "first",
    /// The result was too old.
    Expired = "expired",
    /// Something that can write to the workspace ran since then or runs now, or the daemon was restarted.
    WorkspaceChanged = "workspace_changed",
    /// The policy has changed.
    PolicyChanged = "policy_changed",
    /// The cache file cannot be used at the moment.
    Disabled = "disabled",
});

string_enum!(/// Why a tool result was not stored in the cache.
    ToolCacheSkipReason as "reason not to keep a result" {
    /// It is an error, or the run was stopped.
    Failed = "failed",
    /// It is incomplete: cut by a limit or by time, or too large for a model to read whole.
    Partial = "partial",
    /// Something that can write to the workspace ran at the same time.
    WorkspaceChanged = "workspace_changed",
});
