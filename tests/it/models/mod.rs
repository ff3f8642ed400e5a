//! Model adapters against byte scripts and third-party peers.
