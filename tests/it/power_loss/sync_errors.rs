//! The disk refuses a sync. What it holds is not known any more, so nothing may be promised after that, and the next
//! start must find the promises made before.

use std::os::unix::process::ExitStatusExt as _;

use crate::power_loss::journal::Line;
use crate::power_loss::replay::Plan;
use crate::power_loss::store_run::{Life, lose_power, record};
use crate::power_loss::trace_lines::hex;
use crate::power_loss::{seed, strace};
use crate::support::record::fault;

/// Which sync of each thread fails.
const NTH: &[u32] = &[1, 3, 16, 21, 33, 45];

/// Path of the first sync that was refused, and the lines of the trace behind it.
fn refused(trace: &str) -> Option<(String, &str)> {
    let at = trace.find("(INJECTED)")?;
    let line = trace[..at].rsplit('\n').next()?;
    let hex = line.split('<').nth(1)?.split('>').next()?;
    let bytes: Vec<u8> = hex
        .split("\\x")
        .skip(1)
        .filter_map(|digits| u8::from_str_radix(digits, 16).ok())
        .collect();
    Some((String::from_utf8(bytes).ok()?, &trace[at..]))
}

#[test]
fn nothing_is_answered_after_a_sync_that_failed() {
    if !strace::available() {
        return;
    }
    let answered = serde_json::to_string(&Line::Answered {
        n: 0,
        what: String::new(),
        durable: true,
    })
    .unwrap();
    let answered = hex(&answered.as_bytes()[..11]);
    let (mut aborted, mut stopped) = (0, 0);
    for nth in NTH {
        let faults = ["fsync", "fdatasync"].map(|call| format!("{call}:error=EIO:when={nth}"));
        let life = Life {
            name: "lives_shortly",
            faults: faults.to_vec(),
        };
        let recorded = record(&[life], 0, None);
        let (trace, status, said) = &recorded.lives[0];
        let (path, behind) =
            refused(trace).unwrap_or_else(|| panic!("sync {nth} was never reached\n{said}"));
        // SQLite does not look at the sync of a directory; ours follows before anything is promised.
        if ["leverframe.db", "-wal", ".db.new", "epoch.new"]
            .iter()
            .any(|end| path.ends_with(end))
        {
            stopped += 1;
            assert!(
                !behind.contains(&answered),
                "sync {nth}, of {path}, failed, and a command was answered after it"
            );
            assert!(
                !status.success(),
                "sync {nth}, of {path}, failed, and nobody was told: {said}"
            );
        }
        eprintln!("sync {nth}: {path}: {status}");
        aborted += u32::from(status.signal() == Some(6) || status.code() == Some(134));
        let plan = Plan {
            seed: seed(),
            images: 10,
            one_is_enough: false,
        };
        lose_power(&recorded, plan).assert_sound(recorded);
    }
    assert!(
        aborted >= 2,
        "only {aborted} of {} processes ended themselves",
        NTH.len()
    );
    assert!(stopped >= 4, "only {stopped} of the syncs were of files");
    fault(
        "fsync-error",
        &format!(
            "fsync answers EIO, in {} runs at different syncs",
            NTH.len()
        ),
        "the process ends and answers nothing more; the next start has everything it acknowledged before",
    );
}
