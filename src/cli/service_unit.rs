//! The text of the systemd units. Nothing here reads or writes a file.
//!
//! What would keep the sandbox of tools from working is left out on purpose: bubblewrap makes namespaces of every kind and
//! mounts a `/proc` of its own, which the kernel refuses where a part of `/proc` is covered. So `ProtectKernelTunables`,
//! `ProtectKernelLogs`, `ProtectHostname`, `ProtectProc` and `ProcSubset` are absent, and namespaces are allowed.

use std::path::Path;

/// File name of the unit.
pub const UNIT: &str = "leverframe.service";
/// First line of a unit of ours.
pub const MARK: &str =
    "# Written by `leverframe service install`. Changes belong into leverframe.service.d/*.conf.";

/// Whose service it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// Of one person, by their own systemd.
    User,
    /// Of the machine.
    System,
}

impl Manager {
    /// The option of this program and of systemctl that names it.
    pub const fn option(self) -> &'static str {
        match self {
            Self::User => "--user",
            Self::System => "--system",
        }
    }

    /// How systemctl is called.
    pub const fn systemctl(self) -> &'static str {
        match self {
            Self::User => "systemctl --user",
            Self::System => "systemctl",
        }
    }
}

/// What stands in the unit beside what always does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service<'a> {
    /// Path of the program.
    pub program: &'a Path,
    /// Loopback address to listen on.
    pub listen: &'a str,
    /// Arguments that name other places.
    pub places: Vec<String>,
}

/// An argument as systemd reads it in a command line.
pub fn argument(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%")
        .replace('$', "$$");
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/-_.:=,@+%".contains(letter);
    if !escaped.is_empty() && escaped.chars().all(plain) {
        escaped
    } else {
        format!("\"{escaped}\"")
    }
}

/// The whole unit.
pub fn text(manager: Manager, service: &Service<'_>) -> String {
    let mut words = vec![
        service.program.to_string_lossy().into_owned(),
        "--daemon".to_owned(),
        "--listen".to_owned(),
        service.listen.to_owned(),
    ];
    words.extend(service.places.iter().cloned());
    let command: Vec<String> = words.iter().map(|word| argument(word)).collect();
    let command = command.join(" ");
    let (after, own, target) = match manager {
        Manager::User => ("", USER, "default.target"),
        Manager::System => (
            "Wants=network-online.target\nAfter=network-online.target\n",
            SYSTEM,
            "multi-user.target",
        ),
    };
    format!(
        "{MARK}\n[Unit]\nDescription=Leverframe, the operator's console for AI agents\n{after}\n[Service]\n\
         Type=notify\n\
         # The daemon says every 30 s that engine and database answer. When it is silent for longer, it is started again.\n\
         WatchdogSec=60\n\
         ExecStart={command}\n\
         # The shell has its own kill: small installations have no program of that name.\n\
         ExecReload=/bin/sh -c 'kill -HUP $MAINPID'\n\
         EnvironmentFile=-%E/leverframe/secrets.env\n\
         Restart=on-failure\n\
         # Longer than [engine] shutdown_grace_seconds and 15 s.\n\
         TimeoutStopSec=45\n\
         {own}\n[Install]\nWantedBy={target}\n"
    )
}

/// What systemd can do for a person's service without a namespace of its own: that one would hide their workspaces.
/// Neither unit has `RestrictSUIDSGID`: it refuses `openat2`, and newer versions of bubblewrap cannot do without.
const USER: &str = "\
UMask=0077
NoNewPrivileges=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
";

const SYSTEM: &str = "\
User=leverframe
Group=leverframe
StateDirectory=leverframe leverframe-workspaces
StateDirectoryMode=0700
ConfigurationDirectory=leverframe
Environment=HOME=%S/leverframe LEVERFRAME_DATA_DIR=%S/leverframe LEVERFRAME_CONFIG=%E/leverframe/config.toml
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateMounts=yes
PrivateDevices=yes
DevicePolicy=closed
ProtectClock=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
KeyringMode=private
RemoveIPC=yes
RestrictRealtime=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
# RestrictSUIDSGID is left out: it refuses openat2, which bubblewrap 0.12 needs.
# The sandbox of tools makes namespaces, and mounts in them a /proc of its own: the kernel refuses that where a part of
# /proc is covered, as ProtectKernelTunables, ProtectKernelLogs, ProtectHostname and ProtectProc would.
RestrictNamespaces=user mnt pid net ipc uts cgroup
SystemCallFilter=@system-service @mount seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self
SystemCallFilter=~@resources
";
