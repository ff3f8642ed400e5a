//! A git repository with one commit of the demo's files, written without running git.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha1::{Digest as _, Sha1};

/// Name of an object.
type Name = [u8; 20];

/// Who made the commit, and when.
const AUTHOR: &str = "Harbour demo <demo@harbour.example> 1767225600 +0000";

/// Makes the directory a repository that holds these files: path below it and content.
pub fn create(workspace: &Path, files: &[(&str, &str)]) -> anyhow::Result<()> {
    let git = workspace.join(".git");
    let objects = git.join("objects");
    for directory in [&objects, &git.join("refs/heads")] {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("creating {}", directory.display()))?;
    }
    let mut blobs: BTreeMap<&str, (Name, usize)> = BTreeMap::new();
    for (path, content) in files {
        let name = keep(&objects, "blob", content.as_bytes())?;
        blobs.insert(path, (name, content.len()));
    }
    let tree = tree(&objects, &blobs, "")?;
    let commit = format!(
        "tree {}\nauthor {AUTHOR}\ncommitter {AUTHOR}\n\nThe harbour as it is\n",
        text(&tree)
    );
    let commit = keep(&objects, "commit", commit.as_bytes())?;
    write(&git.join("index"), &index(&blobs))?;
    write(&git.join("HEAD"), b"ref: refs/heads/main\n")?;
    write(
        &git.join("config"),
        b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    )?;
    write(
        &git.join("refs/heads/main"),
        format!("{}\n", text(&commit)).as_bytes(),
    )
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))
}

fn text(name: &Name) -> String {
    crate::protocol::hex::hex(name)
}

/// Writes an object; its name.
fn keep(objects: &Path, kind: &str, content: &[u8]) -> anyhow::Result<Name> {
    let mut whole = format!("{kind} {}\0", content.len()).into_bytes();
    whole.extend_from_slice(content);
    let name: Name = Sha1::digest(&whole).into();
    let hex = text(&name);
    let (directory, file) = hex.split_at(2);
    let directory = objects.join(directory);
    std::fs::create_dir_all(&directory)?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&whole)?;
    write(&directory.join(file), &encoder.finish()?)?;
    Ok(name)
}

/// Writes the tree of the files below a directory, which ends with `/`; its name.
fn tree(
    objects: &Path,
    blobs: &BTreeMap<&str, (Name, usize)>,
    below: &str,
) -> anyhow::Result<Name> {
    // Git orders a directory as if its name ended with `/`.
    let mut entries: BTreeMap<&str, (&str, Name)> = BTreeMap::new();
    for (path, (blob, _)) in blobs {
        let Some(rest) = path.strip_prefix(below) else {
            continue;
        };
        match rest.find('/') {
            None => {
                entries.insert(rest, ("100644", *blob));
            }
            Some(at) if !entries.contains_key(&rest[..=at]) => {
                let name = tree(objects, blobs, &format!("{below}{}", &rest[..=at]))?;
                entries.insert(&rest[..=at], ("40000", name));
            }
            Some(_) => {}
        }
    }
    let mut content = Vec::new();
    for (name, (mode, object)) in entries {
        content.extend_from_slice(format!("{mode} {}\0", name.trim_end_matches('/')).as_bytes());
        content.extend_from_slice(&object);
    }
    keep(objects, "tree", &content)
}

/// The index, second version, with nothing about the files but their sizes: git looks at each once.
fn index(blobs: &BTreeMap<&str, (Name, usize)>) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes();
    let mut bytes = b"DIRC".to_vec();
    bytes.extend_from_slice(&number(2));
    bytes.extend_from_slice(&number(blobs.len()));
    for (path, (name, size)) in blobs {
        let start = bytes.len();
        // Times, device, inode.
        bytes.extend_from_slice(&[0; 24]);
        bytes.extend_from_slice(&number(0o100_644));
        // Owner and group.
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&number(*size));
        bytes.extend_from_slice(name);
        let flags = u16::try_from(path.len()).unwrap_or(0xfff).min(0xfff);
        bytes.extend_from_slice(&flags.to_be_bytes());
        bytes.extend_from_slice(path.as_bytes());
        let length = bytes.len() - start;
        bytes.resize(start + length / 8 * 8 + 8, 0);
    }
    let sum = Sha1::digest(&bytes);
    bytes.extend_from_slice(&sum);
    bytes
}
