//! What a model can do and how it wants to be asked. Data, no decisions.

/// How a provider's prompt cache is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

/// One model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Context window in tokens.
    pub context_window: u64,
    /// Upper bound on output tokens per call.
    pub max_output_tokens: u32,
    /// Whether it can call tools; none = not known, tools are sent.
    pub tools: Option<bool>,
    /// Whether it can propose several calls at once; none = not known.
    pub parallel_tool_calls: Option<bool>,
    /// Whether it reasons: its reasoning items are asked for and replayed.
    pub reasoning: bool,
    /// Reasoning effort asked for, in the provider's word; none = nothing is sent.
    pub effort: Option<String>,
    /// Prompt cache.
    pub prompt_cache: PromptCache,
}

impl Default for Profile {
    /// A model that nothing is known about.
    fn default() -> Self {
        Self {
            context_window: 8_192,
            max_output_tokens: 4_096,
            tools: None,
            parallel_tool_calls: None,
            reasoning: false,
            effort: None,
            prompt_cache: PromptCache::None,
        }
    }
}
