//! Tools, guards and the sandbox.
