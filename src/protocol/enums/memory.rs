//! Values about memories and their retention.

string_enum!(/// Where a memory is recalled.
    MemoryScope as "memory scope" {
    /// Only in its session.
    Session = "session",
    /// In every session of its channel.
    Channel = "channel",
    /// In every session of every channel.
    Global = "global",
});

string_enum!(/// Kind of a memory.
    MemoryKind as "memory kind" {
    /// A fact.
    Fact = "fact",
    /// A preference of somebody.
    Preference = "preference",
    /// A decision.
    Decision = "decision",
    /// Something to do.
    Task = "task",
    /// Who somebody is.
    Person = "person",
});

string_enum!(/// Who wrote a memory.
    MemoryAuthor as "memory author" {
    /// A user, on request.
    User = "user",
    /// The model.
    Model = "model",
    /// An operator.
    Operator = "operator",
});

string_enum!(/// State of a memory.
    MemoryState as "memory state" {
    /// It waits for a person and is not recalled.
    Proposed = "proposed",
    /// It is recalled.
    Active = "active",
    /// Another memory replaced it; it is not recalled.
    Superseded = "superseded",
    /// Memory hygiene archived it; it is not recalled.
    Archived = "archived",
});

string_enum!(/// Why memory hygiene archives or removes something.
    HygieneReason as "hygiene reason" {
    /// Its own expiry time is reached.
    Expired = "expired",
    /// Nobody used or changed it within the retention days of its scope.
    Retention = "retention",
    /// Its scope has more memories than its limit; the least useful ones go.
    Size = "size",
    /// What it belongs to no longer exists.
    Orphan = "orphan",
    /// It was archived, and the time for an undo is over: it is removed for good.
    Removed = "removed",
});

string_enum!(/// State of a memory hygiene run.
    HygieneState as "hygiene state" {
    /// In progress.
    Running = "running",
    /// Complete. An undo can restore what it archived until the undo time ends.
    Done = "done",
    /// Ended early. An undo can restore what it archived until the undo time ends.
    Stopped = "stopped",
    /// A person undid it.
    Undone = "undone",
    /// What it archived is removed for good.
    Removed = "removed",
});

string_enum!(/// How a search found a memory.
    SearchMethod as "way to find" {
    /// By its words.
    Words = "words",
    /// By its meaning (embeddings).
    Meaning = "meaning",
    /// By both.
    Both = "both",
});
