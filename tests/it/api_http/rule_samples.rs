//! One of everything that rules have, over the wire.

use leverframe::client::console_client::ConsoleClient as _;
use leverframe::client::remote::connection::{Limits, RemoteClient};
use leverframe::protocol::enums::{Access, Risk, RuleMatcher, RuleScope, Scope, VerdictKind};
use leverframe::protocol::event::EventBody;
use leverframe::protocol::ids::{ApprovalId, RuleId};
use leverframe::protocol::policy::Verdict;
use leverframe::protocol::request::{
    AddRule, Answer, ChangeRule, Command, GetRule, GetRuleMatches, ListGrants, ListRules, Outcome,
    Query, RemoveGrant, RemoveRule, SuggestRules, TestRules,
};
use leverframe::protocol::rule::{
    Rule, RuleMatches, RulePatch, RuleSuggestion, RuleSuggestions, RuleTest,
};
use leverframe::protocol::snapshot::Page;

use crate::api_http::fake::FakeClient;
use crate::api_http::samples::{self, NASTY};
use crate::api_http::samples_traffic;
use crate::api_http::server::{ADMIN, Server};

fn id() -> RuleId {
    RuleId::from_bytes([1; 16])
}

fn grant() -> ApprovalId {
    ApprovalId::from_bytes([2; 16])
}

fn rule() -> Rule {
    Rule {
        id: id(),
        tool: "execute_command".to_owned(),
        field: Some("argv".to_owned()),
        matcher: RuleMatcher::Pattern,
        value: NASTY.to_owned(),
        cwd: Some(NASTY.to_owned()),
        executable: Some(NASTY.to_owned()),
        scope: RuleScope::Channel,
        channel: Some("team".to_owned()),
        session_id: None,
        continuation_id: None,
        verdict: VerdictKind::Allow,
        enabled: true,
        expires_at: Some(samples::at()),
        max_uses: Some(9),
        uses: 3,
        last_used_at: Some(samples::at()),
        note: Some(NASTY.to_owned()),
        approval_id: Some(grant()),
        by: NASTY.to_owned(),
        version: 2,
        created_at: samples::at(),
        updated_at: samples::at(),
        never_used: Some(NASTY.to_owned()),
    }
}

fn patch() -> Box<RulePatch> {
    Box::new(RulePatch {
        tool: Some("write_file".to_owned()),
        matcher: Some(RuleMatcher::Prefix),
        value: Some("notes".to_owned()),
        ..RulePatch::default()
    })
}

fn queries() -> Vec<(Query, Answer, String)> {
    let list = Answer::ListRules(Page {
        items: vec![rule()],
        next_cursor: None,
    });
    vec![
        (Query::ListRules(ListRules {}), list, "/v1/rules".to_owned()),
        (
            Query::GetRule(GetRule { id: id() }),
            Answer::GetRule(rule()),
            format!("/v1/rules/{}", id()),
        ),
        (
            Query::GetRuleMatches(GetRuleMatches {
                id: Some(id()),
                rule: patch(),
            }),
            Answer::GetRuleMatches(RuleMatches {
                rule: NASTY.to_owned(),
                coverage: Some(NASTY.to_owned()),
                since: samples::at(),
                considered: 9,
                more: true,
                matched: 8,
                doubtful: 1,
                ran_unasked: 2,
                approved: 3,
                denied: 4,
                refused: 5,
                calls: Vec::new(),
            }),
            format!(
                "/v1/rules/matches?id={}&tool=write_file&matcher=prefix&value=notes",
                id()
            ),
        ),
        (
            Query::SuggestRules(SuggestRules {
                days: Some(14),
                channel: Some("team".to_owned()),
            }),
            Answer::SuggestRules(RuleSuggestions {
                since: samples::at(),
                more: false,
                approved: 40,
                answered: 12,
                rules: vec![RuleSuggestion {
                    rule: *patch(),
                    text: NASTY.to_owned(),
                    coverage: None,
                    answered: 12,
                    also_count: 7,
                    also: vec![NASTY.to_owned()],
                }],
            }),
            "/v1/rules/suggest?days=14&channel=team".to_owned(),
        ),
        (
            Query::TestRules(TestRules {
                tool: "read_file".to_owned(),
                args: serde_json::json!({ "path": "a" }),
                channel: "team".to_owned(),
                session_id: None,
            }),
            Answer::TestRules(RuleTest {
                tool: "read_file".to_owned(),
                preview: NASTY.to_owned(),
                access: Access::Exec,
                risk: Some(Risk::Low),
                verdict: Verdict {
                    decision: VerdictKind::Ask,
                    rule: NASTY.to_owned(),
                    policy_version: 3,
                },
                matching: vec![rule()],
            }),
            "/v1/rules/test?tool=read_file&args=%7B%22path%22%3A%22a%22%7D&channel=team".to_owned(),
        ),
        (
            Query::ListGrants(ListGrants {}),
            Answer::ListGrants(Page {
                items: Vec::new(),
                next_cursor: None,
            }),
            "/v1/rules/grants".to_owned(),
        ),
    ]
}

fn commands() -> Vec<(String, String, Command, Outcome, u16)> {
    let body = serde_json::to_string(&patch()).unwrap();
    vec![
        (
            "POST /v1/rules".to_owned(),
            body.clone(),
            Command::AddRule(AddRule { rule: patch() }),
            Outcome::AddRule(rule()),
            201,
        ),
        (
            format!("PATCH /v1/rules/{}", id()),
            body,
            Command::ChangeRule(ChangeRule {
                id: id(),
                patch: patch(),
            }),
            Outcome::ChangeRule(rule()),
            200,
        ),
        (
            format!("DELETE /v1/rules/{}", id()),
            String::new(),
            Command::RemoveRule(RemoveRule { id: id() }),
            Outcome::RemoveRule(id()),
            200,
        ),
        (
            format!("DELETE /v1/rules/grants/{}", grant()),
            String::new(),
            Command::RemoveGrant(RemoveGrant { id: grant() }),
            Outcome::RemoveGrant(grant()),
            200,
        ),
    ]
}

#[tokio::test]
async fn each_route_asks_its_question_and_carries_out_its_command() {
    let fake = FakeClient::new();
    let server = Server::start(fake.clone()).await;
    let client = RemoteClient::new(server.target(ADMIN), Limits::default()).unwrap();
    for (query, answer, path) in queries() {
        fake.knows(Ok(answer.clone()));
        let reply = server.call(&format!("GET {path}"), "").await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        assert_eq!(fake.queries.lock().unwrap().last().unwrap(), &query);
        fake.knows(Ok(answer.clone()));
        assert_eq!(client.query(query.clone()).await.unwrap(), answer);
        assert_eq!(fake.queries.lock().unwrap().last().unwrap(), &query);
    }
    for (line, body, command, outcome, status) in commands() {
        let scope = match &command {
            Command::RemoveGrant(_) => Scope::Operate,
            Command::AddRule(_) | Command::ChangeRule(_) | Command::RemoveRule(_) => Scope::Admin,
            other => panic!("{other:?}"),
        };
        assert_eq!(command.scope(), scope);
        fake.will(Ok(outcome.clone()));
        let reply = server.call(&line, &body).await;
        assert_eq!(reply.status, status, "{line}: {}", reply.body);
        assert_eq!(fake.last_envelope().command, command, "{line}");
        fake.will(Ok(outcome.clone()));
        let envelope = leverframe::cli::find::envelope(command.clone(), None);
        assert_eq!(client.submit(envelope).await.unwrap(), outcome);
        assert_eq!(fake.last_envelope().command, command);
    }
    let body = EventBody::RuleChanged {
        change: "added".to_owned(),
        rule: Box::new(rule()),
    };
    let wire = serde_json::to_value(samples_traffic::event(None, body.clone())).unwrap();
    assert_eq!(wire["kind"], "rule.changed");
    let read: leverframe::protocol::event::Event = serde_json::from_value(wire).unwrap();
    assert_eq!(read.body, body);
}
