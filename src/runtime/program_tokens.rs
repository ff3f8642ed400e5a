//! Tokens of programs, which may do one thing: use the Model Context Protocol, or ask the gate. A file for each in the data
//! directory has the hash of its value.
//!
//! No file holds the value of a token. A file that goes away takes its token with it at once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::api::token::{StaticTokens, TokenRecord, TokenVerifier, generate, hash_token};
use crate::protocol::command::Actor;
use crate::protocol::enums::Scope;
use crate::protocol::hex::hex;
use crate::runtime::private_file::write_private;

/// Longest name of a token, in characters.
const MAX_NAME: usize = 64;

/// The tokens for one scope.
pub struct ProgramTokens {
    folder: PathBuf,
    scope: Scope,
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

impl ProgramTokens {
    /// Those of hosts of the Model Context Protocol.
    pub fn mcp(data_dir: &Path) -> Self {
        Self {
            folder: data_dir.join("mcp-tokens"),
            scope: Scope::Mcp,
        }
    }

    /// Those of hooks of external agents on other machines.
    pub fn gate(data_dir: &Path) -> Self {
        Self {
            folder: data_dir.join("gate-tokens"),
            scope: Scope::Gate,
        }
    }

    /// Makes a token, and gives its value: nobody can ask for that again.
    ///
    /// # Errors
    /// When the name is none or is taken, and when the file cannot be written.
    pub fn add(&self, name: &str) -> anyhow::Result<String> {
        // The token of the operator has this name.
        if !is_name(name) || name == "admin" {
            bail!(
                "`{name}` cannot name a token: use 1 to {MAX_NAME} letters, digits, `.`, `_` or `-`, and not `admin`"
            );
        }
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("creating {}", self.folder.display()))?;
        let file = self.folder.join(name);
        if file.exists() {
            bail!("there is a token `{name}` already: remove it, or use another name");
        }
        let token = generate()?;
        write_private(&file, &(hex(&hash_token(&token)) + "\n"))?;
        Ok(token)
    }

    /// Their names.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn names(&self) -> anyhow::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(error).with_context(|| format!("reading {}", self.folder.display()));
            }
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.with_context(|| format!("reading {}", self.folder.display()))?;
            names.extend(
                entry
                    .file_name()
                    .into_string()
                    .ok()
                    .filter(|name| is_name(name)),
            );
        }
        names.sort();
        Ok(names)
    }

    /// Removes a token.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn remove(&self, name: &str) -> anyhow::Result<()> {
        if !is_name(name) || !self.folder.join(name).exists() {
            bail!(
                "there is no token `{name}`: `leverframe {} token list` shows them",
                self.scope
            );
        }
        let file = self.folder.join(name);
        fs::remove_file(&file).with_context(|| format!("removing {}", file.display()))
    }

    fn records(&self) -> Vec<TokenRecord> {
        let names = self.names().unwrap_or_else(|error| {
            tracing::warn!(%error, "no token of a program can be read");
            Vec::new()
        });
        names
            .into_iter()
            .filter_map(|name| {
                let text = fs::read_to_string(self.folder.join(&name)).ok()?;
                let hash = parse_hash(text.trim());
                if hash.is_none() {
                    tracing::warn!(token = %name, "the file of a token holds no hash: remove the token");
                }
                Some(TokenRecord {
                    hash: hash?,
                    name,
                    scopes: vec![self.scope],
                })
            })
            .collect()
    }
}

/// 64 hexadecimal digits.
fn parse_hash(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(hash)
}

/// Every token that opens the listener.
pub struct Tokens {
    /// The operator's.
    pub admin: StaticTokens,
    /// Those of programs.
    pub programs: [ProgramTokens; 2],
}

impl TokenVerifier for Tokens {
    fn verify(&self, presented: &str) -> Option<Actor> {
        let records =
            |tokens: &ProgramTokens| StaticTokens::new(tokens.records()).verify(presented);
        self.admin
            .verify(presented)
            .or_else(|| self.programs.iter().find_map(records))
    }
}
