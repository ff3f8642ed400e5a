//! The seccomp filter of a program that no namespace holds: calls that would lead around Landlock.
//!
//! A refused call fails with `EPERM`; none ends the program. Sources: seccomp(2), landlock(7) § BUGS.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Calls that are refused whatever their arguments are.
const REFUSED: [i64; 41] = [
    // Sockets of every kind. What is left is `socketpair`, which reaches nobody else.
    libc::SYS_socket,
    // It makes system calls that no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    // Keys of the user, which no file guards.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];
/// Flags of `clone` that make a namespace.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];
/// Requests of `ioctl` that type into a terminal or select on a console.
const TYPING: [u64; 2] = [libc::TIOCSTI, 0x541c];
/// Bits by which a file runs with the rights of its owner or group.
const SET_ID: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];
/// `fchmodat2`, since Linux 6.6; the same number on every architecture.
const FCHMODAT2: i64 = 452;
/// Calls of the x32 interface have this bit in their number; the filter compares whole numbers.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Refuses the calls for this process and what it becomes or starts.
pub(crate) fn refuse() -> Result<(), String> {
    let problem = |error: &dyn std::fmt::Display| error.to_string();
    let denied = libc::EPERM.unsigned_abs();
    install(rules().map_err(|error| problem(&error))?, denied)?;
    // Its flags are in memory, where no filter looks; with this answer libraries take `clone`.
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    install(clone3, libc::ENOSYS.unsigned_abs())
}

fn install(rules: BTreeMap<i64, Vec<SeccompRule>>, error: u32) -> Result<(), String> {
    let architecture = std::env::consts::ARCH.try_into();
    let filter = architecture
        .and_then(|architecture| {
            SeccompFilter::new(
                with_x32(rules),
                SeccompAction::Allow,
                SeccompAction::Errno(error),
                architecture,
            )
        })
        .and_then(BpfProgram::try_from)
        .map_err(|error| error.to_string())?;
    seccompiler::apply_filter(&filter).map_err(|error| error.to_string())
}

#[cfg(target_arch = "x86_64")]
fn with_x32(mut rules: BTreeMap<i64, Vec<SeccompRule>>) -> BTreeMap<i64, Vec<SeccompRule>> {
    let more: Vec<_> = rules
        .iter()
        .map(|(call, rules)| (call | X32, rules.clone()))
        .collect();
    rules.extend(more);
    rules
}

#[cfg(not(target_arch = "x86_64"))]
fn with_x32(rules: BTreeMap<i64, Vec<SeccompRule>>) -> BTreeMap<i64, Vec<SeccompRule>> {
    rules
}

fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let has = |argument: u8, flag: u64| {
        let whole = SeccompCmpOp::MaskedEq(flag);
        SeccompRule::new(vec![SeccompCondition::new(
            argument,
            SeccompCmpArgLen::Qword,
            whole,
            flag,
        )?])
    };
    let namespaces = NAMESPACES
        .iter()
        .map(|flag| has(0, u64::from(flag.unsigned_abs())));
    rules.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    let typing = TYPING.iter().map(|request| {
        let same = SeccompCmpOp::Eq;
        SeccompRule::new(vec![SeccompCondition::new(
            1,
            SeccompCmpArgLen::Dword,
            same,
            *request,
        )?])
    });
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    let mut modes = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (FCHMODAT2, 2),
    ];
    #[cfg(target_arch = "x86_64")]
    modes.push((libc::SYS_chmod, 1));
    for (call, argument) in modes {
        let set_id = SET_ID.iter().map(|bit| has(argument, u64::from(*bit)));
        rules.insert(call, set_id.collect::<Result<_, _>>()?);
    }
    Ok(rules)
}
