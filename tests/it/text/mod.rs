//! Outside text never fakes, hides or injects.

mod ascii;
mod bars;
mod chunk;
mod csv;
mod markdown;
mod matrix_html;
mod mrkdwn;
mod redact;
mod scripts;
mod seam;
mod untrusted;
mod wrap;
