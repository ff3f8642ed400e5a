//! Outside text never fakes, hides or injects.

mod chunk;
mod markdown;
mod matrix_html;
mod mrkdwn;
mod redact;
mod scripts;
mod seam;
mod untrusted;
mod wrap;
