//! The model of a disk: what is certain is in every image, and what is not is missing in some.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::power_loss::disk::{Disk, Entry};
use crate::power_loss::image::{Data, Image, KINDS, Names, Random};

const FILE: &str = "/r/f";

fn disk() -> Disk {
    Disk::new(Path::new("/r"))
}

fn sync(disk: &mut Disk, path: &str) {
    let sync = disk.begin_sync(Path::new(path)).unwrap();
    disk.end_sync(sync);
}

fn contents(disk: &Disk, name: &str) -> Vec<Option<Vec<u8>>> {
    (0..20)
        .flat_map(|seed| KINDS.iter().map(move |kind| (seed, *kind)))
        .map(|(seed, (names, data))| {
            match Image::of(disk, names, data, seed).0.remove(Path::new(name)) {
                Some(Entry::File(content)) => Some(content),
                Some(Entry::Directory) => panic!("{name} is a directory"),
                None => None,
            }
        })
        .collect()
}

#[test]
fn a_synced_file_without_a_synced_name_may_be_gone() {
    let mut disk = disk();
    disk.open(Path::new(FILE), true, false);
    disk.write(Path::new(FILE), Some(0), b"abc");
    sync(&mut disk, FILE);
    let found = contents(&disk, "f");
    assert!(found.contains(&None));
    assert!(found.iter().flatten().all(|content| content == b"abc"));
    sync(&mut disk, "/r");
    assert!(
        contents(&disk, "f")
            .iter()
            .all(|content| content.as_deref() == Some(b"abc"))
    );
    assert!(!disk.uncertain());
}

#[test]
fn a_synced_name_without_synced_content_may_be_empty_or_zeros() {
    let mut disk = disk();
    disk.open(Path::new(FILE), true, false);
    disk.write(Path::new(FILE), Some(0), b"abc");
    sync(&mut disk, "/r");
    let found = contents(&disk, "f");
    for possible in [&b""[..], b"\0\0\0", b"abc"] {
        assert!(found.contains(&Some(possible.to_owned())), "{possible:?}");
    }
}

#[test]
fn a_write_that_began_after_the_sync_is_not_certain() {
    let mut disk = disk();
    disk.open(Path::new(FILE), true, false);
    sync(&mut disk, "/r");
    let sync = disk.begin_sync(Path::new(FILE)).unwrap();
    disk.write(Path::new(FILE), Some(0), b"late");
    disk.end_sync(sync);
    assert!(contents(&disk, "f").contains(&Some(Vec::new())));
}

#[test]
fn a_rename_is_seen_whole_or_not_at_all() {
    let mut disk = disk();
    for (name, content) in [("/r/f", b"old"), ("/r/f.new", b"new")] {
        disk.open(Path::new(name), true, false);
        disk.write(Path::new(name), Some(0), content);
        sync(&mut disk, name);
    }
    sync(&mut disk, "/r");
    disk.rename(Path::new("/r/f.new"), Path::new(FILE));
    let found = contents(&disk, "f");
    assert!(found.contains(&Some(b"old".to_vec())));
    assert!(found.contains(&Some(b"new".to_vec())));
    assert!(found.iter().all(Option::is_some));
}

#[test]
fn a_move_to_another_directory_never_loses_the_file() {
    let mut disk = disk();
    disk.make_directory(Path::new("/r/d"));
    disk.open(Path::new(FILE), true, false);
    sync(&mut disk, "/r");
    disk.rename(Path::new(FILE), Path::new("/r/d/f"));
    for seed in 0..50 {
        for (names, data) in KINDS {
            let image = Image::of(&disk, *names, *data, seed).0;
            assert!(
                image.contains_key(Path::new("f")) || image.contains_key(Path::new("d/f")),
                "{image:?}"
            );
        }
    }
}

#[test]
fn a_file_in_a_directory_that_is_not_certain_goes_with_it() {
    let mut disk = disk();
    disk.make_directory(Path::new("/r/d"));
    disk.open(Path::new("/r/d/f"), true, false);
    sync(&mut disk, "/r/d/f");
    sync(&mut disk, "/r/d");
    assert!(contents(&disk, "d/f").contains(&None));
    sync(&mut disk, "/r");
    assert!(contents(&disk, "d/f").iter().all(Option::is_some));
}

#[test]
fn writes_are_torn_and_reordered() {
    let mut disk = disk();
    disk.open(Path::new(FILE), true, false);
    disk.write(Path::new(FILE), Some(0), &[1; 2048]);
    disk.sync_all();
    disk.write(Path::new(FILE), Some(0), &[2; 1024]);
    disk.write(Path::new(FILE), Some(1024), &[3; 1024]);
    let sectors: Vec<Vec<u8>> = contents(&disk, "f")
        .into_iter()
        .map(|content| {
            content
                .unwrap()
                .chunks(512)
                .map(|sector| sector[0])
                .collect()
        })
        .collect();
    for possible in [
        [1, 1, 1, 1],
        [2, 2, 3, 3],
        [1, 1, 3, 3],
        [2, 1, 1, 1],
        [2, 2, 1, 3],
    ] {
        assert!(sectors.contains(&possible.to_vec()), "{possible:?}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Write(u8, u16, u8, u16),
    Length(u8, u16),
    Sync(u8),
    SyncNames,
    Rename(u8, u8),
    Unlink(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let file = 0..3_u8;
    prop_oneof![
        6 => (file.clone(), 0..3000_u16, any::<u8>(), 1..1500_u16).prop_map(|(f, at, byte, len)| Step::Write(f, at, byte, len)),
        1 => (file.clone(), 0..3000_u16).prop_map(|(f, len)| Step::Length(f, len)),
        2 => file.clone().prop_map(Step::Sync),
        1 => Just(Step::SyncNames),
        1 => (file.clone(), file.clone()).prop_map(|(a, b)| Step::Rename(a, b)),
        1 => file.prop_map(Step::Unlink),
    ]
}

proptest! {
    /// Whatever was done: the image of everything is what the process saw, the same seed gives the same image, and
    /// after a sync of all there is one image only.
    #[test]
    fn images_are_possible_and_repeatable(steps in prop::collection::vec(step(), 1..40), seed in any::<u64>()) {
        let mut disk = disk();
        let mut seen: std::collections::BTreeMap<PathBuf, Vec<u8>> = std::collections::BTreeMap::new();
        let path = |f: u8| PathBuf::from(format!("/r/{f}"));
        for step in steps {
            match step {
                Step::Write(f, at, byte, len) => {
                    let path = path(f);
                    disk.open(&path, true, false);
                    disk.write(&path, Some(u64::from(at)), &vec![byte; usize::from(len)]);
                    let content = seen.entry(path).or_default();
                    let end = usize::from(at) + usize::from(len);
                    if content.len() < end {
                        content.resize(end, 0);
                    }
                    content[usize::from(at)..end].fill(byte);
                }
                Step::Length(f, len) => {
                    if let Some(content) = seen.get_mut(&path(f)) {
                        disk.resize(&path(f), u64::from(len));
                        content.resize(usize::from(len), 0);
                    }
                }
                Step::Sync(f) => {
                    if let Some(sync) = disk.begin_sync(&path(f)) {
                        disk.end_sync(sync);
                    }
                }
                Step::SyncNames => sync(&mut disk, "/r"),
                Step::Rename(a, b) => {
                    if a != b && let Some(content) = seen.remove(&path(a)) {
                        disk.rename(&path(a), &path(b));
                        seen.insert(path(b), content);
                    }
                }
                Step::Unlink(f) => {
                    if seen.remove(&path(f)).is_some() {
                        disk.unlink(&path(f));
                    }
                }
            }
        }
        let whole = Image::of(&disk, Names::All, Data::Everything, seed).0;
        let expected: std::collections::BTreeMap<PathBuf, Entry> = seen
            .iter()
            .map(|(path, content)| (path.strip_prefix("/r").unwrap().to_owned(), Entry::File(content.clone())))
            .collect();
        prop_assert_eq!(&whole, &expected);
        for (names, data) in KINDS {
            let (one, two) = (Image::of(&disk, *names, *data, seed), Image::of(&disk, *names, *data, seed));
            prop_assert_eq!(one.digest(), two.digest());
        }
        disk.sync_all();
        for (names, data) in KINDS {
            prop_assert_eq!(&Image::of(&disk, *names, *data, seed).0, &expected);
        }
    }

    #[test]
    fn numbers_stay_below_their_bound(seed in any::<u64>(), bound in 1..1000_u64) {
        let mut random = Random::new(seed);
        prop_assert!((0..50).all(|_| random.below(bound) < bound));
    }
}
