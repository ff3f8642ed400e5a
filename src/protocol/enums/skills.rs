//! Words about instructions and skills.

string_enum!(/// What a set of instructions is.
    SkillKind as "kind of skill" {
    /// The AGENTS.md of a channel's workspace: a part of every prompt of the channel.
    Instructions = "instructions",
    /// A folder with a SKILL.md: prompts name it, and the agent loads it where it helps.
    Skill = "skill",
});

string_enum!(/// How files of a skill stand to what is trusted.
    SkillState as "state of a skill" {
    /// The files are what an operator trusts.
    Trusted = "trusted",
    /// Nobody trusts it yet: agents do not get it.
    New = "new",
    /// The files changed since: agents still get what was trusted.
    Changed = "changed",
    /// The files are gone: agents still get what was trusted.
    Missing = "missing",
    /// The files cannot be used: agents still get what was trusted, if anything was.
    Invalid = "invalid",
});

impl SkillState {
    /// Whether an operator should look at it.
    pub fn needs_review(self) -> bool {
        match self {
            Self::New | Self::Changed | Self::Missing | Self::Invalid => true,
            Self::Trusted => false,
        }
    }
}
