//! Outside text: revealing, measuring, wrapping, splitting, redacting. Nothing here does I/O.
