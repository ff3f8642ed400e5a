//! The page of the configuration, from the tables of the file and from the example that a test loads.

use leverframe::protocol::enums::{Autonomy, CacheScope, HookPoint, Risk, Role};

use crate::documentation::markdown::{Page, code, codes, prose};
use crate::documentation::source::{Item, item, lower};
use crate::documentation::{read, root};

const FILE: &str = "src/config/file.rs";
const SETTINGS: &str = "src/config/settings.rs";
const BUDGET: &str = "src/protocol/budget.rs";
const MODELS: &str = "src/config/model_tables.rs";

/// Every table of the file: where it is written, and the type that reads it.
const TABLES: &[(&str, &str, &str)] = &[
    ("[model]", FILE, "ModelTable"),
    ("[providers.NAME]", FILE, "ProviderTable"),
    ("[providers.NAME.prices.\"MODEL\"]", MODELS, "Rates"),
    ("[providers.NAME.models.\"MODEL\"]", MODELS, "ProfilePatch"),
    ("[channels.NAME]", FILE, "ChannelTable"),
    ("[channels.NAME.budget]", BUDGET, "Limit"),
    ("[people.NAME]", FILE, "PersonTable"),
    (
        "[escalation.NAME]",
        "src/config/escalation.rs",
        "EscalationTable",
    ),
    (
        "[[escalation.NAME.steps]]",
        "src/config/escalation.rs",
        "EscalationStepTable",
    ),
    ("[approvals]", FILE, "ApprovalsTable"),
    ("[budgets]", FILE, "BudgetsTable"),
    ("[budgets.session]", BUDGET, "Limit"),
    ("[budgets.channel]", BUDGET, "Limit"),
    ("[budgets.day]", BUDGET, "Limit"),
    ("[engine]", FILE, "EngineTable"),
    ("[retention]", FILE, "RetentionTable"),
    ("[backup]", "src/config/backup.rs", "BackupTable"),
    ("[console]", FILE, "ConsoleTable"),
    ("[log]", "src/config/log.rs", "LogTable"),
    ("[telemetry]", "src/config/telemetry.rs", "TelemetryTable"),
    ("[server]", "src/config/server.rs", "ServerTable"),
    ("[server.tls]", "src/config/server.rs", "TlsTable"),
    ("[tools.NAME]", FILE, "ToolTable"),
    ("[response_cache]", FILE, "ResponseCacheTable"),
    ("[hooks.NAME]", FILE, "HookTable"),
    ("[attachments]", FILE, "AttachmentsTable"),
    ("[datasets]", FILE, "DatasetsTable"),
    ("[transcription]", FILE, "TranscriptionTable"),
    ("[memory]", FILE, "MemoryTable"),
    ("[memory.hygiene]", FILE, "HygieneTable"),
    ("[memory.embeddings]", FILE, "EmbeddingsTable"),
    ("[skills]", FILE, "SkillsTable"),
    ("[mcp.NAME]", FILE, "McpTable"),
    ("[mcp.NAME.tools.TOOL]", FILE, "McpToolTable"),
];

/// What stands before the generated part.
const INTRODUCTION: &str = "\
Leverframe reads `$XDG_CONFIG_HOME/leverframe/config.toml`, which is `~/.config/leverframe/config.toml` by default.
`LEVERFRAME_CONFIG` or `--config` names another file. Every setting can be left out.
An unknown key is an error with its line and the nearest name.

A change takes effect with `leverframe reload` (SIGHUP) or at the next start. [Some settings](../operate/service.md#change-the-configuration)
need the restart. The database keeps autonomy and the three lists of a channel.
What the file says for the first time, and what becomes stricter there, applies at once.
What becomes looser there waits in the Queue for a person.";

/// What stands between the example and the tables.
const ENVIRONMENT: &str = "\
| variable | meaning |
|---|---|
| `LEVERFRAME_CONFIG`, `LEVERFRAME_DATA_DIR` | configuration file, data directory |
| `LEVERFRAME_MODEL`, `LEVERFRAME_LOG` | come before `[model] default` and `[log] filter` |
| `LEVERFRAME_CHANNEL_<NAME>_AUTONOMY`, `_AUTO_APPROVE`, `_BLOCK`, `_MAX_WAIT_SECONDS` | come before these keys of `[channels.NAME]` |
| `LEVERFRAME_RESPONSE_CACHE_ENABLED`, `_TTL_MINUTES`, `_MAX_ENTRIES` | come before `[response_cache]` |
| `LEVERFRAME_MEMORY_RETENTION_DAYS` | comes before `[memory.hygiene] retention_days` |
| `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY`, `GOOGLE_API_KEY` | keys of the built-in providers |
| `OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`, `GOOGLE_GEMINI_BASE_URL`, `OLLAMA_HOST` | addresses of the built-in providers |
| `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME` | come before the keys of `[telemetry]` |
| `OTEL_SDK_DISABLED` | `true`: the engine sends no traces and logs |
| `XDG_CONFIG_HOME`, `XDG_DATA_HOME`, `XDG_RUNTIME_DIR`, `HOME` | where files lie |
| `NO_COLOR`, `ACCESSIBLE`, `TERM`, `COLORTERM`, `TMUX` | what the terminal shows |
| `TERM_PROGRAM`, `LC_TERMINAL`, `STY`, `ZELLIJ` | which terminal it is, for [pictures](../guide/console.md#pictures) |
| `SSH_CONNECTION` | whether paths of files are links of the terminal |
| `LC_ALL`, `LC_CTYPE`, `LANG` | whether the consoles write UTF-8 or ASCII |
| `VISUAL`, `EDITOR` | the editor that `ctrl-g` opens |";

/// The whole page.
pub fn page() -> String {
    let mut page = Page::new("Configuration");
    page.paragraph(INTRODUCTION);
    page.heading(2, "Example");
    page.paragraph(
        "This file names every setting. A test loads it, and where it writes a default the test compares the default. \
         It lies in `docs/example.toml`.",
    );
    let example = read(&root().join("docs/example.toml"));
    page.paragraph(&format!("```toml\n{example}```"));
    page.heading(2, "Environment");
    page.paragraph(ENVIRONMENT);
    page.heading(2, "Keys");
    page.paragraph("A key that stands outside of every table:");
    page.table(
        ["key", "value", "meaning"],
        &rows(&item(FILE, "ConfigFile")),
    );
    for (place, file, name) in TABLES {
        page.heading(3, &code(place));
        page.table(["key", "value", "meaning"], &rows(&item(file, name)));
    }
    page.finish()
}

/// The keys of a table. A table in it has a heading of its own.
fn rows(table: &Item) -> Vec<[String; 3]> {
    let keys = table.parts.iter().filter(|key| !is_table(&key.of));
    keys.map(|key| [code(&key.name), value(&key.of), prose(&key.about)])
        .collect()
}

fn is_table(of: &str) -> bool {
    let inner = of.strip_prefix("BTreeMap<String, ").unwrap_or(of);
    let inner = inner.strip_prefix("Option<").unwrap_or(inner);
    let inner = inner.strip_prefix("Vec<").unwrap_or(inner);
    let name = inner.trim_end_matches('>');
    let listed = TABLES.iter().any(|(_, _, table)| *table == name);
    assert!(
        listed || !name.ends_with("Table") || name == "toml::Table",
        "{name} has no heading in TABLES"
    );
    listed
}

/// What a value of this type is, in words.
fn value(of: &str) -> String {
    let of = of
        .strip_prefix("Option<")
        .and_then(|of| of.strip_suffix('>'))
        .unwrap_or(of);
    let words = |file: &str, name: &str, between| {
        let words: Vec<String> = item(file, name)
            .parts
            .iter()
            .map(|word| lower(&word.name.replace("OpenAi", "Openai"), between))
            .collect();
        codes(words.iter().map(String::as_str))
    };
    match of {
        "String" => "text".to_owned(),
        "bool" => "true or false".to_owned(),
        "i32" | "u32" | "u64" | "usize" => "whole number".to_owned(),
        "f64" => "number".to_owned(),
        "Vec<String>" => "list of texts".to_owned(),
        "Vec<u16>" | "Vec<u64>" => "list of whole numbers".to_owned(),
        "BTreeMap<String, u32>" => "table of whole numbers".to_owned(),
        "Vec<HookPoint>" => format!(
            "list of {}",
            codes(HookPoint::ALL.iter().map(|w| w.as_str()))
        ),
        "BTreeMap<String, String>" => "table of texts".to_owned(),
        "toml::Value" => "any value".to_owned(),
        "toml::Table" => "table of tables".to_owned(),
        "ToolKind" => codes(["http"]),
        "Access" => codes(["read_local", "read_open", "write_additive", "write", "send"]),
        "Effect" => codes(["read_only", "idempotent", "keyed", "non_idempotent"]),
        "Autonomy" => codes(Autonomy::ALL.iter().map(|w| w.as_str())),
        "Risk" => codes(Risk::ALL.iter().map(|w| w.as_str())),
        "Role" => codes(Role::ALL.iter().map(|w| w.as_str())),
        "CacheScope" => codes(CacheScope::ALL.iter().map(|w| w.as_str())),
        "Links" => codes(["auto", "on", "off"]),
        "Notify" => codes(["off", "osc9", "osc99", "osc777"]),
        "ToolChoice" => "`auto`, `none`, `required` or the name of a tool".to_owned(),
        "PromptCache" => codes(["none", "automatic", "breakpoints", "key"]),
        "ChannelPlatform" => words(FILE, of, '-'),
        "PictureDisplay" | "ProviderKind" => words(SETTINGS, of, '-'),
        "SenderIdentity" => codes(["authenticated", "claimed"]),
        "SessionScope" | "ReplyStyle" | "SelfApproval" => words(SETTINGS, of, '_'),
        other => panic!("no words for a value of type {other}"),
    }
}
