//! The four stories of a newcomer, with the real binary.
