//! Which approvals are complete. Snapshots, lists and events carry shortened approvals; only the few cards opened last
//! stay complete.

use crate::protocol::ids::ApprovalId;

/// Cards that stay whole; the one opened longest ago is shortened first.
pub const KEPT: usize = 8;

/// Which approvals of a world are whole, and what is being asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Opened {
    /// The one opened last at the end.
    pub(super) whole: Vec<ApprovalId>,
    pub(super) asked: Option<Asked>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) id: ApprovalId,
    /// Why there is no answer; none = it is on its way.
    pub(super) problem: Option<String>,
}

impl Opened {
    /// Why the whole of an approval could not be read, when that was tried.
    pub fn problem(&self, id: ApprovalId) -> Option<&str> {
        let asked = self.asked.as_ref().filter(|asked| asked.id == id)?;
        asked.problem.as_deref()
    }

    /// No answer is awaited any more, and what failed is tried again.
    pub fn lost(&mut self) {
        self.asked = None;
    }

    /// What failed is tried again.
    pub fn again(&mut self) {
        self.asked.take_if(|asked| asked.problem.is_some());
    }

    /// Notes that this card is the one opened last; gives back the one that does not stay whole.
    pub(super) fn opens(&mut self, id: ApprovalId) -> Option<ApprovalId> {
        self.whole.retain(|known| *known != id);
        self.whole.push(id);
        (self.whole.len() > KEPT).then(|| self.whole.remove(0))
    }
}
