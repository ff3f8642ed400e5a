//! What our ids, words, times, hashes and JSON are in a column.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, Value, ValueRef};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock::{Day, Timestamp};
use crate::protocol::artifact::ArtifactHash;
use crate::protocol::enums;
use crate::protocol::ids::{
    ApprovalId, CompactionId, ContinuationId, DatasetId, HygieneRunId, InboxId, MemoryId,
    ModelAttemptId, OutboxId, RoutineId, RoutineRunId, RuleId, SessionId, TakeOverId, TokenId,
    ToolAttemptId, ToolCallId,
};
use crate::store::input::{BudgetKind, EngineNotice};

/// A value that is stored as JSON text.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let text = serde_json::to_string(&self.0);
        let text = text.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(ToSqlOutput::Owned(Value::Text(text)))
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let value = serde_json::from_str(value.as_str()?);
        value.map(Json).map_err(FromSqlError::other)
    }
}

/// Ids are 16 bytes.
macro_rules! ids {
    ($($id:ident),+ $(,)?) => { $(
        impl From<$id> for Value {
            fn from(id: $id) -> Self {
                Self::Blob(id.to_bytes().to_vec())
            }
        }

        impl ToSql for $id {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::Owned((*self).into()))
            }
        }

        impl FromSql for $id {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                <[u8; 16]>::column_result(value).map($id::from_bytes)
            }
        }
    )+ };
}

ids!(
    ApprovalId,
    CompactionId,
    ContinuationId,
    HygieneRunId,
    InboxId,
    MemoryId,
    ModelAttemptId,
    OutboxId,
    RoutineId,
    DatasetId,
    RoutineRunId,
    RuleId,
    SessionId,
    TakeOverId,
    TokenId,
    ToolAttemptId,
    ToolCallId,
);

/// Words are their text.
macro_rules! string_enums {
    ($($word:path),+ $(,)?) => { $(
        impl From<$word> for Value {
            fn from(word: $word) -> Self {
                Self::Text(word.as_str().to_owned())
            }
        }

        impl ToSql for $word {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(self.as_str()))
            }
        }

        impl FromSql for $word {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                value.as_str()?.parse().map_err(FromSqlError::other)
            }
        }
    )+ };
}

string_enums!(
    enums::ContinuationState,
    enums::SessionState,
    enums::ToolCallState,
    enums::ApprovalState,
    enums::ApprovalKind,
    enums::DecisionKind,
    enums::DecisionScope,
    enums::Autonomy,
    enums::Access,
    enums::Effect,
    enums::Risk,
    enums::VerdictKind,
    enums::OutboxState,
    enums::OutboxClass,
    enums::Disposition,
    enums::PairingState,
    enums::Role,
    enums::Scope,
    enums::Surface,
    enums::ChannelState,
    enums::ChannelKind,
    enums::StepKind,
    enums::CacheScope,
    enums::CacheMissReason,
    enums::CacheSkipReason,
    enums::CacheEviction,
    enums::CostGrouping,
    enums::MemoryScope,
    enums::MemoryKind,
    enums::MemoryAuthor,
    enums::MemoryState,
    enums::CompactionState,
    enums::HygieneReason,
    enums::HygieneState,
    enums::HookPoint,
    enums::MissedRuns,
    enums::RoutineRunState,
    enums::FloodKind,
    enums::Unattended,
    enums::ToolCacheMiss,
    enums::ToolCacheSkipReason,
    enums::ReportOutcome,
    enums::RuleMatcher,
    enums::RuleScope,
    enums::SearchMethod,
    enums::SkillKind,
);

/// Enums that are only written, or read as text.
macro_rules! written_enums {
    ($($word:ident),+ $(,)?) => { $(
        impl ToSql for $word {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(self.as_str()))
            }
        }
    )+ };
}

written_enums!(BudgetKind, EngineNotice);

/// Times are milliseconds, days are days, both since 1970.
macro_rules! numbers {
    ($($number:ident),+ $(,)?) => { $(
        impl From<$number> for Value {
            fn from(number: $number) -> Self {
                Self::Integer(number.0)
            }
        }

        impl ToSql for $number {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.0.into())
            }
        }

        impl FromSql for $number {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                value.as_i64().map($number)
            }
        }
    )+ };
}

numbers!(Day, Timestamp);

impl ToSql for ArtifactHash {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Owned(Value::Blob(self.to_bytes().to_vec())))
    }
}

impl FromSql for ArtifactHash {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        <[u8; 32]>::column_result(value).map(ArtifactHash::from_bytes)
    }
}
