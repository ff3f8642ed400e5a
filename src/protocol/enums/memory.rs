//! Memories and their retention.

string_enum!(/// Where a remembered thing is recalled.
    MemoryScope as "memory scope" {
    /// In its session only.
    Session = "session",
    /// In every session of its channel.
    Channel = "channel",
    /// Everywhere.
    Global = "global",
});

string_enum!(/// Kind of a remembered thing.
    MemoryKind as "memory kind" {
    /// How something is.
    Fact = "fact",
    /// What somebody likes.
    Preference = "preference",
    /// What was decided.
    Decision = "decision",
    /// What is to be done.
    Task = "task",
    /// Who somebody is.
    Person = "person",
});

string_enum!(/// Who wrote a remembered thing.
    MemoryAuthor as "memory author" {
    /// A user, who asked for it.
    User = "user",
    /// The model.
    Model = "model",
    /// An operator.
    Operator = "operator",
});

string_enum!(/// State of a remembered thing.
    MemoryState as "memory state" {
    /// Waits for a person; not recalled.
    Proposed = "proposed",
    /// Recalled.
    Active = "active",
    /// Another one says it better; not recalled.
    Superseded = "superseded",
    /// Archived by hygiene; not recalled.
    Archived = "archived",
});

string_enum!(/// Why hygiene archives something or removes it.
    HygieneReason as "hygiene reason" {
    /// Its own end is reached.
    Expired = "expired",
    /// Neither used nor changed within the days that its scope keeps.
    Retention = "retention",
    /// Its scope holds more than it may: the least useful go.
    Size = "size",
    /// What it belongs to is gone.
    Orphan = "orphan",
    /// It was archived and the time to undo that is over: removed for good.
    Removed = "removed",
});

string_enum!(/// State of a run of hygiene.
    HygieneState as "hygiene state" {
    /// Under way.
    Running = "running",
    /// What it archived can be restored until its time is over.
    Done = "done",
    /// It ended before it did everything; what it archived can be restored until its time is over.
    Stopped = "stopped",
    /// It was taken back.
    Undone = "undone",
    /// What it archived is removed for good.
    Removed = "removed",
});

string_enum!(/// By what a search found something.
    SearchMethod as "way to find" {
    /// Its words.
    Words = "words",
    /// Its meaning.
    Meaning = "meaning",
    /// Both.
    Both = "both",
});
