//! An operator's own tables: found beside the configuration, taken field by field, and refused with their line.

use leverframe::config::error::ConfigLocation;
use leverframe::config::model_tables::{Prices, Profiles};
use leverframe::config::toml_text::TomlText;
use leverframe::model::{prices, profiles};
use std::path::Path;

use crate::config_files::Case;

const USE_BOTH: &str =
    "[model]\nprofiles_file = \"profiles.toml\"\nprices_file = \"sub/prices.toml\"\n";

fn case(profiles: &str, prices: &str) -> Case {
    let case = Case::new(USE_BOTH);
    let dir = case.file().parent().unwrap().to_owned();
    std::fs::create_dir(dir.join("sub")).unwrap();
    std::fs::write(dir.join("profiles.toml"), profiles).unwrap();
    std::fs::write(dir.join("sub/prices.toml"), prices).unwrap();
    case
}

const PROFILES: &str =
    "as_of = \"2026-11-01\"\n[models.\"house-7b\"]\ncontext_window = 4096\ntools = false\n";
const PRICES: &str = "as_of = \"2026-11-02\"\n[[price]]\nmodel = \"house-7b\"\ninput = 0.5\noutput = 1\ncache_read = 0.25\nmax_input = 1000\n";

#[test]
fn they_are_read_relative_to_the_configuration() {
    let settings = case(PROFILES, PRICES).settings();
    let tables = &settings.tables;
    let own = tables.profiles.as_ref().unwrap();
    assert_eq!(own.table.as_of, "2026-11-01");
    assert!(own.file.ends_with("/profiles.toml"), "{}", own.file);
    let openai = &settings.providers["openai"];
    let (profile, _) = profiles::resolve(openai, tables, "house-7b");
    assert_eq!((profile.context_window, profile.tools), (4096, Some(false)));
    let price = prices::price_of(openai, tables, "house-7b").unwrap();
    assert_eq!(
        (price.rates.input, price.rates.cache_read),
        (0.5, Some(0.25))
    );
    assert_eq!(price.as_of.as_deref(), Some("2026-11-02"));
    // The demo takes nothing from anywhere.
    let demo = case("broken", "broken").flags(|flags| flags.demo = true);
    assert_eq!(demo.settings().tables.profiles, None);
}

#[track_caller]
fn refused(case: &Case, file: &str, at_line: usize, words: &[&str]) {
    let error = case.error();
    let text = error.to_string();
    let ConfigLocation::File { path, line, .. } = &error.fault().place else {
        panic!("no place in a file: {text}");
    };
    assert!(path.ends_with(file), "{text}");
    assert_eq!(*line, Some(at_line), "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn a_broken_price_names_its_line_and_field() {
    let row = "as_of = \"2026-11-02\"\n\n[[price]]\nmodel = \"a\"\ninput = 1\noutput = 1\n\n[[price]]\nmodel = \"b\"\n";
    for (rest, line, words) in [
        (
            "input = -1\noutput = 2\n",
            10,
            &["price.1.input", "is not a price", "from 0"][..],
        ),
        (
            "input = 1\noutput = nan\n",
            11,
            &["price.1.output", "is not a price"],
        ),
        ("input = 1\noutput = inf\n", 11, &["is not a price"]),
        (
            "input = 1\noutput = 1\ncache_read = -0.1\n",
            12,
            &["cache_read"],
        ),
        (
            "input = 1\noutput = 1\ncache_write = nan\n",
            12,
            &["cache_write"],
        ),
        (
            "input = 1\noutput = 1\nmax_input = 0\n",
            12,
            &["max_input", "from 1"],
        ),
        (
            "input = \"1\"\noutput = 1\n",
            10,
            &["wrong type", "a number"],
        ),
        ("input = 1\n", 8, &["`output` is missing"]),
        (
            "input = 1\noutptu = 1\n",
            11,
            &["unknown key `outptu`", "did you mean `output`?"],
        ),
    ] {
        refused(
            &case(PROFILES, &format!("{row}{rest}")),
            "sub/prices.toml",
            line,
            words,
        );
    }
    let twice = format!("{PRICES}[[price]]\nmodel = \"house-7b\"\ninput = 1\noutput = 1\n");
    refused(
        &case(PROFILES, &twice),
        "prices.toml",
        9,
        &["has two prices"],
    );
    let nameless = "as_of = \"2026-11-02\"\n[[price]]\nmodel = \"\"\ninput = 1\noutput = 1\n";
    refused(
        &case(PROFILES, nameless),
        "prices.toml",
        3,
        &["is not a model id"],
    );
}

#[test]
fn a_broken_profile_names_its_line_and_field() {
    let head = "as_of = \"2026-11-02\"\n[models.\"a\"]\n";
    for (rest, line, words) in [
        (
            "context_window = 10\n",
            3,
            &["models.a.context_window", "out of range", "1024"][..],
        ),
        ("context_window = -10\n", 3, &["context_window"]),
        (
            "max_output_tokens = 0\n",
            3,
            &["models.a.max_output_tokens", "out of range"],
        ),
        ("tools = \"yes\"\n", 3, &["true or false"]),
        (
            "tols = true\n",
            3,
            &["unknown key `tols`", "did you mean `tools`?"],
        ),
        (
            "effort = \"as much as you like\"\n",
            3,
            &["models.a.effort", "for example low"],
        ),
        (
            "prompt_cache = \"brakpoints\"\n",
            3,
            &["did you mean `breakpoints`?"],
        ),
        ("[models.\"a\"]\n", 3, &["duplicate key", "models.a"]),
    ] {
        let words: Vec<&str> = match words {
            // The parser has words of its own for a table that is written twice.
            ["duplicate key", ..] => vec![],
            words => words.to_vec(),
        };
        refused(
            &case(&format!("{head}{rest}"), PRICES),
            "profiles.toml",
            line,
            &words,
        );
    }
}

#[test]
fn a_table_without_a_true_date_is_refused() {
    let with = |as_of: &str| PRICES.replace("2026-11-02", as_of);
    for (as_of, words) in [
        ("2999-01-01", &["2999-01-01 is in the future"][..]),
        ("2026-02-30", &["is not a date", "YYYY-MM-DD"]),
        ("yesterday", &["is not a date"]),
        ("2026-1-2", &["is not a date"]),
        ("-002026-01-02", &["is not a date"]),
    ] {
        refused(&case(PROFILES, &with(as_of)), "prices.toml", 1, words);
        let profiles = PROFILES.replace("2026-11-01", as_of);
        refused(&case(&profiles, PRICES), "profiles.toml", 1, words);
    }
    let undated = PRICES.replace("as_of = \"2026-11-02\"\n", "");
    refused(
        &case(PROFILES, &undated),
        "prices.toml",
        1,
        &["`as_of` is missing"],
    );
}

#[test]
fn a_wrong_clock_is_no_measure_for_a_date() {
    let text = TomlText::new(Path::new("p.toml"), PRICES);
    let at = |text: &str| {
        let at: jiff::Timestamp = text.parse().unwrap();
        Some(leverframe::clock::Timestamp(at.as_millisecond()))
    };
    // A machine that boots in 1970 must still start.
    Prices::parse(&text, at("1970-01-01T00:00:00Z")).unwrap();
    Prices::parse(&text, at("2026-11-01T10:00:00Z")).unwrap();
    Prices::parse(&text, at("2026-10-31T00:00:00Z")).unwrap_err();
    let text = TomlText::new(Path::new("p.toml"), PROFILES);
    Profiles::parse(&text, at("2026-10-30T00:00:00Z")).unwrap_err();
}

#[test]
fn a_file_that_is_not_there_is_an_error_at_its_setting() {
    let case = Case::new("\n[model]\nprices_file = \"nowhere.toml\"\n");
    let text = case.error().to_string();
    for word in [
        "config.toml:3",
        "model.prices_file",
        "nowhere.toml does not exist",
        "shipped",
    ] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn settings_under_a_provider_are_checked_and_taken() {
    let case = Case::new(
        "[providers.openai]\neffort = \"high\"\nfree = true\n\
         prices.\"a\" = { input = 1.0, output = 2.0, cache_read = 0.5 }\n\
         models.\"b\" = { tools = false, context_window = 4096 }\n",
    )
    .env("OPENAI_API_KEY", "sk-secret");
    let openai = &case.settings().providers["openai"];
    assert_eq!(openai.tuning.effort.as_deref(), Some("high"));
    assert_eq!(openai.tuning.models["b"].tools, Some(false));
    assert!(openai.tuning.free);
    assert_eq!(openai.prices["a"].cache_read, Some(0.5));
    assert_eq!(openai.tuning.key_from.as_deref(), Some("OPENAI_API_KEY"));
    for (text, line, words) in [
        (
            "[providers.openai.models.b]\ncontext_window = 1\n",
            2,
            &["providers.openai.models.b.context_window"][..],
        ),
        (
            "[providers.openai.models.b]\nwindow = 1\n",
            2,
            &["unknown key `window`"],
        ),
        (
            "[providers.openai]\neffort = \"very much\"\n",
            2,
            &["providers.openai.effort"],
        ),
        (
            "[providers.openai]\nprices.a = { input = 1.0, output = nan }\n",
            2,
            &["prices.a.output"],
        ),
    ] {
        refused(&Case::new(text), "config.toml", line, words);
    }
}
