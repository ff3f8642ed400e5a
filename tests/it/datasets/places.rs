//! Files on their way: nobody takes the places of all.

use std::path::PathBuf;

use leverframe::clock::Timestamp;
use leverframe::engine::dataset_uploads::{Datasets, Upload};
use leverframe::protocol::ids::DatasetUploadId;
use leverframe::protocol::problem::ProblemKind;

const START: Timestamp = Timestamp(1_790_000_000_000);

fn upload(owner: &str, at: Timestamp) -> Upload {
    Upload {
        channel: "api".to_owned(),
        name: None,
        source: "sales.csv".to_owned(),
        path: PathBuf::from("sales.csv"),
        received: 0,
        owner: owner.to_owned(),
        at,
    }
}

#[test]
fn one_sender_has_four_places_and_what_broke_off_gives_its_place_back() {
    let datasets = Datasets::default();
    let begin = |owner: &str, at| datasets.begin(DatasetUploadId::generate(), upload(owner, at));
    for _ in 0..4 {
        assert_eq!(begin("token:anna", START).unwrap(), Vec::<PathBuf>::new());
    }
    let refused = begin("token:anna", START).unwrap_err();
    assert_eq!(refused.kind, ProblemKind::Conflict);
    assert!(refused.detail.contains("of yours"), "{refused:?}");
    for owner in ["token:ben", "token:cleo", "token:dan"] {
        for _ in 0..4 {
            begin(owner, START).unwrap();
        }
    }
    // The places of all are taken now.
    let refused = begin("token:eve", START).unwrap_err();
    assert!(!refused.detail.contains("of yours"), "{refused:?}");
    let given_up = begin("token:anna", START.plus_seconds(301)).unwrap();
    assert_eq!(given_up.len(), 16);
}
