//! Matching what somebody types against names. Pure; the order of equally good matches is the caller's.

/// How well `query` fits a name and what is known beside it; none = it does not. Every word of the query
/// must be found: its letters in this order in the name, or as a whole in what is beside it.
pub fn score(query: &str, name: &str, beside: &str) -> Option<i32> {
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let beside = beside.to_lowercase();
    let mut total = 0;
    for word in query.to_lowercase().split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        let here = in_order(&letters, &name);
        let there = beside.contains(word).then_some(1);
        total += here.max(there)?;
    }
    Some(total)
}

/// Letters that begin a word or follow each other count more, gaps count against.
fn in_order(letters: &[char], text: &[char]) -> Option<i32> {
    let first = letters.first()?;
    let starts = text.iter().enumerate().filter(|(_, c)| *c == first);
    let best = starts.filter_map(|(start, _)| from(letters, text, start));
    best.max()
        .map(|score| score + if letters.len() == text.len() { 20 } else { 0 })
}

fn from(letters: &[char], text: &[char], start: usize) -> Option<i32> {
    let mut score = 0;
    let mut next = start;
    for (index, letter) in letters.iter().enumerate() {
        let gap = text.get(next..)?.iter().position(|c| c == letter)?;
        let at = next + gap;
        let before = at.checked_sub(1).and_then(|i| text.get(i));
        score += 1;
        if before.is_none_or(|c| !c.is_alphanumeric()) {
            score += 8;
        }
        if index > 0 {
            score += if gap == 0 {
                8
            } else {
                -i32::try_from(gap.min(3)).unwrap_or(3)
            };
        }
        next = at + 1;
    }
    Some(score)
}
