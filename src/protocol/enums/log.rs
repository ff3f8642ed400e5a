//! Words of the log.

string_enum!(/// How serious a line of the log is, the most serious first.
    LogLevel as "log level" {
    /// Something failed.
    Error = "error",
    /// Something is not as it should be.
    Warn = "warn",
    /// What happens.
    Info = "info",
    /// How it happens.
    Debug = "debug",
    /// Every step.
    Trace = "trace",
});
