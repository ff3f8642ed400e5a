//! Bridges to chat platforms: transport and formatting only; nothing here decides.
