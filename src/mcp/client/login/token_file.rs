//! The file of one login: mode 0600 in a directory of mode 0700, replaced as a whole.
//!
//! What others could have read or written is not used.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::mcp::client::login::error::LoginError;

/// More than any login has.
const MAX_BYTES: u64 = 256 * 1024;
/// Longest wait for somebody else who renews the same tokens.
const LOCK_WITHIN: Duration = Duration::from_secs(60);
/// Time between two looks at the lock.
const LOCK_EVERY: Duration = Duration::from_millis(25);

/// What a login left.
#[derive(Clone, Serialize, Deserialize)]
pub struct StoredLogin {
    /// Address of the server that the tokens are for: no other one gets them.
    pub server: String,
    /// Who gave them; none = a server of the first version of the protocol, which names no issuer.
    pub issuer: Option<String>,
    /// Our id at the issuer.
    pub client_id: String,
    /// Our secret at the issuer, where it wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// What was granted.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// What the server wanted beside that, when it refused a request: the next login asks for it too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wanted: Vec<String>,
    /// When the tokens came, in seconds since the Unix epoch.
    #[serde(default)]
    pub received_at: Option<u64>,
    /// The tokens; none = the issuer took them back.
    #[serde(default)]
    pub tokens: Option<Tokens>,
}

/// What an issuer answered.
#[derive(Clone, Serialize, Deserialize)]
pub struct Tokens {
    /// What requests to the server carry.
    pub access_token: String,
    /// What renews it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// Life of the access token, in seconds; none = nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
    /// The rest of the answer.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl std::fmt::Debug for StoredLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredLogin")
            .field("server", &self.server)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// Where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFile {
    path: PathBuf,
}

/// Nobody else renews tokens of the file while this is held.
#[derive(Debug)]
pub struct TokenLock {
    _file: File,
}

impl TokenFile {
    /// The file at a path. Nothing is read yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// What it holds; none = nobody logged in. Refused where others can read or change it.
    pub fn load(&self) -> Result<Option<StoredLogin>, LoginError> {
        let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(no_follow)
            .open(&self.path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.problem(&error)),
        };
        let about = file.metadata().map_err(|error| self.problem(&error))?;
        if about.mode() & 0o077 != 0 || about.uid() != rustix::process::geteuid().as_raw() {
            return Err(LoginError::Refused(format!(
                "{} can be opened by others (mode {:04o}); expected one of ours with mode 0600. Remove it, and log in \
                 again",
                self.path.display(),
                about.mode() & 0o7777
            )));
        }
        let mut text = String::new();
        file.take(MAX_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| self.problem(&error))?;
        serde_json::from_str(&text).map(Some).map_err(|_| {
            // The error of the parser may quote a token.
            LoginError::NeedsLogin(format!("{} holds no login", self.path.display()))
        })
    }

    /// Replaces what it holds.
    pub fn save(&self, login: &StoredLogin) -> Result<(), LoginError> {
        self.replace(login).map_err(|error| self.problem(&error))
    }

    fn replace(&self, login: &StoredLogin) -> std::io::Result<()> {
        let dir = self.prepared_dir()?;
        let draft = self.beside("new");
        match std::fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        let written = serde_json::to_vec(login)
            .map_err(std::io::Error::from)
            .and_then(|bytes| file.write_all(&bytes))
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&draft, &self.path));
        if written.is_err() {
            // The first error is the one to tell.
            let _ = std::fs::remove_file(&draft);
        }
        written?;
        File::open(dir)?.sync_all()
    }

    /// Removes it. True where there was one.
    pub fn remove(&self) -> Result<bool, LoginError> {
        match std::fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.problem(&error)),
        }
    }

    /// Waits until nobody else renews: no task of this process, and no other process.
    pub async fn lock(&self) -> Result<TokenLock, LoginError> {
        let open = || {
            self.prepared_dir()?;
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(self.beside("lock"))
        };
        let file = open().map_err(|error| self.problem(&error))?;
        let waited = async {
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(()),
                    Err(std::fs::TryLockError::WouldBlock) => tokio::time::sleep(LOCK_EVERY).await,
                    Err(std::fs::TryLockError::Error(error)) => return Err(self.problem(&error)),
                }
            }
        };
        match tokio::time::timeout(LOCK_WITHIN, waited).await {
            Ok(locked) => locked.map(|()| TokenLock { _file: file }),
            Err(_) => Err(LoginError::Failed(format!(
                "somebody else has renewed the tokens for {} s and is not done",
                LOCK_WITHIN.as_secs()
            ))),
        }
    }

    fn prepared_dir(&self) -> std::io::Result<&Path> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        Ok(dir)
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".");
        name.push(suffix);
        PathBuf::from(name)
    }

    fn problem(&self, error: &std::io::Error) -> LoginError {
        LoginError::Failed(format!("{}: {error}", self.path.display()))
    }
}
