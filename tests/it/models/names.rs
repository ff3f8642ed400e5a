//! Names of tools on the wire, and back.

use std::collections::BTreeSet;

use leverframe::model::names::{ToolNames, is_legal};

#[test]
fn names_go_out_legal_and_come_back() {
    let long = "files.".repeat(20);
    let tools = [
        "read_file",
        "github.search/issues",
        "gitlab.search/issues",
        "github.search.issues",
        "9lives",
        "",
        "größe",
        long.as_str(),
    ];
    let names = ToolNames::new(tools, ["made.up"]);
    let mut seen = BTreeSet::new();
    for name in tools.into_iter().chain(["made.up"]) {
        let wire = names.wire(name);
        assert!(is_legal(wire), "{name:?} became {wire:?}");
        assert!(seen.insert(wire.to_owned()), "{wire} twice");
        assert_eq!(names.original(wire), name);
    }
    assert_eq!(names.wire("read_file"), "read_file");
    assert_eq!(names.original("never_sent"), "never_sent");
}

#[test]
fn a_name_made_to_look_like_another_s_wire_name_does_not_take_its_calls() {
    let target = ToolNames::new(["bank.pay"], []).wire("bank.pay").to_owned();
    let names = ToolNames::new(["bank.pay", target.as_str()], []);
    assert_eq!(names.original(names.wire("bank.pay")), "bank.pay");
    assert_eq!(names.original(names.wire(&target)), target);
    assert_ne!(names.wire("bank.pay"), names.wire(&target));
    // The same name in the history alone moves nothing.
    let names = ToolNames::new(["bank.pay"], [target.as_str()]);
    assert_eq!(names.wire("bank.pay"), target);
    assert_eq!(names.original(&target), "bank.pay");
}

#[test]
fn the_order_of_the_tools_does_not_matter() {
    assert_eq!(
        ToolNames::new(["a.b", "c/d", "e"], []),
        ToolNames::new(["e", "c/d", "a.b"], ["a.b"])
    );
}
