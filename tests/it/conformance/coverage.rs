//! Where each case of research/models.md § 9 is shown: in a directory, or by a test that is named here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::conformance::case::{ADAPTERS, cases_of};

/// The last number of the list.
const LAST: u8 = 104;

/// Cases that no single answer can show: the test that does, as `<file below tests/it>::<name>`.
const ELSEWHERE: &[(u8, &str)] = &[
    (
        1,
        "tests/it/models/event_reader.rs::cutting_changes_nothing",
    ),
    (
        22,
        "tests/it/model_calls/interrupted.rs::an_answer_that_breaks_off_waits_to_be_resumed_and_gives_one_reply",
    ),
    (
        25,
        "tests/it/model_calls/interrupted.rs::consoles_hear_when_the_next_try_is_due",
    ),
    (
        27,
        "tests/it/model_calls/interrupted.rs::a_wait_of_an_hour_is_not_sat_through",
    ),
    (
        32,
        "tests/it/model_calls/window.rs::what_is_too_long_is_compacted_once_and_asked_again",
    ),
    (
        34,
        "tests/it/models/faults.rs::four_obstacles_have_four_messages",
    ),
    (
        35,
        "tests/it/models/connections.rs::dropping_the_stream_closes_the_connection",
    ),
    (
        44,
        "tests/it/model_calls/answers.rs::a_paused_answer_goes_back_as_it_is_and_counts_as_a_step",
    ),
    (
        45,
        "tests/it/model_calls/window.rs::a_window_that_is_full_in_the_middle_cuts_the_answer",
    ),
    (
        46,
        "tests/it/model_calls/answers.rs::silence_after_results_is_nudged_once",
    ),
    (
        46,
        "tests/it/model_calls/answers.rs::two_silences_are_the_operator_s_and_the_chat_hears_nothing",
    ),
    (
        51,
        "tests/it/model_calls/answers.rs::malformed_arguments_are_answered_twice_and_then_the_turn_fails",
    ),
    (
        60,
        "tests/it/model_calls/answers.rs::unknown_tools_and_wrong_arguments_come_back_as_results",
    ),
    (
        61,
        "tests/it/model_calls/answers.rs::unknown_tools_and_wrong_arguments_come_back_as_results",
    ),
    (
        63,
        "tests/it/models/nonsense.rs::a_chat_decoder_never_crashes_and_its_calls_have_distinct_ids",
    ),
    (
        64,
        "tests/it/stories/http.rs::a_denied_call_gives_the_model_the_reason_and_the_turn_goes_on",
    ),
    (
        65,
        "tests/it/model_calls/decisions.rs::decisions_in_any_order_are_answered_in_one_request_in_the_order_of_the_calls",
    ),
    (
        65,
        "tests/it/model_calls/decisions.rs::an_expired_one_ends_the_turn_and_none_of_its_calls_is_sent_without_a_result",
    ),
    (
        66,
        "tests/it/effects/crash.rs::a_call_that_cannot_repeat_waits_for_a_person",
    ),
    (
        66,
        "tests/it/effects/crash.rs::a_keyed_call_runs_again_by_itself_and_counts_once",
    ),
    (
        67,
        "tests/it/console_pty/large_output.rs::five_megabytes_of_escapes_are_capped_kept_and_shown_as_marks",
    ),
    (
        71,
        "tests/it/model_calls/choice.rs::opaque_blocks_stay_with_who_wrote_them_and_are_not_sent_when_stale",
    ),
    (
        80,
        "tests/it/models/lookup.rs::prices_are_known_or_unknown_but_never_zero",
    ),
    (
        83,
        "tests/it/model_calls/stable.rs::the_beginning_of_a_request_is_the_same_whatever_else_happens",
    ),
    (
        84,
        "tests/it/models/requests.rs::a_longer_history_keeps_the_prefix_byte_for_byte",
    ),
    (
        84,
        "tests/it/tools/registry.rs::the_catalogue_is_short_ordered_and_stable",
    ),
    (
        88,
        "tests/it/models/names.rs::names_go_out_legal_and_come_back",
    ),
    (
        101,
        "tests/it/first_run/probe.rs::each_server_is_known_by_its_own_shape",
    ),
    (
        101,
        "tests/it/first_run/probe.rs::a_look_alike_is_not_the_server",
    ),
    (
        101,
        "tests/it/first_run/probe.rs::a_closed_port_is_closed_and_a_slow_server_costs_no_more_than_the_limit",
    ),
    (
        102,
        "tests/it/model_profiles/commands.rs::a_model_without_tools_is_sent_none_and_the_step_says_so",
    ),
    (
        104,
        "tests/it/end_to_end_models/scripted.rs::two_things_ask_twice_once_or_never",
    ),
    (
        41,
        "tests/it/models/gemini_decoder.rs::a_blocked_request_is_a_refusal_with_words",
    ),
    (
        42,
        "tests/it/models/gemini_decoder.rs::ends_that_are_no_answer_are_errors",
    ),
    (
        59,
        "tests/it/models/ollama_decoder.rs::one_line_carries_thinking_text_and_two_calls",
    ),
    (
        74,
        "tests/it/models/gemini_decoder.rs::an_empty_part_with_a_signature_is_kept_and_nothing_is_joined_to_it",
    ),
    (
        74,
        "tests/it/models/gemini_requests.rs::own_content_goes_back_verbatim_in_one_piece",
    ),
    (
        79,
        "tests/it/models/gemini_decoder.rs::the_last_usage_wins_and_thoughts_are_output",
    ),
    (
        103,
        "tests/it/models/ollama_decoder.rs::a_count_far_below_what_was_sent_is_noted",
    ),
    (
        81,
        "tests/it/budgets/limits.rs::every_limit_counts_failed_and_open_calls_and_names_itself",
    ),
    (
        89,
        "tests/it/response_cache/keys.rs::in_scope_channel_it_does_not_matter_who_asks_and_in_scope_user_it_does",
    ),
    (
        90,
        "tests/it/response_cache/keys.rs::in_scope_channel_it_does_not_matter_who_asks_and_in_scope_user_it_does",
    ),
    (
        91,
        "tests/it/response_cache/keys.rs::each_field_alone_changes_the_key_and_no_two_changes_agree",
    ),
    (
        92,
        "tests/it/response_cache/turns.rs::ten_at_once_are_one_call",
    ),
    (
        93,
        "tests/it/response_cache/keys.rs::only_whole_natural_answers_without_tools_are_kept",
    ),
    (
        94,
        "tests/it/response_cache/turns.rs::a_question_behind_another_is_never_answered_from_a_fresh_one",
    ),
    (
        95,
        "tests/it/response_cache/file.rs::an_answer_lives_as_long_as_it_may_and_a_clock_set_back_makes_none_immortal",
    ),
    (
        96,
        "tests/it/response_cache/turns.rs::turns_go_on_while_the_file_is_deleted_broken_or_locked",
    ),
    (
        97,
        "tests/it/model_calls/window.rs::a_compaction_that_fails_loses_nothing_and_is_made_anew_later",
    ),
    (
        98,
        "tests/it/context/histories.rs::every_request_keeps_the_rules",
    ),
    (
        99,
        "tests/it/compaction/answers.rs::a_model_is_shown_neither_results_nor_recalled_memory_nor_cached_responses",
    ),
    (
        100,
        "tests/it/recall/tools.rs::whatever_a_model_types_finds_what_it_means",
    ),
];

/// Cases that nothing shows yet, with what is missing.
const NOT_YET: &[(u8, &str)] = &[];

#[test]
fn every_case_is_shown_somewhere() {
    let mut shown: BTreeMap<u8, Vec<String>> = BTreeMap::new();
    for (adapter, _) in ADAPTERS {
        for case in cases_of(adapter) {
            for number in &case.file.numbers {
                assert!((1..=LAST).contains(number), "{}: {number}", case.name);
                shown.entry(*number).or_default().push(case.name.clone());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (number, test) in ELSEWHERE {
        let (file, name) = test.split_once("::").expect("a file and a name");
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        assert!(
            text.contains(&format!("fn {name}(")),
            "case {number}: there is no test {test}"
        );
        shown.entry(*number).or_default().push((*test).to_owned());
    }
    let not_yet: BTreeSet<u8> = NOT_YET.iter().map(|(number, _)| *number).collect();
    let found: BTreeSet<u8> = shown.keys().copied().collect();
    assert!(
        not_yet.is_disjoint(&found),
        "shown, and still listed as missing: {:?}",
        not_yet.intersection(&found).collect::<Vec<_>>()
    );
    let missing: Vec<u8> = (1..=LAST)
        .filter(|number| !found.contains(number) && !not_yet.contains(number))
        .collect();
    assert!(missing.is_empty(), "shown nowhere: {missing:?}");
}
