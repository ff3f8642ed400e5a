//! Text as it is compared: two texts that a person would call equal fold to the same one.
//!
//! Folding loses nothing that is needed again: what is stored and shown is always the text itself.

use icu_normalizer::ComposingNormalizerBorrowed;

/// The text without differences of case, of how accents are written, and of white space. Case goes by the simple
/// mappings, lower, upper and lower again, so that `ẞ`, `ß` and `SS`, `ς` and `σ` are equal.
pub fn fold(text: &str) -> String {
    let nfc = ComposingNormalizerBorrowed::new_nfc();
    let mut folded = String::with_capacity(text.len());
    for word in nfc.normalize(text).split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(
            word.chars()
                .flat_map(char::to_lowercase)
                .flat_map(char::to_uppercase)
                .flat_map(char::to_lowercase),
        );
    }
    // Lower case may come in pieces: `İ` becomes an `i` and a dot.
    nfc.normalize(&folded).into_owned()
}

/// The text as it is kept: without NUL, which ends a text for the search, and without white space around it.
pub fn kept(text: &str) -> String {
    text.replace('\0', "").trim().to_owned()
}
