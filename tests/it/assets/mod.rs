//! Shipped themes, keymaps and README examples load.
