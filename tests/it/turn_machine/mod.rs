//! Properties of the pure turn machine.
