//! Styled snapshots of the console's frames.
