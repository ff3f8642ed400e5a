//! The table of who decides: every surface, every setting of `self_approval`, every way in which somebody can be who
//! asked.

use leverframe::config::settings::Settings;
use leverframe::engine::people::{may_not_decide, named};
use leverframe::protocol::approval::{Approval, Requester};
use leverframe::protocol::command::Actor;
use leverframe::protocol::enums::{ApprovalState, Risk, Role, Scope, Surface};

use crate::api_http::samples;
use crate::config_files::Case;

const PEOPLE: &str = "[people.anna]\nids = [\"telegram:200\", \"slack:U1\", \"unix:1000\"]\nrole = \"owner\"\n\n\
    [people.ben]\nids = [\"telegram:300\", \"unix:1001\"]\nrole = \"approver\"\n";

fn settings(more: &str) -> Settings {
    Case::new(&format!("{PEOPLE}\n{more}")).settings()
}

fn operator(uid: u32) -> Actor {
    Actor::Operator {
        uid,
        name: format!("login{uid}"),
        person: None,
    }
}

fn token(person: Option<&str>) -> Actor {
    Actor::Token {
        name: "laptop".to_owned(),
        scopes: vec![Scope::Read, Scope::Approve],
        person: person.map(str::to_owned),
    }
}

fn chat(id: &str, name: Option<&str>) -> Actor {
    Actor::Person {
        platform_id: id.to_owned(),
        name: name.map(str::to_owned),
        role: Role::Owner,
    }
}

/// Asked by somebody who came in this way.
fn asked(id: &str, person: Option<&str>) -> Approval {
    Approval {
        channel: "api".to_owned(),
        risk: Risk::Medium,
        requester: Requester {
            id: id.to_owned(),
            display: "x".to_owned(),
            person: person.map(str::to_owned),
        },
        ..samples::approval(ApprovalState::Pending)
    }
}

#[test]
fn a_person_is_one_on_every_surface_whatever_they_asked_through() {
    // Every way in which Anna can have asked, and every way in which she can decide.
    let requests = [
        asked("telegram:200", Some("anna")),
        asked("slack:U1", Some("anna")),
        asked("operator:1000", Some("anna")),
        asked("operator:1000", None),
        asked("token:other", Some("anna")),
    ];
    let deciders = [
        (operator(1000), Surface::Console),
        (operator(1000), Surface::Cli),
        (operator(1000), Surface::Http),
        (token(Some("anna")), Surface::Console),
        (token(Some("anna")), Surface::Cli),
        (token(Some("anna")), Surface::Http),
        (token(Some("anna")), Surface::Mcp),
        (token(Some("anna")), Surface::Gate),
        (chat("telegram:200", Some("anna")), Surface::Chat),
        (chat("slack:U1", Some("anna")), Surface::Chat),
        (chat("telegram:200", Some("anna")), Surface::Scripted),
    ];
    for word in ["always", "console", "never"] {
        let settings = settings(&format!("[approvals]\nself_approval = \"{word}\"\n"));
        for request in &requests {
            for (actor, surface) in &deciders {
                let actor = named(&settings, actor.clone());
                assert_eq!(actor.person(), Some("anna"), "{actor:?}");
                let at_console = matches!(surface, Surface::Console | Surface::Cli | Surface::Http);
                let refused = may_not_decide(&settings, request, &actor, *surface);
                let expected = match word {
                    "always" => false,
                    "console" => !at_console,
                    _ => true,
                };
                let case = format!("{word} {surface} {actor:?} of {:?}", request.requester);
                assert_eq!(refused.is_some(), expected, "{case}: {refused:?}");
                if let Some(reason) = refused {
                    assert!(reason.contains("your own request"), "{case}: {reason}");
                }
            }
            // Somebody else decides wherever they are.
            for (actor, surface) in [
                (operator(1001), Surface::Console),
                (token(Some("ben")), Surface::Http),
                (chat("telegram:300", Some("ben")), Surface::Chat),
            ] {
                let actor = named(&settings, actor);
                assert_eq!(
                    may_not_decide(&settings, request, &actor, surface),
                    None,
                    "{actor:?}"
                );
            }
        }
    }
}

#[test]
fn whom_nobody_named_is_only_their_own_id() {
    let settings = settings("[approvals]\nself_approval = \"never\"\n");
    let by = |request: &Approval, actor: Actor| {
        may_not_decide(&settings, request, &named(&settings, actor), Surface::Http).is_some()
    };
    assert!(by(&asked("operator:7", None), operator(7)));
    assert!(!by(&asked("operator:7", None), operator(8)));
    assert!(by(&asked("token:laptop", None), token(None)));
    assert!(!by(&asked("operator:7", None), token(None)));
}

#[test]
fn only_the_approvers_of_a_channel_decide_there_whatever_their_role() {
    let settings = settings("[channels.api]\napprovers = [\"ben\"]\n[channels.desk]\n");
    let request = asked("telegram:9", None);
    let why = |actor: Actor, surface| {
        may_not_decide(&settings, &request, &named(&settings, actor), surface)
    };
    assert_eq!(why(operator(1001), Surface::Console), None);
    assert_eq!(why(token(Some("ben")), Surface::Http), None);
    assert_eq!(why(chat("telegram:300", Some("ben")), Surface::Chat), None);
    for (actor, surface, says) in [
        (operator(1000), Surface::Console, "you are anna"),
        (token(Some("anna")), Surface::Http, "you are anna"),
        (
            chat("telegram:200", Some("anna")),
            Surface::Chat,
            "you are anna",
        ),
        (operator(5), Surface::Cli, "`unix:5` is an id of nobody"),
        (token(None), Surface::Http, "make one with `--person`"),
    ] {
        let reason = why(actor.clone(), surface).unwrap_or_else(|| panic!("{actor:?} decides"));
        assert!(
            reason.contains("lets only ben decide") && reason.contains(says),
            "{reason}"
        );
    }
    // Elsewhere the role counts.
    let elsewhere = Approval {
        channel: "desk".to_owned(),
        ..request.clone()
    };
    let anna = named(&settings, operator(1000));
    assert_eq!(
        may_not_decide(&settings, &elsewhere, &anna, Surface::Console),
        None
    );
}

#[test]
fn lists_of_approvers_and_ids_of_users_are_checked_where_they_stand() {
    let wrong = [
        (
            "[channels.api]\napprovers = [\"bem\"]\n",
            "did you mean `ben`",
        ),
        (
            "[channels.api]\napprovers = [\"cleo\"]\n[people.cleo]\nids = []\nrole = \"user\"\n",
            "cleo has the role user",
        ),
        (
            "[people.cleo]\nids = [\"unix:cleo\"]\nrole = \"user\"\n",
            "id -u",
        ),
        (
            "[people.cleo]\nids = [\"unix:1000\"]\nrole = \"user\"\n",
            "already an id of anna",
        ),
    ];
    for (text, says) in wrong {
        let error = Case::new(&format!("{PEOPLE}\n{text}")).error().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
}
