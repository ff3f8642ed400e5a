//! Whole cards. What a snapshot, a list or an event says of an approval is shortened; the whole is asked for when its
//! card is opened, and only the few cards opened last stay whole.

use crate::protocol::approval::Approval;
use crate::protocol::ids::ApprovalId;
use crate::protocol::request::{GetApproval, Query};
use crate::tui::state::app::{Screen, State};
use crate::tui::state::queue::ItemKey;
use crate::tui::state::world::World;

/// Cards that stay whole; the one opened longest ago is shortened first.
pub const KEPT: usize = 8;

/// Which approvals of a world are whole, and what is being asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Opened {
    /// The one opened last at the end.
    whole: Vec<ApprovalId>,
    asked: Option<Asked>,
}

#[derive(Debug, Clone, PartialEq)]
struct Asked {
    id: ApprovalId,
    /// Why there is no answer; none = it is on its way.
    problem: Option<String>,
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
    fn opens(&mut self, id: ApprovalId) -> Option<ApprovalId> {
        self.whole.retain(|known| *known != id);
        self.whole.push(id);
        (self.whole.len() > KEPT).then(|| self.whole.remove(0))
    }
}

/// What the card that is open needs: one question at a time.
pub fn ask(state: &mut State) -> Option<Query> {
    let open = match &state.queue.selected {
        Some(ItemKey::Approval(id)) if state.screen == Screen::Queue => Some(*id),
        Some(_) | None => None,
    };
    let asked = &mut state.world.opened.asked;
    asked.take_if(|asked| asked.problem.is_some() && Some(asked.id) != open);
    if !state.is_live() || state.replay.is_some() {
        return None;
    }
    begin(&mut state.world, open?).map(Query::GetApproval)
}

/// What is to be asked so that an approval is whole; none = it is, or a question is under way or has failed.
pub fn begin(world: &mut World, id: ApprovalId) -> Option<GetApproval> {
    if !world.approvals.get(&id)?.shortened {
        if world.opened.whole.contains(&id) {
            // It is among the last few already, so no other goes.
            world.opened.opens(id);
        }
        return None;
    }
    if world.opened.asked.is_some() {
        return None;
    }
    world.opened.asked = Some(Asked { id, problem: None });
    Some(GetApproval { id })
}

/// Takes in the answer, or why there is none. False = nobody here asked.
pub fn answered(world: &mut World, id: ApprovalId, answer: Result<&Approval, String>) -> bool {
    let Some(asked) = (world.opened.asked).take_if(|asked| asked.id == id) else {
        return false;
    };
    let Some(row) = world.approvals.get_mut(&id) else {
        return true;
    };
    match answer {
        Ok(whole) if row.asks_the_same(whole) => row.take_content(whole),
        // Its event is on its way.
        Ok(newer) if newer.revision > row.revision => *row = newer.clone(),
        // The row is newer than the answer: the card asks again.
        Ok(_) => return true,
        Err(problem) => {
            world.opened.asked = Some(Asked {
                problem: Some(problem),
                ..asked
            });
            return true;
        }
    }
    if let Some(oldest) = world.opened.opens(id)
        && let Some(row) = world.approvals.get_mut(&oldest)
    {
        row.shorten();
    }
    true
}

/// Takes in an approval as a snapshot or an event told it. What is whole stays whole while it asks about the same.
pub fn put(world: &mut World, mut told: Approval) {
    told.shorten();
    if told.shortened
        && let Some(known) = world.approvals.get(&told.id)
        && !known.shortened
        && known.asks_the_same(&told)
    {
        told.take_content(known);
    }
    world.approvals.insert(told.id, told);
}

/// The world of a new snapshot keeps what was whole in the one before.
pub fn carry(mut before: World, fresh: &mut World) {
    let whole = std::mem::take(&mut before.opened.whole);
    for known in whole.iter().filter_map(|id| before.approvals.get(id)) {
        if let Some(row) = fresh.approvals.get_mut(&known.id)
            && !known.shortened
            && row.asks_the_same(known)
        {
            row.take_content(known);
        }
    }
    fresh.opened.whole = whole;
}
