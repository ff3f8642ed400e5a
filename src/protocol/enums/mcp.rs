//! Words about servers of the Model Context Protocol.

string_enum!(/// How a server is reached.
    McpTransport as "transport" {
    /// A program of this machine, over its standard input and output.
    Stdio = "stdio",
    /// Streamable HTTP.
    Http = "http",
});

string_enum!(/// What a server does now.
    McpServerState as "state of a tool server" {
    /// Not connected; the next call connects.
    Idle = "idle",
    /// Being connected.
    Starting = "starting",
    /// Connected.
    Running = "running",
    /// The last try to connect failed, or the server ended; it is tried again.
    Failed = "failed",
    /// It wants a login that nobody has given.
    NeedsLogin = "needs_login",
    /// A person stopped it; only a person starts it again.
    Stopped = "stopped",
});

string_enum!(/// Which generation of the protocol a server speaks.
    McpEra as "era of the protocol" {
    /// Up to 2025-11-25: a handshake begins a session.
    Handshake = "handshake",
    /// From 2026-07-28: each request stands alone.
    Stateless = "stateless",
});

string_enum!(/// How a tool of a server stands to what an operator trusts.
    McpToolState as "state of a server's tool" {
    /// The server offers what an operator trusts: agents can call it.
    Trusted = "trusted",
    /// Nobody trusts it yet: agents do not get it.
    New = "new",
    /// The server offers another definition now: agents do not get it.
    Changed = "changed",
    /// The server does not offer it any more: agents do not get it.
    Missing = "missing",
    /// The configuration blocks it.
    Blocked = "blocked",
    /// Its definition cannot be used.
    Invalid = "invalid",
});
