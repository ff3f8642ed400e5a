//! What a channel needs, asked one question after the other: the questions of `channels add` and of `init`.
//!
//! Nothing here writes a file, and a secret is looked at only to see whether it has the form of one.

use crate::cli::channel_arguments::AddChannelArguments;
use crate::cli::exit::{Failure, usage};
use crate::cli::init_questions::{self as questions, Reply};
use crate::cli::mcp::{absolute, pairs};
use crate::cli::plain::words;
use crate::cli::terminal::Terminal;
use crate::config::channels::is_channel_name;
use crate::config::edit::NewChannel;
use crate::config::environment::Environment;
use crate::config::file::ChannelPlatform;
use crate::config::platforms::{SecretNeed, secrets_of};
use crate::config::template::STARTER_AUTO_APPROVE;
use crate::protocol::enums::ChannelKind;

/// A question about a channel.
#[derive(Debug, Clone, Copy)]
enum Question {
    Name,
    Homeserver,
    Secret(&'static SecretNeed),
    Command,
    CallbackUrl,
    Id,
}

/// A channel that is being described.
#[derive(Debug)]
pub struct ChannelDraft {
    /// What is known.
    pub arguments: AddChannelArguments,
    platform: ChannelPlatform,
    /// What the arguments left open at first.
    questions: Vec<Question>,
    /// Questions that are answered.
    answered: usize,
}

impl ChannelDraft {
    /// A draft of what the arguments say. Where they have no name, it is asked for.
    pub fn new(platform: ChannelPlatform, arguments: AddChannelArguments) -> Self {
        let kind = platform.kind();
        let is_open = |question: &Question| match question {
            Question::Name => arguments.name.is_empty(),
            Question::Homeserver => kind == ChannelKind::Matrix && arguments.api_base.is_none(),
            Question::Secret(need) => given(&arguments, need).is_none(),
            Question::Command => kind == ChannelKind::Process && arguments.command.is_empty(),
            Question::CallbackUrl => {
                kind == ChannelKind::Webhook && arguments.callback_url.is_none()
            }
            Question::Id => arguments.allowed_users.is_empty(),
        };
        let secrets = secrets_of(kind).iter().map(|need| Question::Secret(need));
        let all = [Question::Name, Question::Homeserver].into_iter();
        let all = all.chain(secrets);
        let all = all.chain([Question::Command, Question::CallbackUrl, Question::Id]);
        Self {
            questions: all.filter(is_open).collect(),
            platform,
            arguments,
            answered: 0,
        }
    }

    /// Its kind.
    pub const fn kind(&self) -> ChannelKind {
        self.platform.kind()
    }

    /// Whether nothing is left to ask.
    pub fn is_complete(&self) -> bool {
        self.answered == self.questions.len()
    }

    /// Makes the last question open again; false where there was none.
    pub fn reopen(&mut self) -> bool {
        let last = self.answered.checked_sub(1);
        self.answered = last.unwrap_or(0);
        last.is_some()
    }

    /// Asks what is open. `taken`: whether a name is in use. Back: the person wants what came before the first question.
    pub fn ask(
        &mut self,
        terminal: &mut Terminal<'_>,
        environment: &Environment,
        taken: &dyn Fn(&str) -> bool,
    ) -> Result<Reply<()>, Failure> {
        while let Some(question) = self.questions.get(self.answered).copied() {
            match self.ask_one(terminal, environment, taken, question)? {
                Reply::Answer(()) => self.answered += 1,
                Reply::Back if self.reopen() => {}
                Reply::Back => return Ok(Reply::Back),
            }
        }
        Ok(Reply::Answer(()))
    }

    fn ask_one(
        &mut self,
        terminal: &mut Terminal<'_>,
        environment: &Environment,
        taken: &dyn Fn(&str) -> bool,
        question: Question,
    ) -> Result<Reply<()>, Failure> {
        let (kind, platform) = (self.platform.kind(), self.platform.as_str());
        let arguments = &mut self.arguments;
        Ok(match question {
            Question::Name => {
                let usual = free_name(platform, taken);
                let text = format!("Name of the channel (empty: {usual}):");
                let reply = questions::ask(terminal, &text, |answer| {
                    match answer {
                    "" => Ok(usual.clone()),
                    _ if !is_channel_name(answer) => {
                        Err("a name has 1 to 32 of a-z, 0-9, _ and -, and is not one of a built-in channel".to_owned())
                    }
                    _ if taken(answer) => Err(format!("there is a channel `{answer}` already")),
                    _ => Ok(answer.to_owned()),
                }
                })?;
                keep(reply, &mut arguments.name)
            }
            Question::Homeserver => {
                let text = "Address of the homeserver, for example https://matrix.org:";
                let reply = questions::ask(terminal, text, |answer| web_address(answer).map(Some))?;
                keep(reply, &mut arguments.api_base)
            }
            Question::Secret(need) => {
                terminal.note(&format!("{}.", need.source))?;
                let text = format!(
                    "Variable that holds the {} (empty: {}):",
                    need.key.replace('_', " "),
                    need.variable
                );
                let shape = shape(kind, need);
                let reply = questions::ask(terminal, &text, |answer| {
                    let name = if answer.is_empty() {
                        need.variable
                    } else {
                        answer
                    };
                    questions::variable(name, environment, shape)
                })?;
                keep(reply, places(arguments, need).0)
            }
            Question::Command => {
                let text = "Program of the bridge and its arguments, as in a shell:";
                let reply = questions::ask(terminal, text, |answer| match words::split(answer)? {
                    none if none.is_empty() => Err("a bridge is a program; name it".to_owned()),
                    words => Ok(words),
                })?;
                keep(reply, &mut arguments.command)
            }
            Question::CallbackUrl => {
                let text = "Address that gets what the agent says (empty: only answers of requests that wait):";
                let reply = questions::ask(terminal, text, |answer| match answer {
                    "" => Ok(None),
                    _ => web_address(answer).map(Some),
                })?;
                keep(reply, &mut arguments.callback_url)
            }
            Question::Id => {
                let reply = questions::ask(terminal, id_question(kind), |answer| {
                    id(kind, answer).map(|id| id.into_iter().collect())
                })?;
                keep(reply, &mut arguments.allowed_users)
            }
        })
    }

    /// The table for the file.
    ///
    /// # Errors
    /// A secret has no place yet, or a variable of the program is none.
    pub fn channel(&self) -> Result<NewChannel, Failure> {
        let arguments = &self.arguments;
        let (plain, passed): (Vec<String>, Vec<String>) = arguments
            .env
            .iter()
            .cloned()
            .partition(|one| one.contains('='));
        let starter = STARTER_AUTO_APPROVE.iter().map(|tool| (*tool).to_owned());
        let paths_of = |given: &[String]| given.iter().map(|path| absolute(path)).collect();
        let mut texts = Vec::new();
        for need in secrets_of(self.kind()) {
            let Some(place) = given(arguments, need) else {
                let option = need.key.replace('_', "-");
                return Err(usage!(
                    "say where the {} is: --{option}-env VARIABLE or --{option}-file FILE. {}",
                    need.key,
                    need.source
                ));
            };
            texts.push(place);
        }
        let addresses = [
            ("api_base", &arguments.api_base),
            ("callback_url", &arguments.callback_url),
            ("webhook_url", &arguments.webhook_url),
        ];
        for (key, value) in addresses {
            if let Some(value) = value {
                texts.push((key.to_owned(), value.clone()));
            }
        }
        Ok(NewChannel {
            kind: self.platform.as_str(),
            texts,
            lists: vec![
                ("command", arguments.command.clone()),
                ("environment_env", passed),
                ("read", paths_of(&arguments.read)),
                ("write", paths_of(&arguments.write)),
                ("allowed_users", arguments.allowed_users.clone()),
                ("auto_approve", starter.collect()),
            ],
            environment: pairs("--env", &plain)?,
        })
    }
}

/// Which platform; none for an empty answer where that is one.
pub fn platform(
    terminal: &mut Terminal<'_>,
    question: &str,
    may_be_none: bool,
) -> Result<Reply<Option<ChannelPlatform>>, Failure> {
    questions::ask(terminal, question, |answer| {
        if answer.is_empty() && may_be_none {
            return Ok(None);
        }
        answer.to_ascii_lowercase().parse().map(Some)
    })
}

/// What of the secrets of a channel is not there yet, a note each.
pub fn missing(channel: &NewChannel, environment: &Environment) -> Vec<String> {
    let notes = channel.texts.iter().filter_map(|(key, place)| {
        if key.ends_with("_env") {
            questions::missing_variable(place, environment)
        } else if key.ends_with("_file") {
            questions::missing_file(place)
        } else {
            None
        }
    });
    notes.collect()
}

/// Puts an answer into its place.
fn keep<T>(reply: Reply<T>, slot: &mut T) -> Reply<()> {
    match reply {
        Reply::Back => Reply::Back,
        Reply::Answer(answer) => {
            *slot = answer;
            Reply::Answer(())
        }
    }
}

/// The first name of a platform that is free: `slack`, `slack-2`.
fn free_name(platform: &str, taken: &dyn Fn(&str) -> bool) -> String {
    let mut name = platform.to_owned();
    let mut number = 2;
    while taken(&name) {
        name = format!("{platform}-{number}");
        number += 1;
    }
    name
}

fn web_address(answer: &str) -> Result<String, String> {
    if answer.starts_with("https://") || answer.starts_with("http://") {
        Ok(answer.to_owned())
    } else {
        Err("an address begins with https:// or http://".to_owned())
    }
}

/// The arguments that say where a secret is: the variable and the file.
fn places<'a>(
    arguments: &'a mut AddChannelArguments,
    need: &SecretNeed,
) -> (&'a mut Option<String>, &'a mut Option<String>) {
    match need.key {
        "app_token" => (&mut arguments.app_token_env, &mut arguments.app_token_file),
        "secret" => (&mut arguments.secret_env, &mut arguments.secret_file),
        _ => (&mut arguments.token_env, &mut arguments.token_file),
    }
}

/// Key and value of a secret that the arguments say the place of.
fn given(arguments: &AddChannelArguments, need: &SecretNeed) -> Option<(String, String)> {
    let (env, file) = match need.key {
        "app_token" => (&arguments.app_token_env, &arguments.app_token_file),
        "secret" => (&arguments.secret_env, &arguments.secret_file),
        _ => (&arguments.token_env, &arguments.token_file),
    };
    let key = |suffix: &str| format!("{}{suffix}", need.key);
    match (env, file) {
        (Some(name), _) => Some((key("_env"), name.clone())),
        (None, Some(file)) => Some((key("_file"), file.clone())),
        (None, None) => None,
    }
}

/// What the secret of a platform looks like, where that is known.
fn shape(kind: ChannelKind, need: &SecretNeed) -> Option<fn(&str) -> bool> {
    match (kind, need.key) {
        (ChannelKind::Telegram, _) => Some(questions::is_bot_token),
        (ChannelKind::Slack, "app_token") => Some(|text| text.starts_with("xapp-")),
        (ChannelKind::Slack, _) => Some(|text| text.starts_with("xoxb-")),
        _ => None,
    }
}

const fn id_question(kind: ChannelKind) -> &'static str {
    match kind {
        ChannelKind::Telegram => "Your numeric Telegram id (empty: none yet):",
        ChannelKind::Discord => "Your Discord user id, a number (empty: none yet):",
        ChannelKind::Slack => "Your Slack member id, for example U0123ABCD (empty: none yet):",
        ChannelKind::Matrix => "Your Matrix id, for example @anna:example.org (empty: none yet):",
        _ => "Id of who may write, as the other side gives it (empty: none yet):",
    }
}

/// The id of somebody on a platform; none for an empty answer.
fn id(kind: ChannelKind, answer: &str) -> Result<Option<String>, String> {
    let prefix = format!("{kind}:");
    let id = answer.strip_prefix(&prefix).unwrap_or(answer);
    if id.is_empty() {
        return Ok(None);
    }
    let (good, expected) = match kind {
        ChannelKind::Telegram => return questions::telegram_id(id),
        ChannelKind::Discord => (
            id.bytes().all(|byte| byte.is_ascii_digit()),
            "a Discord id is a number; Discord copies it in developer mode",
        ),
        ChannelKind::Slack => (
            id.starts_with(['U', 'W']) && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "a member id begins with U or W; Slack copies it from the profile",
        ),
        ChannelKind::Matrix => (
            id.starts_with('@') && id.contains(':') && !id.contains(char::is_whitespace),
            "a Matrix id looks like @anna:example.org",
        ),
        _ => (
            !id.contains(|c: char| c.is_whitespace() || c.is_control()),
            "an id has no blanks",
        ),
    };
    if good {
        Ok(Some(id.to_owned()))
    } else {
        Err(expected.to_owned())
    }
}
