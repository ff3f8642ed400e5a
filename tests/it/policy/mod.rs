//! Properties of the policy.
