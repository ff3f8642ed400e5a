//! The one integration binary; each module below is a suite.
