//! `[hooks.NAME]` in the file: what is taken, and every mistake with its line.

use leverframe::config::error::ConfigLocation;
use leverframe::protocol::enums::HookPoint;

use crate::config_files::Case;

#[track_caller]
fn refused(text: &str, line: usize, parts: &[&str]) {
    let error = Case::new(text).error();
    let ConfigLocation::File { line: at, .. } = &error.fault().place else {
        panic!("{error}");
    };
    let message = error.to_string();
    assert_eq!(*at, Some(line), "{message}");
    for part in parts {
        assert!(message.contains(part), "no `{part}` in: {message}");
    }
}

#[test]
fn what_is_left_out_has_a_default() {
    let settings = Case::new(
        "[hooks.check]\ncommand = [\"/bin/true\", \"-v\"]\npoints = [\"reply_sent\", \"before_tool_call\", \"reply_sent\"]\n\
         env = [\"TOKEN\"]\n\n[hooks.rate_limit]\nmessages_per_minute = 3\nper_tool = { write_file = 2 }\n",
    )
    .env("TOKEN", "a-secret-token")
    .settings();
    let hook = &settings.hooks.commands["check"];
    assert_eq!(
        hook.points,
        [HookPoint::BeforeToolCall, HookPoint::ReplySent]
    );
    assert_eq!(
        (hook.priority, hook.timeout_ms, hook.dry_run),
        (100, 2000, false)
    );
    assert_eq!(hook.environment[0].1.expose(), "a-secret-token");
    let limits = &settings.hooks.rate_limit;
    assert_eq!((limits.messages, limits.tool_calls), (Some(3), None));
    assert_eq!(limits.per_tool["write_file"], 2);
    assert!(!format!("{settings:?}").contains("a-secret-token"));
}

#[test]
fn mistakes() {
    let start = "[hooks.check]\ncommand = [\"/bin/true\"]\npoints = [\"before_tool_call\"]\n";
    refused(
        "[hooks.check]\npoints = [\"reply_sent\"]\n",
        1,
        &["no program is named", "absolute path"],
    );
    refused(
        "[hooks.check]\ncommand = [\"check.sh\"]\npoints = [\"reply_sent\"]\n",
        2,
        &["`check.sh` is not an absolute path"],
    );
    refused(
        "[hooks.check]\ncommand = [\"/bin/true\"]\n",
        1,
        &["never called", "before_llm_call", "reply_sent"],
    );
    refused(
        "[hooks.check]\ncommand = [\"/bin/true\"]\npoints = [\"before_tool\"]\n",
        3,
        &["before_tool_call"],
    );
    refused(
        &format!("{start}timeout_ms = 60000\n"),
        4,
        &["60000 is out of range", "30000"],
    );
    refused(&format!("{start}priority = 5000\n"), 4, &["-1000 to 1000"]);
    refused(
        &format!("{start}priorty = 5\n"),
        4,
        &["did you mean `priority`?"],
    );
    refused(
        &format!("{start}tools = [\"write_fil\"]\n"),
        4,
        &["no tool `write_fil`", "did you mean `write_file`?"],
    );
    refused(
        &format!("{start}channels = [\"dsk\"]\n"),
        4,
        &["no channel `dsk`", "did you mean `desk`?"],
    );
    refused(
        &format!("{start}env = [\"NOPE\"]\n"),
        4,
        &["NOPE is not set"],
    );
    refused(
        &format!("{start}messages_per_minute = 1\n"),
        4,
        &["[hooks.rate_limit] only"],
    );
    refused(
        "[hooks.check]\ncommand = [\"/bin/true\"]\npoints = [\"reply_sent\"]\ntools = [\"read_file\"]\n",
        4,
        &["not about a tool"],
    );
    refused(
        "[hooks.audit]\ncommand = [\"/bin/true\"]\n",
        1,
        &["`audit` is built in"],
    );
    refused(
        "[hooks.\"a b\"]\ncommand = [\"/bin/true\"]\n",
        1,
        &["letters, digits"],
    );
    refused(
        "[hooks.rate_limit]\ncommand = [\"/bin/true\"]\n",
        2,
        &["only limits"],
    );
    refused(
        "[hooks.rate_limit]\nmessages_per_minute = 0\n",
        2,
        &["1 to 100000"],
    );
    refused(
        "[hooks.rate_limit]\nper_tool = { red_file = 1 }\n",
        2,
        &["no tool `red_file`"],
    );
}
