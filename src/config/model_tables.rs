//! The data about models that an operator may bring: profiles (what a model can do) and prices, in two files of the same
//! form as the shipped ones.
//!
//! A file that cannot be used is an error with its line. A price is a finite number from 0 or it is not known; nothing
//! here turns "not known" into a number.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::config::error::{ConfigError, Fault};
use crate::config::toml_text::TomlText;
use crate::protocol::options::{ModelParameters, ToolChoice};

/// How a provider's prompt cache is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptCache {
    /// It has none, or we know nothing about it.
    #[default]
    None,
    /// It caches by itself; nothing is sent.
    Automatic,
    /// Breakpoints in the request (Anthropic).
    Breakpoints,
    /// A key in the request, and an explicit mode where writing costs (OpenAI Responses).
    Key,
}

/// What is said of one model; whatever is left out is taken from the next lower layer.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProfilePatch {
    /// Whether it speaks for every size and quantisation of the model too (`qwen3` for `qwen3-8b-q4_k_m`).
    pub family: Option<bool>,
    /// Tokens.
    pub context_window: Option<u64>,
    /// Tokens: in a file of profiles what the model can give at most, under a provider what a call asks for.
    pub max_output_tokens: Option<u32>,
    /// Whether it takes tools.
    pub tools: Option<bool>,
    /// Whether it proposes several calls at once.
    pub parallel_tool_calls: Option<bool>,
    /// Whether it takes pictures.
    pub pictures: Option<bool>,
    /// Whether it reasons.
    pub reasoning: Option<bool>,
    /// Reasoning effort, in the provider's word.
    pub effort: Option<String>,
    /// Prompt cache.
    pub prompt_cache: Option<PromptCache>,
    /// Sampling temperature, 0 to 2.
    pub temperature: Option<f64>,
    /// Share of the probability that tokens are taken from, above 0 and at most 1.
    pub top_p: Option<f64>,
    /// Which tool models call. `required` and the name of a tool hold until the turn has made a call.
    pub tool_choice: Option<ToolChoice>,
}

/// Bounds of a context window, in tokens.
pub const WINDOW: std::ops::RangeInclusive<u64> = 1024..=1_000_000_000;
/// Bounds of the output of one call, in tokens.
pub const OUTPUT: std::ops::RangeInclusive<u32> = 1..=10_000_000;

impl ProfilePatch {
    /// How it is asked.
    pub fn parameters(&self) -> ModelParameters {
        ModelParameters {
            temperature: self.temperature,
            top_p: self.top_p,
            tool_choice: self.tool_choice.clone(),
        }
    }

    /// The first field that cannot be: its name, what is wrong with it, and what would be right.
    pub fn wrong(&self) -> Option<(&'static str, String, String)> {
        let outside = |name, value: u64, from: u64, to: u64| {
            (!(from..=to).contains(&value)).then(|| {
                let expected = format!("a number from {from} to {to}");
                (name, format!("{value} is out of range"), expected)
            })
        };
        let window = self
            .context_window
            .and_then(|value| outside("context_window", value, *WINDOW.start(), *WINDOW.end()));
        let output = self.max_output_tokens.and_then(|value| {
            let (from, to) = (u64::from(*OUTPUT.start()), u64::from(*OUTPUT.end()));
            outside("max_output_tokens", u64::from(value), from, to)
        });
        let effort = self.effort.as_deref().and_then(|effort| {
            (!is_effort(effort)).then(|| {
                let problem = "is not a word for an effort".to_owned();
                ("effort", problem, EFFORT_EXPECTED.to_owned())
            })
        });
        let parameters = || {
            let wrong = self.parameters().problem()?;
            Some((wrong.field, wrong.problem, wrong.expected.to_owned()))
        };
        window.or(output).or(effort).or_else(parameters)
    }
}

/// What an effort may look like.
pub const EFFORT_EXPECTED: &str = "the provider's word for it, for example low, medium or high";

/// Whether this can be a provider's word for an effort: new ones appear, so only its form is checked.
pub fn is_effort(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    (1..=32).contains(&word.len()) && word.chars().all(plain)
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Input that was not cached.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from the prompt cache; the input price where absent.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Input written to the prompt cache; the input price where absent.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Most input tokens of one call that this price is for.
    #[serde(default)]
    pub max_input: Option<u64>,
}

/// What a price may be.
pub const PRICE_EXPECTED: &str = "US dollars per million tokens, from 0";

impl Rates {
    /// The first field that is no price.
    pub fn wrong(&self) -> Option<&'static str> {
        [
            ("input", Some(self.input)),
            ("output", Some(self.output)),
            ("cache_read", self.cache_read),
            ("cache_write", self.cache_write),
        ]
        .into_iter()
        .find(|(_, price)| price.is_some_and(|price| !price.is_finite() || price < 0.0))
        .map(|(name, _)| name)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    model: String,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    max_input: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceText {
    as_of: String,
    #[serde(default)]
    price: Vec<PriceRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileText {
    as_of: String,
    #[serde(default)]
    models: BTreeMap<String, ProfilePatch>,
}

/// Rows by model id, with the day they were collected on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table<T> {
    /// `YYYY-MM-DD`.
    pub as_of: String,
    /// By model id.
    pub rows: BTreeMap<String, T>,
}

/// A table of prices.
pub type Prices = Table<Rates>;
/// A table of profiles.
pub type Profiles = Table<ProfilePatch>;

impl Prices {
    /// Reads prices. `today` bounds the date; none = it is not compared.
    pub fn parse(text: &TomlText, today: Option<Timestamp>) -> Result<Self, ConfigError> {
        let given: PriceText = text.parse()?;
        check_date(text, &given.as_of, today)?;
        let mut rows = BTreeMap::new();
        for (number, row) in given.price.into_iter().enumerate() {
            let number = number.to_string();
            let fault =
                |field: &str, problem: String| text.fault(&["price", &number, field], problem);
            check_id(&row.model, &|problem| fault("model", problem))?;
            let rates = Rates {
                input: row.input,
                output: row.output,
                cache_read: row.cache_read,
                cache_write: row.cache_write,
                max_input: row.max_input,
            };
            if let Some(field) = rates.wrong() {
                let fault = fault(field, "is not a price".to_owned());
                return Err(fault.expected(PRICE_EXPECTED).into());
            }
            if rates.max_input == Some(0) {
                let fault = fault("max_input", "0 is out of range".to_owned());
                return Err(fault.expected("a number of tokens from 1").into());
            }
            if rows.insert(row.model.clone(), rates).is_some() {
                let fault = fault("model", format!("`{}` has two prices", row.model));
                return Err(fault.next_step("Keep one of the two").into());
            }
        }
        Ok(Self {
            as_of: given.as_of,
            rows,
        })
    }
}

impl Profiles {
    /// Reads profiles. `today` bounds the date; none = it is not compared.
    pub fn parse(text: &TomlText, today: Option<Timestamp>) -> Result<Self, ConfigError> {
        let given: ProfileText = text.parse()?;
        check_date(text, &given.as_of, today)?;
        for (model, patch) in &given.models {
            check_id(model, &|problem| text.fault(&["models", model], problem))?;
            if let Some((field, problem, expected)) = patch.wrong() {
                let fault = text.fault(&["models", model, field], problem);
                return Err(fault.expected(expected).into());
            }
        }
        Ok(Self {
            as_of: given.as_of,
            rows: given.models,
        })
    }
}

fn check_id(model: &str, fault: &dyn Fn(String) -> Fault) -> Result<(), ConfigError> {
    let legal = !model.is_empty()
        && model.len() <= 200
        && model.trim() == model
        && !model.chars().any(char::is_control);
    if legal {
        Ok(())
    } else {
        let fault = fault("is not a model id".to_owned());
        Err(fault.expected("the id as the provider spells it").into())
    }
}

/// The time at the beginning of a day written `YYYY-MM-DD`; none when it is no day.
fn day(text: &str) -> Option<Timestamp> {
    let date: jiff::civil::Date = text.parse().ok().filter(|_| text.len() == 10)?;
    let start = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(Timestamp(start.timestamp().as_millisecond()))
}

/// Days that another time zone may be ahead.
const AHEAD_SECONDS: i64 = 26 * 3600;

/// Before this nobody runs this program: a clock that says so is wrong, and no measure for a date.
const CLOCK_IS_WRONG_BEFORE: &str = "2026-01-01";

fn check_date(text: &TomlText, as_of: &str, today: Option<Timestamp>) -> Result<(), ConfigError> {
    let Some(at) = day(as_of) else {
        let fault = text.fault(&["as_of"], "is not a date");
        return Err(fault.expected("as_of = \"YYYY-MM-DD\"").into());
    };
    let plausible = |now: &Timestamp| day(CLOCK_IS_WRONG_BEFORE).is_some_and(|least| *now >= least);
    match today.filter(plausible) {
        Some(now) if at > now.plus_seconds(AHEAD_SECONDS) => {
            let fault = text.fault(&["as_of"], format!("{as_of} is in the future"));
            Err(fault
                .expected("the day of the data")
                .next_step("Correct the date, or the system's clock")
                .into())
        }
        Some(_) | None => Ok(()),
    }
}

/// An operator's table and the file it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnTable<T> {
    /// The file, as it is shown.
    pub file: String,
    /// What it says.
    pub table: Table<T>,
}

/// The tables that an operator brought.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnTables {
    /// `[model] profiles_file`.
    pub profiles: Option<OwnTable<ProfilePatch>>,
    /// `[model] prices_file`.
    pub prices: Option<OwnTable<Rates>>,
}

/// Reads the text of a table that a setting names; `fault` makes a fault at that setting.
pub fn read_text(path: &Path, fault: &dyn Fn(String) -> Fault) -> Result<TomlText, ConfigError> {
    let step = "Make it readable, or leave the setting out: the shipped table is used then";
    match TomlText::read(path, step)? {
        Some(text) => Ok(text),
        None => {
            let fault = fault(format!("{} does not exist", path.display()));
            Err(fault.next_step(step).into())
        }
    }
}

/// The row for a model: the longest listed id that applies to it. A path before the id (`anthropic/claude-…`) is
/// ignored when the whole id is not listed.
pub fn row_for<'a, T>(
    rows: &'a BTreeMap<String, T>,
    model: &str,
    is_family: impl Fn(&T) -> bool,
) -> Option<&'a T> {
    if let Some(row) = rows.get(model) {
        return Some(row);
    }
    let bare = model.rsplit('/').next().unwrap_or(model);
    rows.iter()
        .filter(|(listed, row)| {
            applies(listed, bare) || is_family(row) && applies_to_size(listed, bare)
        })
        .max_by_key(|(listed, _)| listed.len())
        .map(|(_, row)| row)
}

/// `gpt-5` speaks for `gpt-5-2025-08-07` and `gpt-5-latest`, but neither for `gpt-5.6` nor for `gpt-5-pro`: what is
/// true of a sibling is not a guess we may make.
pub fn applies(listed: &str, model: &str) -> bool {
    let Some(rest) = model.strip_prefix(listed) else {
        return false;
    };
    let Some(suffix) = rest.strip_prefix(['-', '@']) else {
        return rest.is_empty() || rest.starts_with(':');
    };
    let digits: String = suffix.chars().filter(|c| *c != '-').collect();
    suffix == "latest" || digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Words behind the name of a model that is served in many forms, beside sizes and quantisations.
const FORMS: &[&str] = &[
    "instruct", "it", "chat", "hf", "gguf", "mlx", "awq", "gptq", "bf16", "fp16", "fp8", "int4",
    "int8", "mxfp4", "qat", "latest", "cloud",
];

/// `qwen3` speaks for `qwen3:8b`, `Qwen3-8B-Instruct` and `qwen3-30b-a3b-q4_k_m`, not for `qwen3-coder`.
fn applies_to_size(listed: &str, model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    let model = model.strip_suffix(".gguf").unwrap_or(&model);
    let Some(rest) = model.strip_prefix(&listed.to_ascii_lowercase()) else {
        return false;
    };
    if !rest.is_empty() && !rest.starts_with(['-', ':', '@', '_']) {
        return false;
    }
    rest.split(['-', ':', '@', '_'])
        .all(|word| word.is_empty() || is_form(word))
}

fn is_form(word: &str) -> bool {
    let numeric = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    // `8b`, `1.5b`, `a3b`, `e4b`, `270m`, `8x7b`.
    let sized = word.strip_suffix(['b', 'm']).is_some_and(|size| {
        let size = size.strip_prefix(['a', 'e']).unwrap_or(size);
        size.split('x').all(numeric)
    });
    // `q4`, `iq3`, and the letters of `q4_k_m`.
    let bits = word.strip_prefix('i').unwrap_or(word).strip_prefix('q');
    let quantised =
        bits.is_some_and(numeric) || matches!(word, "k" | "s" | "m" | "l" | "xl" | "xs");
    // `2507` and `v0.3` are issues of the same model; `2` would be the next one.
    let issue = word.strip_prefix('v').is_some_and(numeric) || word.len() >= 4 && numeric(word);
    sized || quantised || issue || FORMS.contains(&word)
}
