//! Shared harness of the suites.
