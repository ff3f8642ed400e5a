//! Landlock and seccomp: what confines a program where bubblewrap cannot. Pure Linux, no namespace, no mount.
//!
//! A process applies a [`Confinement`] to itself and then becomes the program. Nothing here takes it back, and
//! nothing here widens what the kernel allows already.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, Scope, path_beneath_rules,
};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::tools::sandbox::level::Confinement;
use crate::tools::sandbox::linux::system_calls;
use crate::tools::sandbox::profile::{ETC_DEPTH, SYSTEM, not_for_everybody};

/// The oldest version that separates signals and abstract sockets: Linux 6.12.
const VERSION: ABI = ABI::V6;
/// What of `/dev` a program may read and write.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

impl Confinement {
    /// Confines this process, and with it whatever it becomes or starts. The process must have one thread.
    pub(crate) fn apply(&self) -> Result<(), String> {
        if let Some(hidden) = self
            .hidden
            .iter()
            .find(|path| path.starts_with(&self.workspace))
        {
            return Err(format!(
                "Landlock cannot hide {}, which is in the workspace: move it elsewhere, or install bubblewrap",
                hidden.display()
            ));
        }
        drop_capabilities().map_err(|error| format!("capabilities: {error}"))?;
        self.restrict_files()
            .map_err(|error| format!("Landlock (Linux 6.12 or later): {error}"))?;
        system_calls::refuse().map_err(|error| format!("seccomp: {error}"))
    }

    /// Confines this process and becomes the program. Returns the problem only.
    pub(crate) fn become_program(&self, words: &[String]) -> String {
        let Some((program, arguments)) = words.split_first() else {
            return "no program is given".to_owned();
        };
        match self.apply() {
            Ok(()) => Command::new(program).args(arguments).exec().to_string(),
            Err(problem) => problem,
        }
    }

    fn restrict_files(&self) -> Result<(), landlock::RulesetError> {
        let (all, read) = (AccessFs::from_all(VERSION), AccessFs::from_read(VERSION));
        let devices = AccessFs::ReadFile | AccessFs::WriteFile;
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(all)?
            .handle_access(AccessNet::from_all(VERSION))?
            .scope(Scope::from_all(VERSION))?
            .create()?
            .add_rules(path_beneath_rules(
                std::iter::once(&self.workspace).chain(&self.writable),
                all & !special_files(),
            ))?
            .add_rules(path_beneath_rules(self.readable(), read))?
            .add_rules(path_beneath_rules(DEVICES, devices))?
            .restrict_self()?;
        Ok(())
    }

    /// Files and directories of the system, without what is hidden and what is not for everybody.
    fn readable(&self) -> BTreeSet<PathBuf> {
        let mut secrets = Vec::new();
        not_for_everybody(Path::new("/etc"), ETC_DEPTH, &mut secrets);
        let mut left_out: Vec<PathBuf> = secrets.into_iter().map(|(path, _)| path).collect();
        left_out.extend(self.hidden.iter().cloned());
        let mut readable = BTreeSet::new();
        // `/bin` may be a link to `/usr/bin`: what is left out is compared with where it leads.
        for place in SYSTEM
            .iter()
            .filter_map(|place| Path::new(place).canonicalize().ok())
        {
            without(&place, &left_out, &mut readable);
        }
        kernel_files(&mut readable);
        readable.extend(self.executable.clone());
        readable.extend(self.readable.iter().cloned());
        readable
    }
}

/// Device files: with one a program would reach a disk past every rule.
fn special_files() -> BitFlags<AccessFs> {
    AccessFs::MakeChar | AccessFs::MakeBlock
}

/// A directory as a whole where nothing in it is left out, else what it holds, one by one. No links: a right is one
/// to what a path leads to.
fn without(path: &Path, left_out: &[PathBuf], found: &mut BTreeSet<PathBuf>) {
    if left_out.iter().any(|place| path.starts_with(place)) {
        return;
    }
    if !left_out.iter().any(|place| place.starts_with(path)) {
        found.insert(path.to_owned());
        return;
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            without(&entry.path(), left_out, found);
        }
    }
}

/// What `/proc` tells everybody about the machine; nothing of a process, not even of the program's own.
fn kernel_files(found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let of_process = name
            .as_encoded_bytes()
            .first()
            .is_some_and(u8::is_ascii_digit);
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if !of_process && metadata.is_file() && metadata.permissions().mode() & 0o004 != 0 {
            found.insert(entry.path());
        }
    }
}

/// Takes every capability. The kernel gives none back at `exec`: Landlock sets `no_new_privs`.
fn drop_capabilities() -> rustix::io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    rustix::thread::clear_ambient_capability_set()?;
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )
}
