//! Outside text never fakes, hides or injects.

mod chunk;
mod markdown;
mod redact;
mod scripts;
mod seam;
mod untrusted;
mod wrap;
