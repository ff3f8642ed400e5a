//! Telegram against a strict fake.
