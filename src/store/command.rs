//! What a command is, and the transaction it sees.
//!
//! A command holds no state and touches nothing outside its transaction, so the writer may run it again.

use crate::clock::Timestamp;
use crate::store::error::StoreError;
use crate::store::log_head::StagedLog;
use crate::store::sql::Connection;
#[cfg(feature = "test-hooks")]
use crate::store::sql::Statements as _;

/// How soon a command's effect must survive a power loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Recomputable or decorative: survives a crash of the process, perhaps not of the machine.
    Relaxed,
    /// A promise to someone outside: on disk before the answer.
    Durable,
}

impl Durability {
    /// The stronger of two.
    pub const fn stronger(self, other: Self) -> Self {
        match (self, other) {
            (Self::Relaxed, Self::Relaxed) => Self::Relaxed,
            (Self::Durable, _) | (_, Self::Durable) => Self::Durable,
        }
    }
}

/// An atomic change: pure data applied inside a savepoint.
///
/// `apply` may run again when its batch was lost, so it takes `&self`. After an error the savepoint is
/// rolled back together with the events and audit rows it staged, and only this command fails.
pub trait WriteCommand: Send + 'static {
    /// What the caller gets.
    type Output: Send + 'static;
    /// Its durability. Whoever needs less says so.
    const DURABILITY: Durability = Durability::Durable;
    /// Whether it runs in a transaction of its own in which SQLite looks up no foreign key. Deleting a parent looks
    /// through every child table that has no index for it, which on the tables of the hot path is all of them, row by
    /// row; a command that says so deletes the children itself.
    const ALONE: bool = false;

    /// Does it.
    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Self::Output, StoreError>;

    /// Runs after COMMIT and before the caller is answered. Only crash points live here.
    fn committed(&self) {}
}

/// Both or neither.
impl<A: WriteCommand, B: WriteCommand> WriteCommand for (A, B) {
    type Output = (A::Output, B::Output);
    const DURABILITY: Durability = A::DURABILITY.stronger(B::DURABILITY);
    const ALONE: bool = A::ALONE || B::ALONE;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Self::Output, StoreError> {
        Ok((self.0.apply(tx)?, self.1.apply(tx)?))
    }

    fn committed(&self) {
        self.0.committed();
        self.1.committed();
    }
}

/// Everything one command may touch. Made and owned by the writer.
pub struct WriteTx<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) now: Timestamp,
    pub(crate) epoch: u64,
    pub(crate) staged: StagedLog,
}

impl WriteTx<'_> {
    /// SQLite's `synchronous` level in this transaction: 1 = NORMAL, 2 = FULL. Lets a test see the class of
    /// the commit it is part of.
    #[cfg(feature = "test-hooks")]
    pub fn pragma_synchronous(&self) -> Result<i64, StoreError> {
        // A prepared statement would answer the level of when it was prepared.
        Ok(self
            .conn
            .pragma_query_value(None, "synchronous", |row| row.get(0))?)
    }

    /// Commits what a command did so far, passes a crash point, and goes on in a second transaction: what a rule
    /// forbids that wants one transaction.
    #[cfg(feature = "test-hooks")]
    pub(crate) fn tear(&self, point: &str) -> Result<(), StoreError> {
        self.conn.run("RELEASE command", [])?;
        self.conn.run("COMMIT", [])?;
        crate::crash::reached(point);
        self.conn.run("BEGIN IMMEDIATE", [])?;
        self.conn.run("SAVEPOINT command", [])?;
        Ok(())
    }
}
