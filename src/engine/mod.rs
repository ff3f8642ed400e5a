//! Sessions, turns, policy and approvals: the one gate everything goes through.
