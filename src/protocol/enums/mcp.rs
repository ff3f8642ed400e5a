//! Values about MCP servers (tool servers).

string_enum!(/// How the daemon reaches a tool server.
    McpTransport as "transport" {
    /// A program on this machine, over its standard input and output.
    Stdio = "stdio",
    /// Streamable HTTP.
    Http = "http",
});

string_enum!(/// State of a tool server.
    McpServerState as "state of a tool server" {
    /// Not connected; the next call connects.
    Idle = "idle",
    /// Connecting.
    Starting = "starting",
    /// Connected.
    Running = "running",
    /// The last connection attempt failed, or the server ended; the engine tries again.
    Failed = "failed",
    /// The server requires a login that nobody has made.
    NeedsLogin = "needs_login",
    /// A person stopped it; only a person starts it again.
    Stopped = "stopped",
});

string_enum!(/// Generation of the protocol that a server speaks.
    McpEra as "era of the protocol" {
    /// Up to 2025-11-25: a handshake begins a session.
    Handshake = "handshake",
    /// From 2026-07-28: each request stands alone.
    Stateless = "stateless",
});

string_enum!(/// State of a server's tool, compared with what an operator trusts.
    McpToolState as "state of a server's tool" {
    /// The server offers the trusted definition: agents can call the tool.
    Trusted = "trusted",
    /// Nobody trusts the tool yet: agents do not get it.
    New = "new",
    /// The server offers another definition now: agents do not get the tool.
    Changed = "changed",
    /// The server no longer offers the tool: agents do not get it.
    Missing = "missing",
    /// The configuration blocks the tool.
    Blocked = "blocked",
    /// The definition cannot be used.
    Invalid = "invalid",
});
