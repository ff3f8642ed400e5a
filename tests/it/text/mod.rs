//! Outside text never fakes, hides or injects.

mod chunk;
mod markdown;
mod redact;
mod seam;
mod untrusted;
mod wrap;
