//! The queue in lines: what is decided was printed in full, at the revision that it still has.

use std::time::{Duration, Instant};

use crate::cli::exit::Failure;
use crate::cli::plain::input::InputLine;
use crate::cli::plain::shell::{Choice, PrintedItem, Shell};
use crate::cli::plain::words;
use crate::cli::terminal::cell;
use crate::client::rehearsal_lines;
use crate::console::arming::{CONFIRM_MS, Refusal, VISIBLE_MS};
use crate::console::decision::{snoozes, title};
use crate::console::item::{ItemKey, QueueKey};
use crate::console::labels::problem_text;
use crate::console::lifetime::{self, Lifetime};
use crate::console::rehearsals::RehearsalState;
use crate::console::{loading, queue};
use crate::protocol::approval::Approval;
use crate::protocol::command::{DecisionRequest, DeliveryResolution};
use crate::protocol::duration;
use crate::protocol::enums::{
    ApprovalKind, ApprovalState, DecisionKind, DecisionScope, OutboxState, Risk,
};
use crate::protocol::ids::ApprovalId;
use crate::protocol::request::{
    CancelContinuation, Command, Decide, DismissLeftovers, DismissRefusedCalls, Outcome,
    RehearseCall, ResolveDelivery, ResumeContinuation, UpdateSession,
};
use crate::text::untrusted::reveal;
use crate::tui::view;

/// Columns that text is wrapped to.
pub const WIDTH: usize = 78;

/// Lines of a result that are printed with its end.
const RESULT_LINES: usize = 3;

fn shape_possible(approval: &Approval) -> bool {
    approval.only_once().is_none() && approval.offered.contains(&DecisionKind::Approve)
}

fn of_approval(approval: &Approval) -> Vec<Choice> {
    let mut choices = Vec::new();
    for word in &approval.offered {
        choices.push(Choice::Word(*word));
        if *word == DecisionKind::Deny {
            choices.push(Choice::Reason);
        }
    }
    // Letting something happen comes first, as everywhere.
    choices.sort_by_key(|choice| !matches!(choice, Choice::Word(word) if word.allows()));
    if shape_possible(approval) {
        choices.push(Choice::Shape);
    }
    if approval.not_rehearsed().is_none() {
        choices.push(Choice::Rehearse);
    }
    if approval.kind == ApprovalKind::Execute {
        choices.push(Choice::Rule);
    }
    choices
}

/// Quoted so that `words::split` reads it back as one word.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

impl Shell<'_> {
    /// How a call ended that somebody allowed, and the first lines of its result.
    pub fn say_result(&mut self, key: &QueueKey) -> Result<(), Failure> {
        let number = self.items.of(key);
        if let Some(words) = view::queue::in_words(&self.model, key) {
            self.out.line(&format!("ended: {number}  {words}"))?;
        }
        let text = self.result(key).map(|result| result.preview.clone());
        for line in text.unwrap_or_default().lines().take(RESULT_LINES) {
            self.out.line(&format!("     {}", cell(line)))?;
        }
        Ok(())
    }

    /// Everything that needs a person, in the order of the full console.
    pub fn open_items(&self) -> Vec<QueueKey> {
        let order = self.model.queue.order.iter();
        order.filter(|key| self.is_open(key)).cloned().collect()
    }

    fn choices(&self, key: &QueueKey) -> Vec<Choice> {
        if !self.is_open(key) {
            return Vec::new();
        }
        match &key.item {
            ItemKey::Approval(id) => self
                .model
                .world()
                .approvals
                .get(id)
                .map(of_approval)
                .unwrap_or_default(),
            ItemKey::Continuation(_) => vec![Choice::Resume, Choice::Kill],
            ItemKey::Delivery(_) => [
                DeliveryResolution::Sent,
                DeliveryResolution::SendAgain,
                DeliveryResolution::Drop,
            ]
            .map(Choice::Delivery)
            .to_vec(),
            ItemKey::Leftovers(_) | ItemKey::RefusedCalls(_) => vec![Choice::Dismiss],
            ItemKey::Flood(_) => vec![Choice::Resume],
            ItemKey::Channel(_) | ItemKey::Problem(_) => Vec::new(),
        }
    }

    /// `queue`.
    pub fn list_queue(&mut self) -> Result<(), Failure> {
        let open = self.open_items();
        if open.is_empty() {
            self.out
                .line("Nothing needs you. New items are announced here.")?;
        }
        for key in &open {
            let number = self.items.of(key);
            if let Some(words) = view::queue::in_words(&self.model, key) {
                self.out.line(&format!("{number:>3}  {words}"))?;
            }
        }
        if !open.is_empty() {
            self.out.line("A number prints it in full.")?;
        }
        self.mark_told(&open);
        Ok(())
    }

    fn item(&mut self, number: usize) -> Result<Option<QueueKey>, Failure> {
        let found = self.items.get(number);
        if found.is_none() {
            self.out.line(&format!(
                "there is no number {number}; `queue` lists what there is"
            ))?;
        }
        Ok(found)
    }

    /// Asks for the whole of an approval that is known by its beginning only; the error says why it is not here.
    async fn load(&mut self, key: &QueueKey) -> Result<(), String> {
        let ItemKey::Approval(id) = &key.item else {
            return Ok(());
        };
        self.model.world_mut().opened.again();
        let Some(query) = loading::begin(self.model.world_mut(), *id) else {
            return Ok(());
        };
        let answer = self.engine().call(query).await;
        // It may have changed while it was asked for.
        self.catch_up();
        let answer = match &answer {
            Ok(whole) => Ok(whole),
            Err(problem) => Err(problem_text(problem)),
        };
        loading::answered(self.model.world_mut(), *id, answer);
        if let Some(problem) = self.model.world().opened.problem(*id) {
            return Err(problem.to_owned());
        }
        match self.model.world().approvals.get(id) {
            Some(approval) if approval.shortened => Err("it changed meanwhile".to_owned()),
            Some(_) | None => Ok(()),
        }
    }

    /// Prints an item in full, with its choices.
    pub async fn print_item(&mut self, number: usize) -> Result<(), Failure> {
        let Some(key) = self.item(number)? else {
            return Ok(());
        };
        if let Err(problem) = self.load(&key).await {
            // What was printed of it before may not be what it is now.
            self.printed.remove(&key);
            return self.out.line(&format!(
                "not loaded: {}; `{number}` tries again",
                cell(&problem)
            ));
        }
        let subject = queue::subject(&self.model.hosts, &key);
        let (Some(subject), Some(lines)) = (subject, view::plain::card(&self.model, &key, WIDTH))
        else {
            return self.out.line("it is gone");
        };
        for (at, line) in lines.iter().enumerate() {
            if at == 0 {
                self.out.line(&format!("{number}: {line}"))?;
            } else {
                self.out.line(line)?;
            }
        }
        let choices = self.choices(&key);
        if !choices.is_empty() {
            self.out.line("")?;
            for (at, choice) in choices.iter().enumerate() {
                self.out
                    .line(&format!("  {number} {}  {}", at + 1, choice.label()))?;
            }
        }
        let printed = PrintedItem {
            subject,
            at: Instant::now(),
            choices,
        };
        self.printed.insert(key, printed);
        Ok(())
    }

    /// What was printed of it, when a decision typed like this may count.
    fn armed(
        &self,
        number: usize,
        key: &QueueKey,
        line: &InputLine,
    ) -> Result<PrintedItem, String> {
        let Some(printed) = self.printed.get(key) else {
            return Err(format!(
                "it has not been printed in full; `{number}` prints it"
            ));
        };
        if !self.is_open(key) {
            return Err("it is settled already".to_owned());
        }
        let now = queue::subject(&self.model.hosts, key);
        if now.as_ref() != Some(&printed.subject) {
            return Err(format!(
                "it has changed since it was printed; `{number}` prints it as it is now"
            ));
        }
        if let ItemKey::Approval(id) = &key.item
            && (self.model.world().approvals.get(id)).is_some_and(|approval| approval.shortened)
        {
            return Err(format!(
                "{}; `{number}` prints it again",
                Refusal::NotLoaded.why()
            ));
        }
        if line.pasted {
            return Err(Refusal::Pasted.why().to_owned());
        }
        if line.at < printed.at + Duration::from_millis(VISIBLE_MS) {
            return Err(Refusal::TooSoon.why().to_owned());
        }
        Ok(printed.clone())
    }

    /// `3 1`.
    pub async fn take_choice(
        &mut self,
        number: usize,
        choice: usize,
        line: &InputLine,
    ) -> Result<(), Failure> {
        let Some(key) = self.item(number)? else {
            return Ok(());
        };
        let printed = match self.armed(number, &key, line) {
            Ok(printed) => printed,
            Err(why) => return self.out.line(&format!("not armed: {why}")),
        };
        let chosen = choice
            .checked_sub(1)
            .and_then(|at| printed.choices.get(at).copied());
        match chosen {
            Some(chosen) => self.decide(number, &key, &printed, chosen, "").await,
            None => self
                .out
                .line(&format!("number {number} has no choice {choice}")),
        }
    }

    /// Whether a word decides about the number behind it.
    pub fn is_decision(word: &str, rest: &str) -> bool {
        let numbered = words::first(rest).0.parse::<usize>().is_ok();
        let known = [
            "allow", "approve", "deny", "reason", "edit", "answer", "stop", "snooze", "session",
            "revoke", "rehearse",
        ];
        numbered && known.contains(&word)
    }

    /// `allow 3`, `deny 3 because it is late`.
    pub async fn decide_in_words(
        &mut self,
        word: &str,
        rest: &str,
        line: &InputLine,
    ) -> Result<(), Failure> {
        let (number, rest) = words::first(rest);
        let number = number.parse().unwrap_or_default();
        let Some(key) = self.item(number)? else {
            return Ok(());
        };
        if word == "revoke" {
            return self.revoke(&key).await;
        }
        let printed = match self.armed(number, &key, line) {
            Ok(printed) => printed,
            Err(why) => return self.out.line(&format!("not armed: {why}")),
        };
        let wanted = match word {
            "allow" | "approve" => Choice::Word(DecisionKind::Approve),
            "deny" if rest.is_empty() => Choice::Word(DecisionKind::Deny),
            "deny" | "reason" => Choice::Reason,
            "edit" => Choice::Word(DecisionKind::Edit),
            "answer" => Choice::Word(DecisionKind::Answer),
            "stop" => Choice::Word(DecisionKind::DenyAndStop),
            "snooze" => Choice::Word(DecisionKind::Snooze),
            "rehearse" => Choice::Rehearse,
            _ => Choice::Shape,
        };
        if !printed.choices.contains(&wanted) {
            return self
                .out
                .line(&format!("`{word}` is not offered for {number}"));
        }
        self.decide(number, &key, &printed, wanted, rest).await
    }

    /// Asks for exactly this word, typed after the question was there to be read.
    pub async fn sure(&mut self, question: &str, word: &str) -> Result<bool, Failure> {
        let asked = Instant::now();
        let Some(line) = self.ask(question).await? else {
            return Ok(false);
        };
        let why = if line.pasted {
            Some(Refusal::Pasted.why())
        } else if line.at < asked + Duration::from_millis(CONFIRM_MS) {
            Some("the answer came before you could read the question")
        } else {
            None
        };
        if let Some(why) = why {
            self.out.line(&format!("not armed: {why}"))?;
            return Ok(false);
        }
        let right = line.text.trim().eq_ignore_ascii_case(word);
        if !right {
            self.out.line("nothing was decided")?;
        }
        Ok(right)
    }

    async fn decide(
        &mut self,
        number: usize,
        key: &QueueKey,
        printed: &PrintedItem,
        choice: Choice,
        given: &str,
    ) -> Result<(), Failure> {
        let command = match &key.item {
            ItemKey::Approval(id) if choice == Choice::Rehearse => {
                return self.rehearse(*id).await;
            }
            ItemKey::Approval(id) => {
                let Some(approval) = self.model.world().approvals.get(id).cloned() else {
                    return Ok(());
                };
                let Some(decision) = self
                    .request(number, &approval, printed, choice, given)
                    .await?
                else {
                    return Ok(());
                };
                Command::Decide(Decide {
                    approval_id: *id,
                    decision,
                })
            }
            ItemKey::Continuation(id) => match choice {
                Choice::Kill => {
                    if !self
                        .sure("It ends without an answer. Type kill to go on:", "kill")
                        .await?
                    {
                        return Ok(());
                    }
                    Command::CancelContinuation(CancelContinuation {
                        continuation_id: *id,
                        reason: None,
                    })
                }
                _ => Command::ResumeContinuation(ResumeContinuation {
                    continuation_id: *id,
                }),
            },
            ItemKey::Delivery(id) => {
                let Choice::Delivery(resolution) = choice else {
                    return Ok(());
                };
                let unknown = self
                    .model
                    .world()
                    .deliveries
                    .get(id)
                    .is_some_and(|item| item.state == OutboxState::Unknown);
                if unknown
                    && resolution == DeliveryResolution::SendAgain
                    && !self
                        .sure(
                            "It may have arrived; sending again may show it twice. Type again to send it:",
                            "again",
                        )
                        .await?
                {
                    return Ok(());
                }
                Command::ResolveDelivery(ResolveDelivery {
                    outbox_id: *id,
                    resolution,
                    reason: None,
                })
            }
            ItemKey::Leftovers(id) => {
                Command::DismissLeftovers(DismissLeftovers { tool_call_id: *id })
            }
            ItemKey::RefusedCalls(id) => {
                Command::DismissRefusedCalls(DismissRefusedCalls { session_id: *id })
            }
            ItemKey::Flood(id) => Command::UpdateSession(UpdateSession {
                session_id: *id,
                title: None,
                model: None,
                paused: Some(false),
                preferences: None,
            }),
            ItemKey::Channel(_) | ItemKey::Problem(_) => return Ok(()),
        };
        // What was asked took time: the same look once more, at what came meanwhile.
        self.catch_up();
        if queue::subject(&self.model.hosts, key).as_ref() != Some(&printed.subject)
            || !self.is_open(key)
        {
            return self.out.line(&format!(
                "not sent: it changed or was settled meanwhile; `{number}` prints it as it is now"
            ));
        }
        if !self.model.is_live() {
            return self.out.line("not sent: not connected");
        }
        // What was put off, edited, or allowed by the first of two waits on, and its end is news.
        match self.act(command).await? {
            Some(Outcome::Decide(approval)) if approval.state == ApprovalState::Pending => {}
            Some(_) => {
                self.own.insert(key.clone());
            }
            None => {}
        }
        Ok(())
    }

    /// The request of a choice, after what it asks was answered. None = left.
    async fn request(
        &mut self,
        number: usize,
        approval: &Approval,
        printed: &PrintedItem,
        choice: Choice,
        given: &str,
    ) -> Result<Option<DecisionRequest>, Failure> {
        let word = match choice {
            Choice::Word(word) => word,
            Choice::Reason => DecisionKind::Deny,
            Choice::Shape => DecisionKind::Approve,
            Choice::Rule => {
                self.say_rule(number, approval)?;
                return Ok(None);
            }
            Choice::Resume
            | Choice::Kill
            | Choice::Delivery(_)
            | Choice::Dismiss
            | Choice::Rehearse => {
                return Ok(None);
            }
        };
        let seen = printed.at.elapsed().as_millis();
        let mut request = DecisionRequest {
            scope: (word == DecisionKind::Approve).then_some(DecisionScope::Once),
            revision: u32::try_from(printed.subject.revision).ok(),
            seen_ms: u64::try_from(seen).ok(),
            ..DecisionRequest::new(word, printed.subject.digest.clone())
        };
        let tool = cell(&approval.tool);
        match choice {
            Choice::Reason => {
                let reason = if given.is_empty() {
                    let asked = self.ask("reason, for the model to read:").await?;
                    asked.map(|line| line.text)
                } else {
                    Some(given.to_owned())
                };
                let Some(reason) = reason else {
                    return Ok(None);
                };
                request.reason = Some(reason.trim().to_owned()).filter(|text| !text.is_empty());
            }
            Choice::Shape => {
                let Some(life) = self.lifetime(given).await? else {
                    return Ok(None);
                };
                let now = self.model.now.wall;
                self.out.line(&format!(
                    "From now on {tool} with exactly these arguments runs in this session without asking, {}.",
                    life.in_words(now)
                ))?;
                if !self.sure("Type session to allow that:", "session").await? {
                    return Ok(None);
                }
                let (scope, seconds) = life.request(now);
                request.scope = Some(scope);
                request.expires_in_seconds = seconds;
            }
            _ => {}
        }
        match word {
            DecisionKind::Edit => {
                let args =
                    serde_json::to_string_pretty(&approval.args).map_err(anyhow::Error::from)?;
                self.out.line(&reveal(&args))?;
                let Some((text, _)) = self.ask_text("New arguments as JSON").await? else {
                    return Ok(None);
                };
                match serde_json::from_str(&text) {
                    Ok(args) => request.args = Some(args),
                    Err(error) => {
                        self.out.line(&format!("not sent: no JSON: {error}"))?;
                        return Ok(None);
                    }
                }
            }
            DecisionKind::Answer => {
                let text = if given.is_empty() {
                    let asked = self.ask_text("What the model reads in its place").await?;
                    match asked {
                        Some((_, last)) if last.pasted => {
                            self.out
                                .line(&format!("not armed: {}", Refusal::Pasted.why()))?;
                            None
                        }
                        Some((text, _)) => Some(text),
                        None => None,
                    }
                } else {
                    Some(given.to_owned())
                };
                let Some(text) = text else {
                    return Ok(None);
                };
                request.answer = Some(text);
            }
            DecisionKind::Snooze => {
                let minutes = match given.parse() {
                    Ok(minutes) => Some(minutes),
                    Err(_) => {
                        let choices = snoozes(self.model.now.wall, approval.expires_at);
                        let offered: Vec<String> = choices
                            .iter()
                            .map(|choice| choice.words.to_owned())
                            .collect();
                        let chosen = self.choose("For how long?", &offered).await?;
                        chosen.and_then(|at| choices.get(at - 1).map(|choice| choice.minutes))
                    }
                };
                if minutes.is_none() {
                    return Ok(None);
                }
                request.minutes = minutes;
            }
            DecisionKind::Approve if approval.kind == ApprovalKind::Budget && !given.is_empty() => {
                match given.parse::<f64>() {
                    Ok(extra) if extra.is_finite() => request.extra = Some(extra),
                    Ok(_) | Err(_) => {
                        self.out
                            .line("not sent: expected how much more, like 50000 or 0.5")?;
                        return Ok(None);
                    }
                }
            }
            _ => {}
        }
        if word.allows() && !self.twice(number, approval, word, &mut request).await? {
            return Ok(None);
        }
        if word == DecisionKind::DenyAndStop && !self.closing_others(approval).await? {
            return Ok(None);
        }
        Ok(Some(request))
    }

    /// How long a shape is allowed: as given with the word, or as chosen. None = left.
    async fn lifetime(&mut self, given: &str) -> Result<Option<Lifetime>, Failure> {
        let now = self.model.now.wall;
        let offered = lifetime::offered(now);
        match given.trim() {
            "" => {
                let words: Vec<String> = offered.iter().map(|life| life.in_words(now)).collect();
                let chosen = self.choose("For how long?", &words).await?;
                Ok(chosen.and_then(|at| offered.get(at - 1).copied()))
            }
            "turn" => Ok(Some(Lifetime::Turn)),
            "session" => Ok(Some(Lifetime::Session)),
            text => {
                let life = duration::ahead(text, now).map(Lifetime::Until);
                if life.is_none() {
                    self.out.line(
                        "not sent: expected turn, session, a time like 30m or 8h, a day like 2026-12-24 or a time like 2026-12-24 18:00",
                    )?;
                }
                Ok(life)
            }
        }
    }

    /// High risk asks a second time, critical asks for the code.
    async fn twice(
        &mut self,
        number: usize,
        approval: &Approval,
        word: DecisionKind,
        request: &mut DecisionRequest,
    ) -> Result<bool, Failure> {
        let what = word.as_str().replace('_', " ");
        let tool = cell(&title(approval));
        match approval.risk {
            Risk::Low | Risk::Medium => Ok(true),
            Risk::High => {
                let question = format!(
                    "HIGH RISK: {what} {number}, {tool}, revision {}. Type yes to decide:",
                    approval.revision
                );
                self.sure(&question, "yes").await
            }
            Risk::Critical => {
                let question = format!(
                    "CRITICAL: {what} {number}, {tool}, revision {}. Type the code on the card:",
                    approval.revision
                );
                request.confirm_code = Some(approval.short_code.clone());
                self.sure(&question, &approval.short_code).await
            }
        }
    }

    /// Other questions of the same turn are closed with it.
    async fn closing_others(&mut self, approval: &Approval) -> Result<bool, Failure> {
        let others = self
            .model
            .world()
            .pending()
            .filter(|other| {
                other.continuation_id == approval.continuation_id && other.id != approval.id
            })
            .count();
        if others == 0 {
            return Ok(true);
        }
        let question =
            format!("{others} more waiting in this turn will be closed too. Type stop to go on:");
        self.sure(&question, "stop").await
    }

    fn say_rule(&mut self, number: usize, approval: &Approval) -> Result<(), Failure> {
        let (flag, value) = match &approval.preview {
            crate::protocol::approval::Preview::Exec { argv } => ("--prefix", argv.join(" ")),
            _ => ("--exact", approval.args.to_string()),
        };
        let (verdict, can) = match approval.rules_only_deny() {
            Some(why) => (" --deny", format!("No rule lets it run: {why}. ")),
            None => ("", String::new()),
        };
        self.out.line(&format!(
            "{can}A rule like this one (--preview shows its effect; without it, the rule is made):\n  rules add {} {flag} {} --channel {}{verdict} --expires 8h --preview\nThen decide {number}.",
            cell(&approval.tool),
            cell(&quoted(&value)),
            cell(&quoted(&approval.channel)),
        ))?;
        Ok(())
    }

    /// Rehearses the command of an approval, and prints what it would do.
    async fn rehearse(&mut self, approval_id: ApprovalId) -> Result<(), Failure> {
        self.out.line(
            "rehearsing it in a throw-away copy of the workspace, without network; ctrl-c ends it …",
        )?;
        let command = Command::RehearseCall(RehearseCall { approval_id });
        if self.act_until_interrupted(command).await?.is_none() {
            return self.out.line("the rehearsal was ended; nothing is decided");
        }
        let host = self.model.host();
        let approval = host.world.approvals.get(&approval_id);
        let lines = match approval.and_then(|approval| host.rehearsals.of(approval)) {
            Some(RehearsalState::Done(rehearsal)) => rehearsal_lines::lines(rehearsal),
            Some(RehearsalState::Running | RehearsalState::Refused(_)) | None => Vec::new(),
        };
        for line in lines {
            self.out.line(&line)?;
        }
        Ok(())
    }

    /// Takes back what was allowed and has not run.
    async fn revoke(&mut self, key: &QueueKey) -> Result<(), Failure> {
        let ItemKey::Approval(id) = &key.item else {
            return self.out.line("only a decision about a call can be undone");
        };
        let Some(approval) = self.model.world().approvals.get(id) else {
            return self.out.line("it is gone");
        };
        let decision = DecisionRequest {
            revision: Some(approval.revision),
            ..DecisionRequest::new(DecisionKind::Revoke, approval.digest.clone())
        };
        self.act(Command::Decide(Decide {
            approval_id: *id,
            decision,
        }))
        .await?;
        Ok(())
    }
}
