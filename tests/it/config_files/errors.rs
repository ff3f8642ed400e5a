//! Every mistake in the file, with its line.

use leverframe::config::error::ConfigLocation;

use crate::config_files::Case;

/// The configuration is refused at this line, and the message says all of `parts`.
#[track_caller]
fn refused(text: &str, line: usize, parts: &[&str]) {
    let case = Case::new(text);
    let error = case.error();
    let at = match &error.fault().place {
        ConfigLocation::File { line, .. } => line.unwrap_or(0),
        other => panic!("{other:?}: {error}"),
    };
    let message = error.to_string();
    assert_eq!(at, line, "{message}");
    assert!(
        message.contains(&format!("config.toml:{line}:")),
        "{message}"
    );
    for part in parts {
        assert!(message.contains(part), "no `{part}` in: {message}");
    }
}

const TEAM: &str = "[model]\nallow_scripted_on_channels = true\n[channels.team]\nkind = \"telegram\"\n\
                    token_command = \"echo 123:abc\"\n";

#[test]
fn unknown_keys_with_the_nearest_name() {
    refused(
        "\n[model]\ndefualt = \"a/b\"\n",
        3,
        &[
            "model.defualt",
            "unknown key `defualt`",
            "did you mean `default`?",
        ],
    );
    refused(
        "[chanels.team]\n",
        1,
        &["unknown key `chanels`", "did you mean `channels`?"],
    );
    refused(
        "[channels.api]\nautonmy = \"full\"\n",
        2,
        &["channels.api.autonmy", "did you mean `autonomy`?"],
    );
    refused(
        "[approvals]\nzzz = 1\n",
        2,
        &["unknown key `zzz`", "self_approval"],
    );
}

#[test]
fn backups_that_could_not_be_made() {
    const FOLDER: &str = "folder = \"/var/backups/leverframe\"\n";
    refused(
        &format!("[backup]\nevery = \"soon\"\n{FOLDER}"),
        2,
        &["backup.every", "`soon` cannot be used", "like 24h or 1d"],
    );
    refused(
        &format!("[backup]\nevery = \"5s\"\n{FOLDER}"),
        2,
        &["`5s` cannot be used", "from 1m to 366d"],
    );
    refused(
        "[backup]\nevery = \"1d\"\nfolder = \"backups\"\n",
        3,
        &["backup.folder", "is not an absolute path", "~/backups"],
    );
    refused(
        &format!("[backup]\nevery = \"1d\"\n{FOLDER}keep_daily = 100000\n"),
        4,
        &["backup.keep_daily", "a number from 0 to 3660"],
    );
    for text in [
        format!("[backup]\n{FOLDER}"),
        "[backup]\nevery = \"1d\"\n".to_owned(),
    ] {
        let message = Case::new(&text).error().to_string();
        assert!(message.contains("is missing"), "{message}");
    }
}

#[test]
fn a_log_file_that_is_no_place() {
    refused(
        "[log]\nfile = \"x.log\"\n",
        2,
        &["log.file", "is not an absolute path"],
    );
    refused(
        "[log]\nkeep = 101\n",
        2,
        &["log.keep", "a number from 0 to 100"],
    );
}

#[test]
fn parameters_of_a_model_that_cannot_be_sent() {
    const LOCAL: &str =
        "[providers.local]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    refused(
        "[channels.api]\nnote = \"x\"\ntemperature = 2.5\n",
        3,
        &[
            "channels.api.temperature",
            "2.5 is out of range",
            "a number from 0 to 2",
        ],
    );
    refused(
        &format!("{LOCAL}top_p = 0\n"),
        4,
        &["providers.local.top_p", "above 0 and at most 1"],
    );
    refused(
        &format!("{LOCAL}models.m = {{ temperature = nan }}\n"),
        4,
        &[
            "providers.local.models.m.temperature",
            "NaN is out of range",
        ],
    );
    refused(
        &format!("{LOCAL}[providers.local.models.m]\ntools = true\ntool_choice = \"read_fil\"\n"),
        6,
        &[
            "providers.local.models.m.tool_choice",
            "there is no tool `read_fil`",
            "did you mean `read_file`?",
        ],
    );
    refused(
        "[channels.api]\ntool_choice = \"requierd\"\n",
        2,
        &["did you mean `required`?"],
    );
}

#[test]
fn a_word_that_is_none_of_a_setting() {
    refused(
        "[console]\n\nnotify = \"osc7\"\n",
        3,
        &["console.notify", "osc9", "osc99", "osc777", "off"],
    );
}

#[test]
fn wrong_types() {
    refused(
        "[budgets]\nmax_steps = \"eight\"\n",
        2,
        &["budgets.max_steps", "wrong type", "string", "whole number"],
    );
    refused(
        "[budgets]\n\nmax_steps = -1\n",
        3,
        &["budgets.max_steps", "out of range"],
    );
    refused(
        "[channels.api]\nblock = \"bash\"\n",
        2,
        &["channels.api.block", "a list"],
    );
    refused("channels = 3\n", 1, &["channels", "a table"]);
    refused(
        "[people.anna]\nids = []\nrole = 3\n",
        3,
        &["people.anna.role", "text in quotes"],
    );
}

#[test]
fn wrong_words() {
    refused(
        "[channels.api]\nautonomy = \"semiauto\"\n",
        2,
        &["`semiauto` is not known here", "did you mean `semi_auto`?"],
    );
    refused(
        "[approvals]\nself_approval = \"nevr\"\n",
        2,
        &["did you mean `never`?"],
    );
    refused(
        "[people.anna]\nids = []\nrole = \"boss\"\n",
        3,
        &["one of user, approver, owner"],
    );
    refused(
        "[channels.x]\nkind = \"telegramm\"\n",
        2,
        &["channels.x.kind", "telegram"],
    );
    refused(
        "[providers.x]\nkind = \"openai\"\n",
        2,
        &["providers.x.kind", "openai-chat"],
    );
}

#[test]
fn duplicates_and_missing_fields() {
    refused(
        "[model]\ndefault = \"a/b\"\ndefault = \"a/c\"\n",
        3,
        &["twice"],
    );
    refused("[model]\n[log]\n[model]\n", 3, &["twice"]);
    refused(
        "[people.anna]\nids = []\n",
        1,
        &["people.anna", "`role` is missing"],
    );
    refused("[tools.read_file]\n", 1, &["`risk` is missing"]);
}

#[test]
fn broken_syntax() {
    refused("[model\n", 1, &["not valid TOML"]);
    refused("a = 1\r\n[model]\r\nx ==\r\n", 3, &["not valid TOML"]);
    refused("[log]\nfilter = \"a\0b\"\n", 2, &["not valid TOML"]);
}

#[test]
fn values_out_of_bounds() {
    refused(
        "[budgets]\nmax_steps = 0\n",
        2,
        &["budgets.max_steps", "from 1 to 1000"],
    );
    refused("[engine]\nmax_running = 0\n", 2, &["engine.max_running"]);
    refused(
        "[engine]\nshutdown_grace_seconds = 3601\n",
        2,
        &["engine.shutdown_grace_seconds", "from 0 to 3600"],
    );
    refused(
        "[engine]\nrun_growth_mib = 0\n",
        2,
        &["engine.run_growth_mib", "from 1 to 1048576"],
    );
    refused(
        "[retention]\nhistory_days = 7\n",
        2,
        &["retention.history_days", "from 8 to"],
    );
    refused(
        "[retention]\naudit_days = 364\n",
        2,
        &["retention.audit_days", "from 365 to"],
    );
    refused(
        "[retention]\nevents_days = 0\n",
        2,
        &["retention.events_days"],
    );
    refused(
        "[retention]\ndays = 7\n",
        2,
        &["unknown key `days`", "history_days"],
    );
    refused(
        "[channels.api]\nmax_queue = 0\n",
        2,
        &["channels.api.max_queue"],
    );
    refused(
        "[providers.openai]\nidle_timeout_seconds = 0\n",
        2,
        &["providers.openai.idle_timeout_seconds"],
    );
    refused(
        "[providers.openai]\nrequest_timeout_seconds = 86401\n",
        2,
        &["providers.openai.request_timeout_seconds"],
    );
    refused(
        "[providers.openai.prices]\nm = { input = -1.0, output = 1.0 }\n",
        2,
        &["providers.openai.prices.m"],
    );
}

#[test]
fn channels_people_and_lists() {
    refused(
        "[channels.Team]\nkind = \"telegram\"\n",
        1,
        &["not a name for a channel"],
    );
    refused(
        "[channels.dsk]\n",
        1,
        &["`kind` is missing", "did you mean `desk`?"],
    );
    refused("[channels.desk]\nkind = \"telegram\"\n", 2, &["built in"]);
    refused(
        "[channels.desk]\ntoken_env = \"X\"\n",
        2,
        &["has no such setting", "telegram, discord"],
    );
    refused(
        "[channels.team]\nkind = \"telegram\"\n",
        1,
        &["has no token"],
    );
    refused(
        &format!("{TEAM}allowed_users = [\"@anna\"]\n"),
        6,
        &["`@anna` is not a platform id", "numeric"],
    );
    refused(
        &format!("{TEAM}allowed_chats = [\"--5\"]\n"),
        6,
        &["is not a platform id"],
    );
    refused(
        &format!("{TEAM}approval_to = [\"ana\"]\n[people.anna]\nids=[]\nrole=\"owner\"\n"),
        6,
        &["people.ana", "did you mean `anna`?"],
    );
    refused(
        "[people.anna]\nids = [\"123\"]\nrole = \"owner\"\n",
        2,
        &["has no platform", "telegram:123456"],
    );
    refused(
        "[people.anna]\nids = [\"telegram:anna\"]\nrole = \"owner\"\n",
        2,
        &["not the numeric id"],
    );
    refused(
        "[people.a]\nids = [\"telegram:1\"]\nrole = \"owner\"\n[people.b]\nids = [\"telegram:1\"]\nrole = \"user\"\n",
        5,
        &["already an id of a"],
    );
}

#[test]
fn tool_names() {
    refused(
        "[channels.api]\nauto_approve = [\"read_fil\"]\n",
        2,
        &["no tool `read_fil`", "did you mean `read_file`?"],
    );
    refused(
        "[channels.api]\nblock = [\"web_*\"]\n",
        2,
        &["no tool `web_*`"],
    );
    refused(
        "[channels.api]\nauto_approve = [\"*\"]\n",
        2,
        &["everything", "full"],
    );
    refused(
        "[tools.reed_file]\nrisk = \"high\"\n",
        1,
        &["no tool `reed_file`", "did you mean `read_file`?"],
    );
    let good =
        Case::new("[channels.api]\nauto_approve = [\"read_*\", \"list_files\"]\nblock = [\"*\"]\n");
    assert_eq!(
        good.settings().channels["api"].auto_approve,
        ["read_*", "list_files"]
    );
}

#[test]
fn listening_elsewhere_than_on_loopback() {
    refused(
        "[server]\nlisten = \"0.0.0.0:80\"\n",
        2,
        &["not a loopback address", "ssh -L", "TLS"],
    );
    refused(
        "[server]\nlisten = \"[::]:80\"\n",
        2,
        &["not a loopback address", "certificate create"],
    );
    let tls = "[server]\nlisten = \"0.0.0.0:80\"\n[server.tls]\ncertificate = \"a.pem\"\nkey = \"/b.pem\"\n";
    let settings = Case::new(tls).settings();
    assert_eq!(settings.listen, Some(([0, 0, 0, 0], 80).into()));
    let tls = settings.tls.unwrap();
    assert_eq!(tls.certificate, settings.paths.config_dir.join("a.pem"));
    assert_eq!(tls.key, std::path::Path::new("/b.pem"));
    refused(
        "[server]\nlisten = \"8080\"\n",
        2,
        &["not an address with a port"],
    );
    let flag = Case::new("").flags(|flags| flags.listen = Some("192.168.1.1:80".to_owned()));
    assert!(
        flag.error().to_string().starts_with("--listen: "),
        "{}",
        flag.error()
    );
}

#[test]
fn limits_of_the_listener() {
    for key in ["max_connections", "max_connections_per_principal"] {
        let text = format!("[server]\n{key} = 7\n");
        refused(&text, 2, &["7 is out of range", "from 8 to"]);
    }
    let limits = |text: &str| Case::new(text).settings().listener_limits;
    let usual = limits("");
    assert_eq!(
        (usual.connections, usual.requests_per_minute),
        (None, Some(60_000))
    );
    let none = limits("[server]\nrequests_per_minute = 0\nmax_connections = 8\n");
    assert_eq!(
        (none.connections, none.requests_per_minute),
        (Some(8), None)
    );
}

#[test]
fn models_that_cannot_be_used() {
    refused("[model]\ndefault = \"gpt\"\n", 2, &["<provider>/<model>"]);
    refused(
        "[model]\ndefault = \"antropic/x\"\n",
        2,
        &["no provider `antropic`", "did you mean `anthropic`?"],
    );
    refused(
        "[model]\ndefault = \"anthropic/x\"\n",
        2,
        &["has no key", "ANTHROPIC_API_KEY"],
    );
    refused(
        "[model]\ndefault = \"gemini/x\"\n",
        2,
        &["has no key", "GEMINI_API_KEY"],
    );
    refused(
        "[providers.ollama]\nkind = \"openai-chat\"\n",
        1,
        &["base_url"],
    );
    refused(
        "[channels.api]\nmodel = \"openai/x\"\n",
        2,
        &["has no key", "OPENAI_API_KEY"],
    );
    refused(
        "[providers.local]\nkind = \"openai-chat\"\n",
        1,
        &["base_url"],
    );
    refused("[providers.local]\nbase_url = \"http://x\"\n", 1, &["kind"]);
    refused(
        "[providers.local]\nkind = \"openai-chat\"\nbase_url = \"ftp://x\"\n",
        3,
        &["http://"],
    );
    refused(
        "[providers.local]\nkind = \"openai-chat\"\nbase_url = \"http://u:p@x\"\n",
        3,
        &["password"],
    );
    refused(
        "[providers.scripted]\nkind = \"anthropic\"\n",
        2,
        &["built-in model"],
    );
    refused(
        "[providers.local]\nkind = \"openai-chat\"\nbase_url = \"http://x\"\napi_key_env = \"NO_SUCH_KEY\"\n",
        4,
        &["providers.local.api_key_env", "NO_SUCH_KEY is not set"],
    );
    let flag = Case::new("").flags(|flags| flags.model = Some("nobody/x".to_owned()));
    assert!(
        flag.error()
            .to_string()
            .starts_with("--model: there is no provider `nobody`")
    );
    let variable = Case::new("").env("LEVERFRAME_MODEL", "nobody/x");
    assert!(
        variable
            .error()
            .to_string()
            .contains("environment variable LEVERFRAME_MODEL: ")
    );
}

#[test]
fn the_scripted_model_does_not_answer_on_real_channels() {
    let text = "[channels.team]\nkind = \"telegram\"\ntoken_command = \"echo 123:abc\"\n";
    refused(text, 1, &["no LLM", "allow_scripted_on_channels"]);
    assert!(Case::new(TEAM).load().is_ok());
}

#[test]
fn overlapping_workspaces() {
    for workspace in [
        "~",
        "~/.local/share/leverframe/x",
        "~/.local/share/leverframe",
        "~/.config",
        "~/.config/leverframe/w",
        "themes",
    ] {
        refused(
            &format!("[channels.api]\nworkspace = \"{workspace}\"\n"),
            2,
            &["overlaps", "another directory"],
        );
    }
    let case = Case::new("[channels.api]\nworkspace = \"~/link/x\"\n");
    std::fs::create_dir_all(case.home().join(".local/share/leverframe")).unwrap();
    std::os::unix::fs::symlink(
        case.home().join(".local/share/leverframe"),
        case.home().join("link"),
    )
    .unwrap();
    assert!(
        case.error().to_string().contains("overlaps"),
        "a link hides the overlap"
    );
}

#[test]
fn files_that_are_no_files() {
    let directory = Case::without_file();
    std::fs::create_dir(directory.file()).unwrap();
    assert!(
        directory.error().to_string().contains("is a directory"),
        "{}",
        directory.error()
    );

    let missing = Case::without_file().flags(|flags| flags.config = Some("/nowhere/x.toml".into()));
    assert!(
        missing
            .error()
            .to_string()
            .contains("/nowhere/x.toml: does not exist")
    );
    assert!(missing.error().to_string().contains("leverframe init"));

    let below_a_file =
        Case::new("").flags(|flags| flags.config = Some("/dev/null/config.toml".into()));
    assert!(below_a_file.error().to_string().contains("cannot be read"));

    let latin = Case::without_file();
    std::fs::write(latin.file(), b"# ok\ninstance = \"caf\xe9\"\n").unwrap();
    assert!(
        latin
            .error()
            .to_string()
            .contains("config.toml:2:16: is not UTF-8"),
        "{}",
        latin.error()
    );

    let large = Case::new(&"# comment\n".repeat(120_000));
    assert!(large.error().to_string().contains("1 MiB"));
}

#[test]
fn empty_marked_and_crlf_files_are_fine() {
    for text in [
        "",
        "\u{feff}",
        "\n\n",
        "# only a comment",
        "\u{feff}[model]\r\n# x\r\n[log]\r\njson = true\r\n",
    ] {
        Case::new(text).settings();
    }
    refused("\u{feff}[modle]\n", 1, &["did you mean `model`?"]);
}

#[test]
fn no_error_quotes_a_secret() {
    for text in [
        "[providers.openai]\napi_key = \"sk-very-secret-value\"\n",
        "[providers.openai]\nmax_concurrent = \"sk-very-secret-value\"\n",
        "[providers.openai]\napi_key_env = [\"sk-very-secret-value\"]\n",
        "[channels.team]\ntoken = \"sk-very-secret-value\"\n",
        "[providers.openai]\napi_key_command = \"echo sk-very-secret-value; exit 1\"\n",
        "[providers.openai]\napi_key_command = \"printf 'sk-very-secret-value\\\\nsecond'\"\n",
        "api_key = \"sk-very-secret-value\n",
    ] {
        let error = Case::new(text).error();
        assert!(!error.to_string().contains("very-secret"), "{error}");
        assert!(!format!("{error:?}").contains("very-secret"), "{error:?}");
    }
}

#[test]
fn control_characters_of_the_file_do_not_reach_the_terminal() {
    let error = Case::new("\"\\u001b[2Jx\" = 1\n").error().to_string();
    assert!(
        !error.contains('\u{1b}') && error.contains("<U+001B>"),
        "{error:?}"
    );
}

#[test]
fn embeddings_that_cannot_be_made() {
    let local = "[providers.local]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    let embeddings = |rest: &str| format!("{local}[memory.embeddings]\n{rest}\n");
    refused(
        &embeddings("provider = \"loca\"\nmodel = \"m\""),
        5,
        &[
            "memory.embeddings.provider",
            "no provider `loca`",
            "did you mean `local`?",
        ],
    );
    refused(
        &embeddings("provider = \"scripted\"\nmodel = \"m\""),
        5,
        &[
            "`scripted` makes no embeddings",
            "openai-chat, openai-responses or ollama",
        ],
    );
    refused(
        &embeddings("provider = \"local\""),
        4,
        &[
            "embeddings without a model",
            "leave out [memory.embeddings]",
        ],
    );
    refused(
        &embeddings("provider = \"openai\"\nmodel = \"m\""),
        5,
        &["has no key", "OPENAI_API_KEY"],
    );
    refused(
        &embeddings("provider = \"local\"\nmodel = \"m\"\ndimensions = 0"),
        7,
        &["memory.embeddings.dimensions", "1 to 8192"],
    );
    refused(
        &embeddings("provider = \"local\"\nmodel = \"m\"\nmin_similarity = 101"),
        7,
        &["0 to 100"],
    );
    refused(
        &embeddings("provider = \"local\"\nmodle = \"m\""),
        6,
        &["modle", "did you mean `model`?"],
    );
}
