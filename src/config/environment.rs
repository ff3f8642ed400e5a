//! The environment, read once. Nothing else in the crate reads a variable, and nothing changes one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A snapshot of the environment. Tests build one from pairs.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
    /// The home directory as the platform knows it, for when `HOME` is unset.
    home: Option<PathBuf>,
    /// Where the platform keeps the files of this user.
    directories: Option<Directories>,
    /// Whether somebody else has the secrets that are not set here.
    without_secrets: bool,
}

/// Where the platform keeps the files of a user. The files of a program lie in a directory of its name below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories {
    /// Configuration: `$XDG_CONFIG_HOME` or `~/.config` on Linux.
    pub config: PathBuf,
    /// Data: `$XDG_DATA_HOME` or `~/.local/share` on Linux.
    pub data: PathBuf,
    /// Sockets: `$XDG_RUNTIME_DIR` on Linux; none where the platform has no such place.
    pub runtime: Option<PathBuf>,
}

impl Directories {
    fn of_platform() -> Option<Self> {
        let base = directories::BaseDirs::new().filter(|base| base.home_dir().is_absolute())?;
        Some(Self {
            config: base.config_dir().to_owned(),
            data: base.data_dir().to_owned(),
            runtime: base.runtime_dir().map(ToOwned::to_owned),
        })
    }
}

impl std::fmt::Debug for Environment {
    /// Names only: values may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

impl<K: Into<String>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter().map(|(k, v)| (k.into(), v.into()));
        Self {
            variables: pairs.collect(),
            home: None,
            directories: None,
            without_secrets: false,
        }
    }
}

impl Environment {
    /// The environment of this process. Variables whose name is not Unicode are left out.
    pub fn capture() -> Self {
        let pairs = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v)));
        Self {
            variables: pairs.collect(),
            home: std::env::home_dir(),
            directories: Directories::of_platform(),
            without_secrets: false,
        }
    }

    /// The value of a variable; none when it is unset, empty or not Unicode.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.given(name).filter(|value| !value.is_empty())
    }

    /// Like [`Environment::get`], but an empty value is a value (an empty list).
    pub fn given(&self, name: &str) -> Option<&str> {
        self.variables.get(name)?.to_str()
    }

    /// The same for a process that only reads what is configured: secrets that are not set are taken to be set where the
    /// daemon runs.
    pub fn without_secrets(self) -> Self {
        Self {
            without_secrets: true,
            ..self
        }
    }

    /// The value of a variable that a setting names for a secret; none when it is unset or not Unicode.
    pub fn secret(&self, name: &str) -> Option<&str> {
        let elsewhere = || self.without_secrets.then_some("elsewhere");
        self.given(name).or_else(elsewhere)
    }

    /// A variable that names a path; none when it is unset or empty.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        let value = self.variables.get(name)?;
        (!value.is_empty()).then(|| PathBuf::from(value))
    }

    /// Every variable whose name starts with `prefix`, in order of names.
    pub fn starting_with<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        let names = self.variables.keys().map(String::as_str);
        names.filter(move |name| name.starts_with(prefix))
    }

    /// `HOME`, or what the platform says.
    pub fn home(&self) -> Option<PathBuf> {
        self.path("HOME").or_else(|| self.home.clone())
    }

    /// Where the platform keeps the files of this user; none when nobody knows a home directory.
    pub fn directories(&self) -> Option<&Directories> {
        self.directories.as_ref()
    }

    /// The same with these directories.
    pub fn with_directories(self, directories: Directories) -> Self {
        Self {
            directories: Some(directories),
            ..self
        }
    }

    /// Login name.
    pub fn user(&self) -> Option<&str> {
        self.get("USER").or_else(|| self.get("LOGNAME"))
    }

    /// `NO_COLOR` with any value but the empty one (<https://no-color.org>).
    pub fn no_color(&self) -> bool {
        self.path("NO_COLOR").is_some()
    }

    /// `TERM`.
    pub fn term(&self) -> Option<&str> {
        self.get("TERM")
    }

    /// `COLORTERM` says 24-bit colour.
    pub fn true_color(&self) -> bool {
        matches!(self.get("COLORTERM"), Some("truecolor" | "24bit"))
    }

    /// `ACCESSIBLE` asks for plain lines instead of a screen; `0` and the empty value do not.
    pub fn accessible(&self) -> bool {
        self.get("ACCESSIBLE").is_some_and(|value| value != "0")
    }

    /// Whether the locale (`LC_ALL`, else `LC_CTYPE`, else `LANG`) is one of UTF-8. Where none is named, the terminal
    /// is taken to be as all are today.
    pub fn utf8(&self) -> bool {
        let named = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| self.get(name));
        named.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
    }

    /// `SSH_CONNECTION`: the person sits at another machine.
    pub fn ssh(&self) -> bool {
        self.get("SSH_CONNECTION").is_some()
    }

    /// `TERM_PROGRAM`, or `LC_TERMINAL`, which reaches other machines: which terminal it is.
    pub fn terminal_program(&self) -> Option<&str> {
        self.get("TERM_PROGRAM").or_else(|| self.get("LC_TERMINAL"))
    }

    /// Inside GNU screen or Zellij: what the environment says of a terminal is said of the one around it.
    pub fn nested(&self) -> bool {
        self.get("STY").is_some() || self.get("ZELLIJ").is_some()
    }

    /// Inside tmux: escape sequences for the outer terminal need wrapping.
    pub fn tmux(&self) -> bool {
        self.get("TMUX").is_some()
    }

    /// `LEVERFRAME_CRASH`: the crash point to arm, in builds that have them.
    #[cfg(feature = "test-hooks")]
    pub fn crash(&self) -> Option<&str> {
        self.get("LEVERFRAME_CRASH")
    }

    /// `LEVERFRAME_MUTANT`: the rule of the protocol to switch off, in builds that can.
    #[cfg(feature = "test-hooks")]
    pub fn mutant(&self) -> Option<&str> {
        self.get("LEVERFRAME_MUTANT")
    }

    /// `LEVERFRAME_CLOCK_OFFSET_FILE`: the file that says by how many seconds the wall clock is off, in builds that
    /// can be told so.
    #[cfg(feature = "test-hooks")]
    pub fn clock_offset_file(&self) -> Option<PathBuf> {
        self.path("LEVERFRAME_CLOCK_OFFSET_FILE")
    }

    /// `LEVERFRAME_TEST_SERVICE`: the service of the tools for tests, in builds that have them.
    #[cfg(feature = "test-hooks")]
    pub fn test_service(&self) -> Option<&str> {
        self.get("LEVERFRAME_TEST_SERVICE")
    }

    /// `LEVERFRAME_TEST_KEY_MS`: how long that service remembers keys.
    #[cfg(feature = "test-hooks")]
    pub fn test_key_ms(&self) -> Option<&str> {
        self.get("LEVERFRAME_TEST_KEY_MS")
    }

    /// `LEVERFRAME_TEST_SERVERS`: model servers to look for in place of the usual ones, `name=URL` with commas between.
    #[cfg(feature = "test-hooks")]
    pub fn test_servers(&self) -> Option<&str> {
        self.given("LEVERFRAME_TEST_SERVERS")
    }

    /// `LEVERFRAME_TEST_PANIC_FILE`: a thread panics once this file is there.
    #[cfg(feature = "test-hooks")]
    pub fn test_panic_file(&self) -> Option<PathBuf> {
        self.path("LEVERFRAME_TEST_PANIC_FILE")
    }

    /// `NOTIFY_SOCKET` of systemd.
    pub fn notify_socket(&self) -> Option<PathBuf> {
        self.path("NOTIFY_SOCKET")
    }

    /// How often systemd wants to hear that this process is well: `WATCHDOG_USEC`, where it is meant for this one.
    pub fn watchdog(&self) -> Option<Duration> {
        let ours = self
            .get("WATCHDOG_PID")
            .is_none_or(|pid| pid == std::process::id().to_string());
        let micros = self.get("WATCHDOG_USEC")?.parse().ok()?;
        (ours && micros > 0).then(|| Duration::from_micros(micros))
    }

    /// The command that edits a file: `VISUAL`, else `EDITOR`.
    pub fn editor(&self) -> Option<&str> {
        self.get("VISUAL").or_else(|| self.get("EDITOR"))
    }
}
