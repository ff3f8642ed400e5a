//! Commands of the binary on a running daemon: policies, events, and decisions beside yes and no.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod approvals;
mod channel_add;
mod continuations;
mod copies;
mod events;
mod fleet;
mod get;
mod log;
mod manual;
mod people;
mod policy;
mod status;
mod watch;

use std::io::{Error, ErrorKind};

use leverframe::cli::exit::Failure;

#[test]
fn a_reader_that_has_seen_enough_is_no_success_of_a_command_that_did_nothing_yet() {
    let closed = || Failure::from(Error::from(ErrorKind::BrokenPipe));
    assert_eq!((closed().status(), closed().message()), (0, None));
    let undone = closed().before("nothing was released");
    assert_eq!(undone.status(), 1);
    let said = undone.message().expect("words");
    assert!(said.contains("nothing was released"), "{said}");
}
