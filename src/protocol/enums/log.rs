//! Values about the log.

string_enum!(/// Severity of a log line, the most severe first.
    LogLevel as "log level" {
    /// Something failed.
    Error = "error",
    /// Something needs attention.
    Warn = "warn",
    /// A normal event.
    Info = "info",
    /// Details of an event.
    Debug = "debug",
    /// Every step.
    Trace = "trace",
});
