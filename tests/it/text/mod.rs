//! Outside text never fakes, hides or injects.
