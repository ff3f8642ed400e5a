//! One turn: the pure machine, and the driver that carries out its effects.

pub mod effect;
pub mod input;
pub mod machine;
