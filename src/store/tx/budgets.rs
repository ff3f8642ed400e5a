//! Limits of tokens and money: how a call that asks stands to each of them, and the warning before one is used up.
//!
//! What counts as used is what settled calls used plus what calls under way reserved, so calls at the same time
//! cannot pass a limit together. A call without a price counts in tokens only.

use crate::protocol::budget::Limit;
use crate::protocol::event::{BudgetLevel, EventBody};
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::store::command::WriteTx;
use crate::store::commands::reserve_model::BudgetStop;
use crate::store::error::StoreError;
use crate::store::input::{BudgetKind, Purpose, SharedLimits};
use crate::store::sql::{Row, Statements, params};
use crate::store::tx::approvals::ApprovalRow;
use crate::store::tx::continuations::ContinuationRow;

/// Sums of dollars differ from their true value in the last digits; less than this is no difference.
const ROUNDING: f64 = 1e-9;
/// The part of a limit that is told of.
const WARNED_AT: f64 = 0.8;

/// Tokens and dollars that are used or reserved.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    tokens: f64,
    usd: f64,
}

impl Amount {
    fn add(&mut self, other: Amount) {
        self.tokens += other.tokens;
        self.usd += other.usd;
    }
}

fn amount(row: &Row<'_>) -> Result<Amount, StoreError> {
    // Tokens are far below 2^53, where every whole number has its own f64.
    Ok(Amount {
        tokens: row.get::<i64>("tokens")? as f64,
        usd: row.get("usd")?,
    })
}

/// One limit, and how a call stands to it.
struct Standing {
    budget: BudgetKind,
    limit: f64,
    used: f64,
    asked: f64,
    /// Whose limit it is: an id, a channel, or nothing for the day.
    scope: String,
    /// The day it is for; none where it is for no day.
    day: Option<i64>,
}

impl Standing {
    /// Whether the call does not fit. What costs nothing always fits.
    fn forbids(&self) -> bool {
        self.asked > 0.0 && self.used + self.asked > self.limit + ROUNDING
    }

    fn is_close(&self) -> bool {
        self.used >= self.limit * WARNED_AT - ROUNDING
    }
}

/// Calls under way: of the turn, the session, the channel that day, and of the day.
#[derive(Debug, Default)]
struct Open {
    turn: Amount,
    session: Amount,
    channel: Amount,
    day: Amount,
}

impl WriteTx<'_> {
    fn open_calls(&self, head: &ContinuationRow, day: i64) -> Result<Open, StoreError> {
        let mut open = Open::default();
        self.conn.each(
            "SELECT m.estimated_tokens AS tokens, coalesce(m.estimated_cost_usd, 0.0) AS usd,
                m.continuation_id, c.session_id, m.channel, m.day, m.purpose = 'turn' AS of_turn
             FROM model_attempts m JOIN continuations c ON c.id = m.continuation_id WHERE m.settled_at IS NULL",
            [],
            |row| {
                let reserved = amount(row)?;
                if row.get::<ContinuationId>("continuation_id")? == head.id && row.get("of_turn")? {
                    open.turn.add(reserved);
                }
                if row.get::<SessionId>("session_id")? == head.session_id {
                    open.session.add(reserved);
                }
                if row.get::<Option<i64>>("day")? == Some(day) {
                    open.day.add(reserved);
                    if row.text_opt("channel")? == Some(&head.channel) {
                        open.channel.add(reserved);
                    }
                }
                Ok(())
            },
        )?;
        Ok(open)
    }

    /// What people added to a limit of a session, or of a day and perhaps a channel.
    fn granted(&self, of: &Standing, head: &ContinuationRow) -> Result<f64, StoreError> {
        let budget = of.budget;
        Ok(match of.day {
            None => self.conn.value(
                "SELECT total(amount) FROM budget_grants WHERE session_id = ?1 AND budget = ?2",
                params![head.session_id, budget],
            )?,
            // The budgets of a day name no channel.
            Some(day) => self.conn.value(
                "SELECT total(amount) FROM budget_grants
                 WHERE day = ?1 AND budget = ?2 AND coalesce(channel, '') = ?3",
                params![day, budget, of.scope],
            )?,
        })
    }

    fn spent_on(&self, day: i64, channel: Option<&str>) -> Result<Amount, StoreError> {
        self.conn.row(
            "SELECT coalesce(sum(input_tokens + output_tokens), 0) AS tokens, total(cost_usd) AS usd FROM spend
             WHERE day = ?1 AND (?2 IS NULL OR channel = ?2)",
            params![day, channel],
            amount,
        )
    }

    /// Every limit that holds for a call of this turn, narrowest first.
    fn standings(
        &self,
        head: &ContinuationRow,
        limits: &SharedLimits,
        asked: Amount,
    ) -> Result<Vec<Standing>, StoreError> {
        let (own, turn, session) = self.conn.row(
            "SELECT c.input_tokens + c.output_tokens AS tokens, c.spent_usd AS usd,
                s.input_tokens + s.output_tokens AS session_tokens, s.spent_usd AS session_usd,
                c.max_tokens, c.max_cost_usd
             FROM continuations c JOIN sessions s ON s.id = c.session_id WHERE c.id = ?1",
            [head.id],
            |row| {
                let own = Limit {
                    max_tokens: Some(row.get("max_tokens")?),
                    max_cost_usd: row.get("max_cost_usd")?,
                };
                let session = Amount {
                    tokens: row.get::<i64>("session_tokens")? as f64,
                    usd: row.get("session_usd")?,
                };
                Ok((own, amount(row)?, session))
            },
        )?;
        let open = self.open_calls(head, limits.day)?;
        let day = Some(limits.day);
        let unlimited = Limit::default();
        let channel = if limits.channel == unlimited {
            Amount::default()
        } else {
            self.spent_on(limits.day, Some(&head.channel))?
        };
        let all = if limits.all == unlimited {
            Amount::default()
        } else {
            self.spent_on(limits.day, None)?
        };
        use BudgetKind as Kind;
        let table = [
            (
                own,
                [Kind::Tokens, Kind::Cost],
                turn,
                open.turn,
                head.id.to_string(),
                None,
            ),
            (
                limits.session,
                [Kind::SessionTokens, Kind::SessionCost],
                session,
                open.session,
                head.session_id.to_string(),
                None,
            ),
            (
                limits.channel,
                [Kind::ChannelTokens, Kind::ChannelCost],
                channel,
                open.channel,
                head.channel.clone(),
                day,
            ),
            (
                limits.all,
                [Kind::DayTokens, Kind::DayCost],
                all,
                open.day,
                String::new(),
                day,
            ),
        ];
        let mut standings = Vec::new();
        for (limit, [tokens, cost], used, open, scope, day) in table {
            for (budget, limit, used, asked) in [
                (
                    tokens,
                    limit.max_tokens.map(|most| most as f64),
                    used.tokens + open.tokens,
                    asked.tokens,
                ),
                (cost, limit.max_cost_usd, used.usd + open.usd, asked.usd),
            ] {
                let Some(limit) = limit else { continue };
                let mut standing = Standing {
                    budget,
                    limit,
                    used,
                    asked,
                    scope: scope.clone(),
                    day,
                };
                // What people gave to a turn is in its own limits already.
                if budget.is_shared() {
                    standing.limit += self.granted(&standing, head)?;
                }
                standings.push(standing);
            }
        }
        Ok(standings)
    }

    /// Raises a limit of a turn by an amount in `unit`s; without one the limit is given once more. Columns of 32 bits
    /// must still fit afterwards.
    pub(crate) fn raise_turn(
        &self,
        head: &ContinuationRow,
        column: &str,
        unit: u32,
        extra: Option<f64>,
    ) -> Result<(), StoreError> {
        let most = f64::from(u32::MAX);
        let extra = extra.map(|extra| (extra * f64::from(unit)).ceil().clamp(0.0, most) as i64);
        self.conn.run(
            &format!(
                "UPDATE continuations SET {column} = min({column} + coalesce(?2, max({column}, ?3)), 4294967295)
                 WHERE id = ?1"
            ),
            params![head.id, extra, unit],
        )?;
        Ok(())
    }

    /// Raises what a turn may cost; without an amount it may cost as much again.
    pub(crate) fn raise_turn_cost(
        &self,
        head: &ContinuationRow,
        extra: Option<f64>,
    ) -> Result<(), StoreError> {
        self.conn.run(
            "UPDATE continuations SET max_cost_usd = max_cost_usd + coalesce(?2, max_cost_usd) WHERE id = ?1",
            params![head.id, extra],
        )?;
        Ok(())
    }

    /// Adds to the budget of a session, of a channel for a day, or of a day.
    pub(crate) fn add_grant(
        &self,
        gate: &ApprovalRow,
        head: &ContinuationRow,
        budget: BudgetKind,
        extra: Option<f64>,
    ) -> Result<(), StoreError> {
        let amount = extra
            .ok_or_else(|| StoreError::Corrupt(format!("approval {} offers no amount", gate.id)))?;
        let (session, channel, day) = match budget {
            BudgetKind::SessionTokens | BudgetKind::SessionCost => {
                (Some(head.session_id), None, None)
            }
            BudgetKind::ChannelTokens | BudgetKind::ChannelCost => {
                (None, Some(head.channel.as_str()), gate.budget_day)
            }
            BudgetKind::DayTokens | BudgetKind::DayCost => (None, None, gate.budget_day),
            // Those are raised in the turn's own row.
            BudgetKind::Steps
            | BudgetKind::ToolCalls
            | BudgetKind::ActiveMs
            | BudgetKind::Tokens
            | BudgetKind::Cost => return Ok(()),
        };
        self.conn.run(
            "INSERT INTO budget_grants (approval_id, budget, session_id, channel, day, amount, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![gate.id, budget, session, channel, day, amount, self.now],
        )?;
        Ok(())
    }

    /// The budget that forbids a call, if any; tells of limits that are nearly used up. A call that is made for the
    /// session does not ask the limits of the turn that it hangs on.
    pub(crate) fn judge_budgets(
        &mut self,
        head: &ContinuationRow,
        purpose: Purpose,
        limits: &SharedLimits,
        tokens: u64,
        cost_usd: Option<f64>,
    ) -> Result<Option<BudgetStop>, StoreError> {
        let asked = Amount {
            tokens: tokens as f64,
            usd: cost_usd.unwrap_or(0.0),
        };
        let mut standings = self.standings(head, limits, asked)?;
        standings.retain(|standing| purpose == Purpose::Turn || standing.budget.is_shared());
        if let Some(stop) = standings.iter().find(|standing| standing.forbids()) {
            return Ok(Some(BudgetStop {
                budget: stop.budget,
                limit: stop.limit,
                used: stop.used,
                asked: stop.asked,
                day: limits.day,
            }));
        }
        for standing in standings.iter().filter(|standing| standing.is_close()) {
            self.warn(head, standing)?;
        }
        Ok(None)
    }

    /// Tells that a limit is nearly used up, once.
    fn warn(&mut self, head: &ContinuationRow, standing: &Standing) -> Result<(), StoreError> {
        let new = self.conn.run(
            "INSERT INTO budget_warnings (budget, scope, day, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            params![
                standing.budget,
                standing.scope,
                standing.day.unwrap_or(0),
                self.now
            ],
        )?;
        if new == 0 {
            return Ok(());
        }
        self.emit_turn(
            head,
            EventBody::BudgetReached {
                budget: standing.budget.as_str().to_owned(),
                level: BudgetLevel::Warning,
                limit: Some(standing.limit),
                used: Some(standing.used),
            },
        )
    }
}
