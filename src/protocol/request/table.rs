//! Tables of requests: the trait of a request, and the macros that define a table and dispatch its requests.

use crate::protocol::enums::Scope;
use crate::protocol::problem::Problem;

/// A request of a table. Its type determines the type of its reply.
pub trait Request: Into<Self::Wire> + Send {
    /// The enum of all requests of its table, as sent.
    type Wire;
    /// The enum of all replies of its table, as returned.
    type Answer: Send;
    /// The type of its reply.
    type Reply: Send;
    /// Name of the request in the table.
    const NAME: &'static str;
    /// The least scope that a caller needs.
    const SCOPE: Scope;

    /// Unwraps its reply.
    ///
    /// # Errors
    /// When this is the answer to another request.
    fn reply(answer: Self::Answer) -> Result<Self::Reply, Problem>;
}

macro_rules! requests {
    (
        $(#[$wire_meta:meta])*
        enum $Wire:ident;
        $(#[$answer_meta:meta])*
        enum $Answer:ident;
        $(
            $(#[$meta:meta])*
            $Name:ident: $Scope:ident -> $Reply:ty {
                $($(#[$field_meta:meta])* $field:ident: $Field:ty,)*
            }
        )*
    ) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        $(#[$wire_meta])*
        #[allow(missing_docs)] // Each variant says what its struct says.
        pub enum $Wire {
            $($Name($Name),)*
        }

        impl $Wire {
            /// The least scope that a caller needs.
            pub fn scope(&self) -> Scope {
                match self {
                    $(Self::$Name(_) => <$Name as Request>::SCOPE,)*
                }
            }
        }

        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        $(#[$answer_meta])*
        pub enum $Answer {
            $(
                #[doc = concat!("To [`", stringify!($Name), "`].")]
                $Name($Reply),
            )*
        }

        impl $Answer {
            /// Name of the request that this answers.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$Name(_) => <$Name as Request>::NAME,)*
                }
            }
        }

        $(
            $(#[$meta])*
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
            pub struct $Name {
                $($(#[$field_meta])* pub $field: $Field,)*
            }

            impl From<$Name> for $Wire {
                fn from(request: $Name) -> Self {
                    Self::$Name(request)
                }
            }

            impl Request for $Name {
                type Wire = $Wire;
                type Answer = $Answer;
                type Reply = $Reply;
                const NAME: &'static str = stringify!($Name);
                const SCOPE: Scope = Scope::$Scope;

                fn reply(answer: $Answer) -> Result<$Reply, Problem> {
                    match answer {
                        $Answer::$Name(reply) => Ok(reply),
                        other => Err(mismatch(Self::NAME, other.name())),
                    }
                }
            }
        )*
    };
}
pub(crate) use requests;

/// Dispatches a request of a table: each arm makes a reply, and the macro wraps it in the answer.
macro_rules! dispatch {
    ($request:expr, $Wire:ident => $Answer:ident { $($Name:ident($fields:pat) => $reply:expr,)* }) => {
        match $request {
            $($Wire::$Name($fields) => $reply.await.map($Answer::$Name),)*
        }
    };
}
pub(crate) use dispatch;

/// The error for an answer to another request.
pub(super) fn mismatch(asked: &str, answered: &str) -> Problem {
    Problem::internal(format!("{asked} was answered as {answered}"))
}
