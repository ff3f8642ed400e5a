//! Nobody is forgotten, and nobody is disturbed at night: reminders, quiet hours, and who is asked first.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chats;
mod quiet_hours;
