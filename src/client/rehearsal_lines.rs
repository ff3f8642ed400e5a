//! A rehearsal in lines, for people. Every line is safe to print.

use crate::protocol::rehearsal::{HEADING, Rehearsal, RehearsedFile};
use crate::text::untrusted::{reveal, reveal_line};

/// One file in a line: `changed notes.txt (42 bytes), mode 755, was 644`.
pub fn file_line(file: &RehearsedFile) -> String {
    let bytes = file
        .bytes
        .map_or_else(String::new, |bytes| format!(" ({bytes} bytes)"));
    let note = file
        .note
        .as_ref()
        .map_or_else(String::new, |note| format!(", {note}"));
    format!("{} {}{bytes}{note}", file.fate.as_str(), file.path)
}

/// All of it.
pub fn lines(rehearsal: &Rehearsal) -> Vec<String> {
    let mut lines = vec![
        HEADING.to_owned(),
        format!("outcome   {}", reveal_line(&rehearsal.outcome)),
        format!("ran in    {}", rehearsal.sandbox),
        format!("would do  {}", rehearsal.files_in_words()),
    ];
    if let Some(why) = &rehearsal.incomplete {
        lines.push(format!(
            "warning   the list is incomplete: {}",
            reveal_line(why)
        ));
    }
    for file in &rehearsal.files {
        lines.push(format!("  {}", reveal_line(&file_line(file))));
        let diff = file.diff.as_deref().unwrap_or_default();
        lines.extend(reveal(diff).lines().map(|line| format!("    {line}")));
    }
    lines.push("output".to_owned());
    lines.extend(
        reveal(&rehearsal.output)
            .lines()
            .map(|line| format!("  {line}")),
    );
    lines
}
