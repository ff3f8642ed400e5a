//! Reasoning in the text of an answer.

use leverframe::model::openai_chat::thinking::Thinking;

#[test]
fn reasoning_in_the_text_is_not_shown_however_it_is_cut() {
    for (text, visible) in [
        ("<think>hm \u{fc}</think>\n\nYes.", "Yes."),
        ("\n <think></think>Yes.", "Yes."),
        ("<think>never closed", ""),
        ("<thin", "<thin"),
        ("<this> is not it", "<this> is not it"),
        ("a <think>b</think>", "a <think>b</think>"),
        (" \n", " \n"),
        ("", ""),
    ] {
        for cut in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            for second in (cut..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let mut thinking = Thinking::default();
                let mut shown = thinking.visible(&text[..cut]);
                shown.push_str(&thinking.visible(&text[cut..second]));
                shown.push_str(&thinking.visible(&text[second..]));
                shown.push_str(&thinking.end());
                assert_eq!(shown, visible, "{text:?} cut at {cut} and {second}");
            }
        }
    }
}
