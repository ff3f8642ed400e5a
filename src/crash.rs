//! Named points at which a test can kill the process or panic, and rules of the protocol that a test can switch off. Without
//! the feature `test-hooks` nothing of this exists.
//!
//! `LEVERFRAME_CRASH=name:nth` (read by `config`) arms one point; reaching it for the nth time sends
//! SIGKILL to the process itself, so nothing gets a chance to clean up. `LEVERFRAME_CRASH=name:nth:panic` panics there
//! instead, as a defect of ours would. `LEVERFRAME_MUTANT=name` switches one rule off for the whole process: a suite
//! that does not notice proves nothing about that rule.

/// Kills the process when this point is armed and reached for the armed time.
///
/// Expands to nothing without the feature `test-hooks`.
#[macro_export]
macro_rules! crash_point {
    ($name:literal) => {
        #[cfg(feature = "test-hooks")]
        $crate::crash::reached($name);
    };
}

/// Whether the named rule of the protocol is switched off in this process; with `=>`, does something where it is.
///
/// Always `false`, and nothing at all, without the feature `test-hooks`.
#[macro_export]
macro_rules! mutant {
    ($name:literal => $instead:expr) => {
        #[cfg(feature = "test-hooks")]
        if $crate::crash::switched_off($name) {
            $instead;
        }
    };
    ($name:literal) => {{
        #[cfg(feature = "test-hooks")]
        let off = $crate::crash::switched_off($name);
        #[cfg(not(feature = "test-hooks"))]
        let off = false;
        off
    }};
}

#[cfg(feature = "test-hooks")]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// What reaching an armed point does.
    enum Fault {
        Kill,
        Panic,
    }

    static ARMED: OnceLock<(String, u32, Fault)> = OnceLock::new();
    static HITS: AtomicU32 = AtomicU32::new(0);
    static MUTANT: OnceLock<String> = OnceLock::new();

    /// Switches one rule off until the process ends.
    pub fn switch_off(name: &str) {
        let _ = MUTANT.set(name.to_owned());
    }

    /// Called by [`crate::mutant!`].
    pub fn switched_off(name: &str) -> bool {
        MUTANT.get().is_some_and(|off| off == name)
    }

    /// Arms one point from text of the form `name:nth` or `name:nth:panic`; text of another form arms nothing.
    pub fn arm(text: &str) {
        let (text, fault) = match text.strip_suffix(":panic") {
            Some(text) => (text, Fault::Panic),
            None => (text, Fault::Kill),
        };
        if let Some((name, nth)) = text.rsplit_once(':')
            && let Ok(nth) = nth.parse()
        {
            let _ = ARMED.set((name.to_owned(), nth, fault));
        }
    }

    /// Called by [`crate::crash_point!`].
    ///
    /// # Panics
    /// Where a test asked for a panic at this point.
    #[allow(clippy::panic)] // that is what is asked for
    pub fn reached(name: &str) {
        if let Some((armed, nth, fault)) = ARMED.get()
            && armed == name
            && HITS.fetch_add(1, Ordering::SeqCst) + 1 == *nth
        {
            match fault {
                Fault::Kill => {
                    let _ = rustix::process::kill_process(
                        rustix::process::getpid(),
                        rustix::process::Signal::KILL,
                    );
                }
                Fault::Panic => panic!("panicked at {name} because a test asked for it"),
            }
        }
    }
}

#[cfg(feature = "test-hooks")]
pub use armed::{arm, reached, switch_off, switched_off};
