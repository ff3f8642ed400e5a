//! Values about instructions and skills.

string_enum!(/// Kind of a set of instructions.
    SkillKind as "kind of skill" {
    /// The AGENTS.md of a channel's workspace: a part of every prompt of the channel.
    Instructions = "instructions",
    /// A folder with a SKILL.md: prompts name it, and the agent loads it when it helps.
    Skill = "skill",
});

string_enum!(/// State of the files of a skill, compared with what an operator trusts.
    SkillState as "state of a skill" {
    /// The files are the trusted ones.
    Trusted = "trusted",
    /// Nobody trusts it yet: agents do not get it.
    New = "new",
    /// The files have changed: agents still get the trusted version.
    Changed = "changed",
    /// The files are gone: agents still get the trusted version.
    Missing = "missing",
    /// The files cannot be used: agents still get the trusted version, if there is one.
    Invalid = "invalid",
});

impl SkillState {
    /// Whether an operator should review it.
    pub fn needs_review(self) -> bool {
        match self {
            Self::New | Self::Changed | Self::Missing | Self::Invalid => true,
            Self::Trusted => false,
        }
    }
}
