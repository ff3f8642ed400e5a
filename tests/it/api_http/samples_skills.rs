//! Samples about instructions and skills.

use leverframe::protocol::enums::{SkillKind, SkillState};
use leverframe::protocol::request::{
    Answer, Command, DistrustSkill, GetSkill, ListSkills, Outcome, Query, TrustSkill,
};
use leverframe::protocol::skill::{Skill, SkillReview};

use crate::api_http::samples::{NASTY, at, page};

fn skill() -> Skill {
    Skill {
        name: "deploy".to_owned(),
        kind: SkillKind::Skill,
        state: SkillState::Changed,
        channel: None,
        description: NASTY.to_owned(),
        path: Some("/srv/skills/deploy".to_owned()),
        problem: None,
        files: 2,
        bytes: 100,
        sha256: Some("ab".repeat(32)),
        trusted_sha256: Some("cd".repeat(32)),
        trusted_at: Some(at()),
        trusted_by: Some("anna".to_owned()),
    }
}

pub fn commands() -> Vec<Command> {
    let name = "deploy".to_owned();
    vec![
        Command::TrustSkill(TrustSkill {
            name: name.clone(),
            sha256: "ab".repeat(32),
        }),
        Command::DistrustSkill(DistrustSkill { name }),
    ]
}

pub fn outcomes() -> Vec<Outcome> {
    vec![
        Outcome::TrustSkill(skill()),
        Outcome::DistrustSkill(skill()),
    ]
}

pub fn queries() -> Vec<(Query, Answer)> {
    let review = SkillReview {
        skill: skill(),
        diff: NASTY.to_owned(),
        binary: vec!["logo.png".to_owned()],
    };
    vec![
        (
            Query::ListSkills(ListSkills {}),
            Answer::ListSkills(page(skill())),
        ),
        (
            Query::GetSkill(GetSkill {
                name: "deploy".to_owned(),
            }),
            Answer::GetSkill(review),
        ),
    ]
}
