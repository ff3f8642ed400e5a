//! Who allowed what: append-only, hash-chained.

/// The end of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AuditHead {
    /// Number of the last row; 0 = none.
    pub(crate) seq: u64,
    /// Its hash; zeros = none.
    pub(crate) hash: [u8; 32],
}
