//! Whole cards: an approval is asked for when its card is opened.

use crate::console::opened::Asked;
use crate::console::world::World;
use crate::protocol::approval::Approval;
use crate::protocol::ids::ApprovalId;
use crate::protocol::request::GetApproval;

/// What the card that is open needs: one question at a time. `shown`: its approval;
/// none = none is open.
pub fn ask(world: &mut World, shown: Option<ApprovalId>, can_ask: bool) -> Option<GetApproval> {
    let asked = &mut world.opened.asked;
    asked.take_if(|asked| asked.problem.is_some() && Some(asked.id) != shown);
    if !can_ask {
        return None;
    }
    begin(world, shown?)
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
