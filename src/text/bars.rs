//! Numbers as a row of bars. Something is never drawn as nothing.

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One column for each of the newest values, from nothing to the most there was.
pub fn bars(values: &[u64], columns: usize) -> String {
    let values = values
        .get(values.len().saturating_sub(columns)..)
        .unwrap_or_default();
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    values
        .iter()
        .map(|value| {
            let level = u128::from(*value) * 7 / u128::from(most);
            let level = level.max(u128::from(*value > 0));
            let level = usize::try_from(level).unwrap_or(7).min(7);
            LEVELS.get(level).copied().unwrap_or('█')
        })
        .collect()
}
