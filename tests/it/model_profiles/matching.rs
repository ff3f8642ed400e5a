//! Which row of a table speaks for which model.

use std::collections::BTreeMap;

use leverframe::config::model_tables::row_for;
use proptest::prelude::*;

fn found(listed: &[(&str, bool)], model: &str) -> Option<String> {
    let rows: BTreeMap<String, (String, bool)> = listed
        .iter()
        .map(|(id, family)| ((*id).to_owned(), ((*id).to_owned(), *family)))
        .collect();
    row_for(&rows, model, |row| row.1).map(|row| row.0.clone())
}

#[test]
fn a_date_or_tag_is_the_same_model_and_a_sibling_is_not() {
    let one = |model: &str| found(&[("gpt-5", false)], model);
    for same in [
        "gpt-5",
        "gpt-5-2025-08-07",
        "gpt-5-20250807",
        "gpt-5@20250807",
        "gpt-5-latest",
        "gpt-5:free",
        "openai/gpt-5",
        "openrouter/openai/gpt-5-latest",
    ] {
        assert_eq!(one(same).as_deref(), Some("gpt-5"), "{same}");
    }
    for other in [
        "gpt-5.1",
        "gpt-5-pro",
        "gpt-50",
        "gpt-5-mini",
        "gpt-5-2025",
        "gpt-",
        "xgpt-5",
        "",
        "GPT-5",
        "gpt-5-8b",
        "gpt-5-instruct",
    ] {
        assert_eq!(one(other), None, "{other}");
    }
}

#[test]
fn a_family_speaks_for_its_sizes_and_quantisations() {
    let family = |model: &str| {
        let listed = [
            ("qwen3", true),
            ("qwen3-coder", true),
            ("gpt-oss", true),
            ("mistral", true),
            ("deepseek-v3", true),
            ("gemma-3", true),
        ];
        found(&listed, model)
    };
    for (model, expected) in [
        ("qwen3", "qwen3"),
        ("qwen3:8b", "qwen3"),
        ("Qwen/Qwen3-8B-Instruct", "qwen3"),
        ("qwen3-30b-a3b-instruct-2507-q4_k_m.gguf", "qwen3"),
        ("qwen3-1.7b", "qwen3"),
        ("qwen3-coder:30b", "qwen3-coder"),
        ("Qwen3-Coder-480B-A35B-FP8", "qwen3-coder"),
        ("openai/gpt-oss-120b", "gpt-oss"),
        ("gpt-oss:20b-cloud", "gpt-oss"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral"),
        ("google/gemma-3-4b-it-qat", "gemma-3"),
    ] {
        assert_eq!(family(model).as_deref(), Some(expected), "{model}");
    }
    for sibling in [
        "qwen3-vl:8b",
        "qwen3.5:9b",
        "qwen3-next-80b",
        "qwen35",
        "mistral-large",
        "mistral-nemo",
        "mistral-2",
        "deepseek-v3.1",
        "deepseek-v30",
        "gpt-oss-safeguard-20b",
        "gemma-3n-e4b",
    ] {
        assert_eq!(family(sibling), None, "{sibling}");
    }
    // The whole id, listed as it is, comes before everything else.
    let listed = [("qwen3", true), ("org/qwen3:8b", false)];
    assert_eq!(
        found(&listed, "org/qwen3:8b").as_deref(),
        Some("org/qwen3:8b")
    );
}

proptest! {
    /// A row never speaks for a model whose name goes on with a letter, and matching never panics.
    #[test]
    fn a_longer_word_is_another_model(listed in "[a-z]{2,8}[0-9]?", more in "[a-z][a-z0-9]{0,6}") {
        prop_assert_eq!(found(&[(&listed, true)], &format!("{listed}{more}")), None);
        prop_assert_eq!(found(&[(&listed, false)], &format!("{listed}{more}")), None);
    }

    #[test]
    fn any_text_is_a_question_that_can_be_asked(listed in "\\PC{0,12}", model in "\\PC{0,24}") {
        let _ = found(&[(&listed, true)], &model);
    }
}
