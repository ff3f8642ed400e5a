//! Any text is a valid search, and finds what a person would expect.

use leverframe::protocol::enums::MemoryScope;
use leverframe::protocol::memory::MemoryFilter;
use leverframe::store::commands::add_memory::AddMemory;
use leverframe::store::commands::change_memory::MemoryChange;
use leverframe::store::commands::import_memories::ImportMemories;
use leverframe::store::commands::record_memory_use::RecordMemoryUse;
use leverframe::text::fold::fold;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::memory_data::world::{add, adding, change, global, in_channel, search};
use crate::support::world::{World, by};

async fn with(texts: &[&str]) -> World {
    let world = World::new().await;
    for text in texts {
        add(&world, global(text)).await;
    }
    world
}

#[tokio::test]
async fn what_people_type_finds_what_they_mean() {
    let world = with(&[
        "We deploy on Fridays",
        "The printer says what's \"broken\" on its display",
        "Error E-1001 means that the disk is full",
        "foo-bar is the name of the staging host",
        "部署前先备份数据库",
        "会議は毎週月曜日です",
        "Das Büro öffnet um neun: Grüße an alle",
        "The party was 🎉🎉 great",
        "100% of the tests passed; 100 others did not run_at all",
        "C++ is spoken here",
    ])
    .await;
    for (typed, expected) in [
        ("deploy?", "We deploy on Fridays"),
        ("DEPLOY fridays!", "We deploy on Fridays"),
        ("deplo", "We deploy on Fridays"),
        ("when do we deploy the thing", "We deploy on Fridays"),
        (
            "what's \"broken",
            "The printer says what's \"broken\" on its display",
        ),
        ("E-1001", "Error E-1001 means that the disk is full"),
        ("foo-bar AND", "foo-bar is the name of the staging host"),
        (
            "NOT foo-bar NEAR(",
            "foo-bar is the name of the staging host",
        ),
        ("text:staging", "foo-bar is the name of the staging host"),
        ("备份", "部署前先备份数据库"),
        ("部署", "部署前先备份数据库"),
        ("什么时候备份数据库", "部署前先备份数据库"),
        ("曜日", "会議は毎週月曜日です"),
        ("grusse", "Das Büro öffnet um neun: Grüße an alle"),
        ("buro", "Das Büro öffnet um neun: Grüße an alle"),
        ("bu\u{308}ro", "Das Büro öffnet um neun: Grüße an alle"),
        ("🎉", "The party was 🎉🎉 great"),
        (
            "run_at",
            "100% of the tests passed; 100 others did not run_at all",
        ),
        (
            "%",
            "100% of the tests passed; 100 others did not run_at all",
        ),
        (
            "_",
            "100% of the tests passed; 100 others did not run_at all",
        ),
        ("++", "C++ is spoken here"),
        ("deploy\0fridays", "We deploy on Fridays"),
    ] {
        let found = search(&world, typed).await;
        // `ß` is no accent: the index keeps it, so a person has to type it.
        if typed == "grusse" {
            assert!(found.is_empty(), "{found:?}");
            continue;
        }
        assert_eq!(
            found.first().map(String::as_str),
            Some(expected),
            "{typed:?} found {found:?}"
        );
    }
    for nothing in ["zebra", "\\", "乙丙", "🦓"] {
        assert_eq!(search(&world, nothing).await, [""; 0], "{nothing:?}");
    }
    for everything in ["", "  \t\n", "\0"] {
        assert_eq!(search(&world, everything).await.len(), 10, "{everything:?}");
    }
}

/// Every script that is looked for in pairs, by its first and last character, and what lies beside it.
#[tokio::test]
async fn every_character_of_a_script_without_spaces_is_found() {
    let world = World::new().await;
    for edge in [
        0x0E01, 0x0E2E, 0x0EDF, 0x1000, 0x102A, 0x1780, 0x17B3, 0x2190, 0x2713, 0x2BFF, 0x3041,
        0x30FF, 0x31F0, 0x31FF, 0x3400, 0x4DBF, 0x4E00, 0x9FFF, 0xAC00, 0xD7A3, 0xF900, 0xFAD9,
        0xFF66, 0xFF9D, 0x1F000, 0x1F389, 0x1FAFF, 0x20000, 0x2A6DF, 0x3FFFD,
    ] {
        let c = char::from_u32(edge).unwrap();
        let text = format!("edge {edge:x}: {c}");
        add(&world, global(&text)).await;
        assert_eq!(search(&world, &c.to_string()).await, [text], "{edge:x}");
    }
    world.sound().await;
}

/// What is looked for in pairs of characters is found where it stands and nowhere else, also after changes.
#[test]
fn pairs_find_what_looking_through_all_texts_would_find() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let piece = || {
        let signs = prop::sample::select(vec![
            "東", "京", "都", "大", "阪", "ก", "า", "한", "🎉", "a", " ", "-",
        ]);
        prop::collection::vec(signs, 1..9).prop_map(|signs| signs.concat())
    };
    let texts = prop::collection::vec((piece(), prop::option::of(piece())), 1..6);
    let unspaced = |c: char| "東京都大阪กา한".contains(c);
    TestRunner::new(ProptestConfig {
        cases: 120,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
    .run(&(texts, piece()), |(texts, typed)| {
        runtime.block_on(async {
            let world = World::new().await;
            let mut kept = std::collections::BTreeSet::new();
            for (n, (text, changed)) in texts.iter().enumerate() {
                let memory = add(&world, global(&format!("{n} {text}"))).await;
                let Some(changed) = changed else {
                    kept.insert(memory.text);
                    continue;
                };
                let edit = MemoryChange::Edit {
                    text: Some(format!("{n} {changed}")),
                    kind: None,
                    expires_at: None,
                };
                let edited = world.ok(change(memory.id, edit)).await;
                kept.insert(edited.text);
            }
            let words: Vec<&str> = typed
                .split(|c| !unspaced(c))
                .filter(|run| !run.is_empty())
                .collect();
            if words.is_empty() || typed.contains(['a', '🎉']) {
                return Ok(());
            }
            let found: std::collections::BTreeSet<String> =
                search(&world, &typed).await.into_iter().collect();
            let whole: std::collections::BTreeSet<String> = kept
                .iter()
                .filter(|text| words.iter().all(|word| text.contains(word)))
                .cloned()
                .collect();
            prop_assert!(
                whole.is_subset(&found),
                "{typed:?} in {kept:?} found {found:?}"
            );
            // What holds only some of it holds a third of its pairs at least: some character of it.
            for text in &found {
                prop_assert!(
                    text.contains(|c| unspaced(c) && typed.contains(c)),
                    "{typed:?} found {text:?}"
                );
            }
            world.sound().await;
            Ok(())
        })
    })
    .unwrap();
}

#[tokio::test]
async fn a_long_text_finds_what_it_is_about() {
    let world = with(&["The walrus sleeps at noon", "Nothing of interest"]).await;
    let long = format!("{} walrus {}", "word ".repeat(10), "padding ".repeat(1300));
    assert!(long.len() > 10_000);
    assert_eq!(search(&world, &long).await, ["The walrus sleeps at noon"]);
    assert_eq!(search(&world, &"x".repeat(10_240)).await, [""; 0]);
    assert_eq!(search(&world, &"备".repeat(4_000)).await, [""; 0]);
    assert_eq!(search(&world, &"\"".repeat(10_240)).await, [""; 0]);
}

#[tokio::test]
async fn pinned_used_and_new_ones_come_first_among_equals() {
    let world = World::new().await;
    let first = add(&world, global("the gate code is 1111")).await;
    world.clock.advance_millis((60 * 24 * 3600) * 1000);
    let second = add(&world, global("the gate code is 2222")).await;
    let newest = |found: &[String]| found[0].clone();
    assert_eq!(newest(&search(&world, "gate code").await), second.text);
    world
        .ok(RecordMemoryUse {
            ids: vec![first.id; 20],
        })
        .await;
    assert_eq!(newest(&search(&world, "gate code").await), first.text);
    let mut third = global("the gate code is 3333");
    third.pinned = true;
    let third = add(&world, third).await;
    assert_eq!(newest(&search(&world, "gate code").await), third.text);
    // What is said counts for more than all of that.
    assert_eq!(newest(&search(&world, "code 2222").await), second.text);
}

#[tokio::test]
async fn a_word_that_is_everywhere_finds_the_rare_ones_beside_it() {
    let world = World::new().await;
    let mut items: Vec<_> = (0..3000).map(|n| global(&format!("the box {n}"))).collect();
    items.insert(10, global("the kangaroo"));
    world
        .ok(ImportMemories {
            items,
            by: by("anna"),
        })
        .await;
    assert_eq!(search(&world, "kangaroo").await, ["the kangaroo"]);
    // No memory holds all three; the rare word decides.
    let found = search(&world, "the big kangaroo").await;
    assert_eq!(found, ["the kangaroo"]);
    // A common word alone finds the newest that hold it, and no more than asked for.
    let found = search(&world, "the").await;
    assert_eq!(found.len(), 20);
    let now = world.clock.now();
    let few = world
        .store
        .read(move |reader| reader.search_memories("box", None, &MemoryFilter::default(), 3, now))
        .await
        .unwrap();
    assert_eq!(few.len(), 3);
}

#[tokio::test]
async fn a_search_keeps_to_its_filter() {
    let world = World::new().await;
    add(&world, global("the owl is everywhere")).await;
    let there = add(&world, in_channel("the owl is here")).await;
    let now = world.clock.now();
    for text in ["owl", "鸮 owl", ""] {
        let found = world
            .store
            .read(move |reader| {
                reader.search_memories(
                    text,
                    None,
                    &MemoryFilter {
                        scope: Some(MemoryScope::Channel),
                        ..MemoryFilter::default()
                    },
                    20,
                    now,
                )
            })
            .await
            .unwrap();
        let found: Vec<_> = found.into_iter().map(|hit| hit.memory).collect();
        assert_eq!(found, std::slice::from_ref(&there), "{text:?}");
    }
}

/// Any text: letters of several scripts, what means something to the index, and noise.
#[tokio::test]
async fn hits_elsewhere_hide_none_of_a_quiet_channel() {
    let world = World::new().await;
    let there = add(&world, in_channel("the invoice 發票")).await;
    let items = (0..2100).map(|n| global(&format!("the invoice 發票 {n}")));
    world
        .ok(ImportMemories {
            items: items.collect(),
            by: by("anna"),
        })
        .await;
    let now = world.clock.now();
    for text in ["invoice", "invoi", "發票"] {
        let filter = MemoryFilter {
            channel: Some("team".to_owned()),
            ..MemoryFilter::default()
        };
        let found = world
            .store
            .read(move |reader| reader.search_memories(text, None, &filter, 20, now))
            .await
            .unwrap();
        let found: Vec<_> = found.into_iter().map(|hit| hit.memory).collect();
        assert_eq!(found, std::slice::from_ref(&there), "{text:?}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<String>(),
        "[a-z]{1,6}",
        "[\\PC]{0,8}",
        prop::sample::select(vec![
            "\"", "'", "*", "(", ")", "NEAR(", "AND", "OR", "NOT", "^", ":", "text:", "-", "+",
            "{", "}", "%", "_", "\\", "\0", "备份", "ค", "🎉", "\u{301}", "\u{200b}", "\u{feff}",
            "ß", "İ", "ﬀ", "१", "𝔘",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.join(" "))
}

#[test]
fn any_string_is_a_valid_search_and_finds_itself() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let world = runtime.block_on(with(&["We deploy on Fridays", "备份"]));
    TestRunner::new(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
    .run(&any_text(), |text| {
        runtime.block_on(async {
            // It never fails, whether or not there is something to find.
            search(&world, &text).await;
            let mut kept = global(&text);
            kept.text.truncate(kept.text.floor_char_boundary(4096));
            let Ok((memory, _)) = world.store.write(AddMemory { ..adding(kept) }).await else {
                // There was nothing in it.
                prop_assert!(text.replace('\0', "").trim().is_empty());
                return Ok(());
            };
            let found = search(&world, &memory.text).await;
            let findable = memory.text.chars().any(|c| c.is_ascii_alphanumeric());
            prop_assert!(
                !findable || found.contains(&memory.text),
                "{:?} does not find itself",
                memory.text
            );
            world
                .ok(leverframe::store::commands::change_memory::DeleteMemory {
                    id: memory.id,
                    by: by("anna"),
                })
                .await;
            Ok(())
        })
    })
    .unwrap();
    runtime.block_on(world.sound());
}

proptest! {
    #[test]
    fn folding_again_changes_nothing(text in any_text()) {
        let once = fold(&text);
        prop_assert_eq!(fold(&once), once);
    }
}

#[test]
fn equal_texts_fold_to_the_same() {
    for (a, b) in [
        ("We  deploy\n on Fridays ", "we deploy on fridays"),
        ("Stra\u{df}e", "STRASSE"),
        ("caf\u{e9}", "CAFE\u{301}"),
        ("ΟΔΟΣ", "οδος"),
    ] {
        assert_eq!(fold(a), fold(b));
    }
    assert_ne!(fold("port 80"), fold("port 81"));
    assert_ne!(fold("resume"), fold("résumé"));
}
