//! How each server tells what it is and what its models can do. The shapes are strict: a field that is not there is not
//! known, and an answer of another shape is another program.

use serde_json::{Value, json};

use crate::config::providers;
use crate::config::settings::{ProviderKind, ProviderSettings, Secret};
use crate::model::catalogue::is_elsewhere;
use crate::model::discovery::candidate::{Candidate, NoJson, ServerKind, Verdict, json_at};
use crate::model::http::{host_of, is_loopback_address};
use crate::protocol::models::{FoundModel, FoundServer};

/// Most models of one server that are looked at.
const MOST_MODELS: usize = 200;

/// Asks one candidate.
pub async fn look(candidate: &Candidate) -> Verdict {
    let root = &candidate.root;
    let get = |path: &str| {
        let address = format!("{root}{path}");
        async move { json_at(&address, None, None).await }
    };
    let read = match candidate.kind {
        ServerKind::Ollama => get("/api/tags").await.map(|tags| ollama_models(&tags)),
        ServerKind::LmStudio => {
            // The first is of newer versions, the second of older ones.
            let (new, old) = futures_util::join!(get("/api/v1/models"), get("/api/v0/models"));
            match (new, old) {
                (Err(NoJson::Closed), _) => Err(NoJson::Closed),
                (new, old) => Ok(new
                    .ok()
                    .and_then(|value| lm_studio_models(&value))
                    .or_else(|| lm_studio_models(&old.ok()?))),
            }
        }
        ServerKind::LlamaCpp => get("/props").await.map(|props| llama_cpp_model(&props)),
        ServerKind::Vllm => get("/v1/models").await.map(|list| vllm_models(&list)),
    };
    match read {
        Err(NoJson::Closed) => Verdict::Closed,
        Err(NoJson::Other | NoJson::Unauthorized) | Ok(None) => Verdict::Other,
        Ok(Some(models)) => Verdict::Found(found(candidate, models)),
    }
}

fn found(candidate: &Candidate, models: Vec<FoundModel>) -> FoundServer {
    // Ollama's own interface takes the size of the window; on the other one it cuts off silently.
    let (kind, base_url) = match candidate.kind {
        ServerKind::Ollama => ("ollama", candidate.root.clone()),
        ServerKind::LmStudio | ServerKind::LlamaCpp | ServerKind::Vllm => {
            ("openai-chat", format!("{}/v1", candidate.root))
        }
    };
    FoundServer {
        name: candidate.kind.name().to_owned(),
        title: candidate.kind.title().to_owned(),
        kind: kind.to_owned(),
        base_url,
        models,
    }
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn tokens(value: &Value, name: &str) -> Option<u64> {
    value.get(name)?.as_u64().filter(|tokens| *tokens > 0)
}

/// Whether a list of capabilities names tools; none when there is no list.
fn names_tools(value: &Value) -> Option<bool> {
    let list = value.get("capabilities")?.as_array()?;
    Some(list.iter().any(|item| item.as_str() == Some("tools")))
}

/// `{"models": [{"name": …}]}`; LM Studio answers another shape there, with status 200.
fn ollama_models(tags: &Value) -> Option<Vec<FoundModel>> {
    let listed = tags.get("models")?.as_array()?;
    let models = listed.iter().take(MOST_MODELS).map(|model| {
        let id = text(model, "name").or_else(|| text(model, "model"))?;
        Some(FoundModel {
            id: id.to_owned(),
            tools: names_tools(model),
            context_window: None,
            elsewhere: is_elsewhere(id) || text(model, "remote_host").is_some(),
        })
    });
    models.collect()
}

/// `{"models": [{"type": "llm", "key": …}]}`, or `{"data": [{"type": "llm", "id": …, "state": …}]}` of older versions.
fn lm_studio_models(value: &Value) -> Option<Vec<FoundModel>> {
    let newer = value.get("models").and_then(Value::as_array);
    let older = || value.get("data").and_then(Value::as_array);
    let (listed, id_field) = match newer {
        Some(listed) => (listed, "key"),
        None => (older()?, "id"),
    };
    let mut models = Vec::new();
    for model in listed.iter().take(MOST_MODELS) {
        let kind = text(model, "type")?;
        let id = text(model, id_field)?;
        if !matches!(kind, "llm" | "vlm") {
            continue;
        }
        let loaded = model
            .get("loaded_instances")
            .and_then(Value::as_array)
            .and_then(|instances| instances.first())
            .and_then(|instance| tokens(instance.get("config")?, "context_length"))
            .or_else(|| tokens(model, "loaded_context_length"));
        let trained = model
            .get("capabilities")
            .and_then(|capabilities| capabilities.get("trained_for_tool_use"))
            .and_then(Value::as_bool);
        models.push(FoundModel {
            id: id.to_owned(),
            // Not being trained for tools does not mean that the server takes none.
            tools: trained.filter(|trained| *trained),
            context_window: loaded,
            elsewhere: false,
        });
    }
    Some(models)
}

/// The one model of a `llama-server`: `/props` with its generation settings.
fn llama_cpp_model(props: &Value) -> Option<Vec<FoundModel>> {
    let settings = props.get("default_generation_settings")?.as_object()?;
    let window = settings.get("n_ctx").and_then(Value::as_u64);
    let file = text(props, "model_path").and_then(|path| path.rsplit(['/', '\\']).next());
    let id = text(props, "model_alias").or(file).unwrap_or("default");
    let tools = props
        .get("chat_template_caps")
        .and_then(|caps| caps.get("supports_tools"))
        .and_then(Value::as_bool);
    Some(vec![FoundModel {
        id: id.to_owned(),
        // A template without tools is served with a general one: no is not known to be no.
        tools: tools.filter(|tools| *tools),
        context_window: window.filter(|tokens| *tokens > 0),
        elsewhere: false,
    }])
}

/// `{"object": "list", "data": [{"object": "model", "owned_by": "vllm", …}]}`.
fn vllm_models(list: &Value) -> Option<Vec<FoundModel>> {
    if text(list, "object") != Some("list") {
        return None;
    }
    let listed = list
        .get("data")?
        .as_array()
        .filter(|data| !data.is_empty())?;
    let models = listed.iter().take(MOST_MODELS).map(|model| {
        if text(model, "object") != Some("model") || text(model, "owned_by") != Some("vllm") {
            return None;
        }
        Some(FoundModel {
            id: text(model, "id")?.to_owned(),
            tools: None,
            context_window: tokens(model, "max_model_len"),
            elsewhere: false,
        })
    });
    models.collect()
}

/// What the server at an address says that a person named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelList {
    /// The server with its models.
    Server(FoundServer),
    /// The server wants a key, or another one.
    Unauthorized,
    /// Nobody listens there.
    Closed,
    /// Somebody answers without a list of models.
    Unlisted,
}

/// Asks the server at `address` for its models. On this machine it looks for the usual servers first, which say more of a
/// model. Any other server is asked as OpenAI's interface lists models, also behind `/v1`.
pub async fn list(address: &str, key: Option<&Secret>) -> ModelList {
    let base = address.trim_end_matches('/');
    if is_loopback_address(base) {
        let root = base.strip_suffix("/v1").unwrap_or(base);
        let candidates = ServerKind::ALL.map(|kind| Candidate {
            kind,
            root: root.to_owned(),
        });
        let verdicts = futures_util::future::join_all(candidates.iter().map(look)).await;
        for verdict in verdicts {
            match verdict {
                Verdict::Found(server) => return ModelList::Server(server),
                Verdict::Closed => return ModelList::Closed,
                Verdict::Other | Verdict::Slow | Verdict::Elsewhere => {}
            }
        }
    }
    let mut answer = ModelList::Unlisted;
    for base_url in [base.to_owned(), format!("{base}/v1")] {
        match json_at(&format!("{base_url}/models"), None, key).await {
            Ok(list) => {
                if let Some(models) = listed_models(&list) {
                    return ModelList::Server(FoundServer {
                        name: provider_name(base),
                        title: "the server".to_owned(),
                        kind: "openai-chat".to_owned(),
                        base_url,
                        models,
                    });
                }
            }
            Err(NoJson::Closed) => return ModelList::Closed,
            Err(NoJson::Unauthorized) => answer = ModelList::Unauthorized,
            Err(NoJson::Other) => {}
        }
    }
    answer
}

/// `{"data": [{"id": …}]}`, whoever serves it.
fn listed_models(list: &Value) -> Option<Vec<FoundModel>> {
    let listed = list.get("data")?.as_array()?.iter().take(MOST_MODELS);
    let models = listed.map(|model| {
        Some(FoundModel {
            id: text(model, "id")?.to_owned(),
            tools: None,
            context_window: tokens(model, "max_model_len")
                .or_else(|| tokens(model, "context_length")),
            elsewhere: false,
        })
    });
    models.collect()
}

/// A provider name for an address: `local` on this machine, else the name of the domain (`api.groq.com`: `groq`). Names
/// that the program declares itself are not given.
pub fn provider_name(address: &str) -> String {
    let host = host_of(address).unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let name = match labels.as_slice() {
        [.., name, _] if !is_loopback_address(address) => name.to_ascii_lowercase(),
        _ => String::new(),
    };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let usable = (1..=32).contains(&name.len())
        && name.chars().all(plain)
        && name.chars().any(|c| c.is_ascii_lowercase())
        && !providers::predeclared().any(|(known, _)| known == name);
    if usable { name } else { "local".to_owned() }
}

/// What a configured server says of one of its models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerModel {
    /// Context window, in tokens.
    pub context_window: Option<u64>,
    /// Whether it takes tools.
    pub tools: Option<bool>,
    /// Who said so: `Ollama /api/show`.
    pub by: &'static str,
}

/// Asks a configured server about a model, where there is a way to ask. None when it does not tell.
pub async fn told(provider: &ProviderSettings, model: &str) -> Option<ServerModel> {
    let base = provider.base_url.trim_end_matches('/');
    let root = base.strip_suffix("/v1").unwrap_or(base);
    match provider.kind {
        ProviderKind::Ollama => ollama_show(root, model).await,
        ProviderKind::OpenAiChat => {
            if is_loopback_address(base) {
                let props = json_at(&format!("{root}/props"), None, None).await;
                let from_props = props.ok().and_then(|props| llama_cpp_model(&props));
                if let Some(found) = from_props.and_then(|mut models| models.pop()) {
                    return Some(of(found, "llama.cpp /props"));
                }
                if let Some(told) = ollama_show(root, model).await {
                    return Some(told);
                }
                for path in ["/api/v1/models", "/api/v0/models"] {
                    let listed = json_at(&format!("{root}{path}"), None, None).await;
                    let models = listed.ok().and_then(|value| lm_studio_models(&value));
                    let found = models.and_then(|all| all.into_iter().find(|m| m.id == model));
                    if let Some(found) = found {
                        return Some(of(found, "LM Studio"));
                    }
                }
            }
            let key = provider.api_key.as_ref();
            let list = json_at(&format!("{base}/models"), None, key).await.ok()?;
            let entry = list
                .get("data")?
                .as_array()?
                .iter()
                .find(|entry| text(entry, "id") == Some(model))?;
            let window = tokens(entry, "max_model_len").or_else(|| tokens(entry, "context_length"));
            Some(ServerModel {
                context_window: Some(window?),
                tools: None,
                by: "its list of models",
            })
        }
        ProviderKind::OpenAiResponses
        | ProviderKind::Anthropic
        | ProviderKind::Gemini
        | ProviderKind::Scripted => None,
    }
}

fn of(found: FoundModel, by: &'static str) -> ServerModel {
    ServerModel {
        context_window: found.context_window,
        tools: found.tools,
        by,
    }
}

async fn ollama_show(root: &str, model: &str) -> Option<ServerModel> {
    let body = json!({"model": model});
    let shown = json_at(&format!("{root}/api/show"), Some(&body), None).await;
    shown.ok().and_then(|shown| ollama_told(&shown))
}

/// `parameters` is text, one a line; a window set there comes before what the model was trained for.
fn ollama_told(shown: &Value) -> Option<ServerModel> {
    let info = shown.get("model_info")?.as_object()?;
    let set = text(shown, "parameters").and_then(|lines| {
        lines.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let value = (words.next()? == "num_ctx").then(|| words.next())?;
            value?.parse::<u64>().ok()
        })
    });
    let trained = || {
        info.iter()
            .find(|(name, _)| name.ends_with(".context_length"))
            .and_then(|(_, value)| value.as_u64())
    };
    Some(ServerModel {
        context_window: set.or_else(trained),
        tools: names_tools(shown),
        by: "Ollama /api/show",
    })
}
