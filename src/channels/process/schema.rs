//! The schema of the protocol, made from its types.

use serde_json::Value;

use crate::channels::process::wire::{BridgeMessage, ProgramMessage};

/// The schema of both directions: what `docs/src/develop/bridge-protocol.schema.json` holds.
pub fn schema() -> Value {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let from = generator.subschema_for::<ProgramMessage>();
    let to = generator.subschema_for::<BridgeMessage>();
    let definitions = generator.take_definitions(true);
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Bridge protocol, version 1",
        "description": "One line either way is one of these objects. `from_program` is written to standard output, \
                        `to_program` is read from standard input.",
        "anyOf": [from, to],
        "$defs": definitions,
    })
}
