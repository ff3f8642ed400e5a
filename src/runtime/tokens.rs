//! Every token that opens the listener, and the files of former versions that had some.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context as _;

use crate::api::token::{StaticTokens, TokenVerifier};
use crate::engine::core::Engine;
use crate::engine::tokens;
use crate::protocol::command::Actor;
use crate::protocol::enums::Scope;
use crate::protocol::hex::from_hex;
use crate::protocol::token::is_token_name;
use crate::store::commands::put_token::PutToken;
use crate::store::error::StoreError;
use crate::store::input::ActorRef;

/// Every token that opens the listener.
pub struct Tokens {
    /// The operator's.
    pub admin: StaticTokens,
    /// Knows the named ones.
    pub engine: Engine,
}

impl TokenVerifier for Tokens {
    fn verify(&self, presented: &str) -> Option<Actor> {
        match self.admin.verify(presented) {
            Some(admin) => {
                self.engine.operators_token_used(presented, &admin);
                Some(admin)
            }
            None => self.engine.current().token_actor(presented),
        }
    }

    fn certificate(&self, id: &str) -> Option<Actor> {
        self.engine.current().certificate_actor(id)
    }
}

/// Folders in which former versions kept tokens, a file for each with its hash, and what those may do.
const FOLDERS: [(&str, Scope); 2] = [("mcp-tokens", Scope::Mcp), ("gate-tokens", Scope::Gate)];

/// Takes tokens out of the files of former versions into the database, and removes each file once that is durable.
///
/// # Errors
/// When a folder cannot be read or the database not be written. A file that holds no token stays, with a warning.
pub async fn take_over_files(engine: &Engine) -> anyhow::Result<()> {
    let data_dir = engine.settings.paths.data_dir.clone();
    let mut found = false;
    for (folder, scope) in FOLDERS {
        let folder = data_dir.join(folder);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("reading {}", folder.display()));
            }
        };
        for entry in entries {
            let path = entry
                .with_context(|| format!("reading {}", folder.display()))?
                .path();
            match token_in(&path) {
                Some((name, hash)) => take_over(engine, name, hash, scope).await?,
                None => {
                    tracing::warn!(file = %path.display(), "ignoring a token file from now on: it contains no token");
                    continue;
                }
            }
            fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
            found = true;
        }
        // What holds no token keeps its folder.
        if let Err(error) = fs::remove_dir(&folder) {
            tracing::debug!(%error, folder = %folder.display(), "stays");
        }
    }
    if found {
        tokens::load(engine)
            .await
            .context("the tokens that were taken over")?;
    }
    Ok(())
}

async fn take_over(
    engine: &Engine,
    name: String,
    hash: [u8; 32],
    scope: Scope,
) -> anyhow::Result<()> {
    let known = engine.store.read_here(|reader| reader.token_records());
    let known = known.await.context("reading the tokens")?;
    // A crash came before the file was removed.
    if known.iter().any(|record| record.hash == hash) {
        return Ok(());
    }
    let put = |name: String| PutToken {
        name,
        hash,
        scopes: vec![scope],
        person: None,
        expires_at: None,
        by: ActorRef::engine(),
    };
    let put_as = put(name.clone());
    match engine.store.write(put_as).await {
        Ok(_) => Ok(()),
        // The two folders could hold the same name.
        Err(StoreError::Rejected { .. }) => {
            let other = engine.store.write(put(format!("{name}.{scope}"))).await;
            other.map(drop).context("taking over a token")
        }
        Err(error) => Err(error).context("taking over a token"),
    }
}

/// The name and the hash of a file; none = it is no file of a token.
fn token_in(path: &Path) -> Option<(String, [u8; 32])> {
    let name = path.file_name()?.to_str()?.to_owned();
    let text = fs::read_to_string(path).ok()?;
    let hash = from_hex(text.trim())?;
    is_token_name(&name).then_some((name, hash))
}
