//! Goes through a trace and takes power away: at each chosen moment several images are made and judged.
//!
//! The order of the moments, and with it each image, follows from the seed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};

use crate::power_loss::disk::{Disk, Sync};
use crate::power_loss::examine::{Examiner, Found};
use crate::power_loss::image::{Data, Image, KINDS, Names, Random};
use crate::power_loss::store_run::Recorded;
use crate::power_loss::trace::{Call, Record};

/// What must hold of an image that was made at some moment. Fills in what is wrong.
pub type Expectation = Arc<dyn Fn(&Found) -> Vec<String> + Send + std::marker::Sync>;

/// Watches the calls go by and says what must hold now.
pub trait Witness {
    /// A call began. True = a moment worth a look: something was promised or done outside.
    fn began(&mut self, call: &Call) -> bool;
    /// What must hold of every image made now.
    fn expects(&self) -> Expectation;
}

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub seed: u64,
    /// About how many images besides the plain ones are made.
    pub images: u64,
    /// Nothing is opened any more once something is wrong.
    pub one_is_enough: bool,
}

/// What was done, and what was wrong.
#[derive(Debug, Default)]
pub struct Outcome {
    pub calls: usize,
    pub points: usize,
    pub images: usize,
    /// Different ones among them: these were opened.
    pub opened: usize,
    /// (number of the image, what is wrong), in order.
    pub violations: Vec<(usize, String)>,
}

struct Job {
    number: usize,
    what: String,
    image: Arc<Image>,
    found: Arc<OnceLock<Found>>,
    expects: Expectation,
}

/// An image, and what it turned out to be once it was opened.
type Known = (Arc<Image>, Arc<OnceLock<Found>>);

#[derive(Clone, Copy)]
enum Edge {
    Began(usize),
    Ended(usize),
}

/// Beginnings and ends of calls in their order.
fn edges(records: &[Record]) -> Vec<(usize, Edge)> {
    let mut edges: Vec<(usize, u8, Edge)> = Vec::with_capacity(records.len() * 2);
    for (index, record) in records.iter().enumerate() {
        edges.push((record.began, 0, Edge::Began(index)));
        if let Some(ended) = record.ended {
            edges.push((ended, 1, Edge::Ended(index)));
        }
    }
    edges.sort_by_key(|(line, phase, _)| (*line, *phase));
    edges
        .into_iter()
        .map(|(line, _, edge)| (line, edge))
        .collect()
}

/// Puts an edge on the disk; whether it is a moment worth a look.
fn put(
    disk: &mut Disk,
    syncs: &mut BTreeMap<usize, Sync>,
    edge: Edge,
    records: &[Record],
    root: &Path,
) -> bool {
    let here = |path: &Path| path.starts_with(root);
    match edge {
        Edge::Began(index) => match &records[index].call {
            Call::Write { path, at, data } if here(path) => {
                disk.write(path, *at, data);
                false
            }
            Call::Resize { path, length } => {
                disk.resize(path, *length);
                true
            }
            Call::Grow { path, length } => {
                disk.grow(path, *length);
                false
            }
            Call::Sync { path } => {
                if let Some(sync) = disk.begin_sync(path) {
                    syncs.insert(index, sync);
                }
                true
            }
            _ => false,
        },
        Edge::Ended(index) => match &records[index].call {
            Call::Open {
                path,
                create,
                empty,
            } if here(path) => {
                disk.open(path, *create, *empty);
                false
            }
            Call::Sync { .. } => {
                if let Some(sync) = syncs.remove(&index) {
                    disk.end_sync(sync);
                }
                true
            }
            Call::SyncAll => {
                disk.sync_all();
                true
            }
            Call::Rename { from, to } => {
                disk.rename(from, to);
                true
            }
            Call::Link { from, to } => {
                disk.link(from, to);
                true
            }
            Call::Unlink { path } | Call::RemoveDirectory { path } => {
                disk.unlink(path);
                true
            }
            Call::MakeDirectory { path } => {
                disk.make_directory(path);
                true
            }
            _ => false,
        },
    }
}

fn judge(
    jobs: &Mutex<Receiver<Job>>,
    below: &Path,
    wrong: &Mutex<Vec<(usize, String)>>,
    one_is_enough: bool,
) {
    let mut examiner = Examiner::new(below.to_owned());
    loop {
        let job = jobs.lock().unwrap().recv();
        let Ok(job) = job else { return };
        if one_is_enough && !wrong.lock().unwrap().is_empty() {
            continue;
        }
        // A second start tells little that is new: of some images only.
        let twice = job.number % 3 == 0;
        let found = job
            .found
            .get_or_init(|| examiner.examine(&job.image, twice));
        let mut violations = found.wrong.clone();
        violations.extend((job.expects)(found));
        if !violations.is_empty() {
            let text = format!(
                "image {} ({}): {}",
                job.number,
                job.what,
                violations.join("; ")
            );
            wrong.lock().unwrap().push((job.number, text));
        }
    }
}

/// Takes power away at many moments of a trace.
pub fn replay(
    records: &[Record],
    root: &Path,
    below: &Path,
    witness: &mut dyn Witness,
    plan: Plan,
) -> Outcome {
    let edges = edges(records);
    let looks = records.len() as u64 * 2;
    let mut outcome = Outcome {
        calls: records.len(),
        ..Outcome::default()
    };
    let wrong = Mutex::new(Vec::new());
    let (send, receive) = sync_channel::<Job>(8);
    let receive = Mutex::new(receive);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| judge(&receive, below, &wrong, plan.one_is_enough));
        }
        let mut disk = Disk::new(root);
        let mut syncs = BTreeMap::new();
        let mut random = Random::new(plan.seed);
        let mut last: Vec<Option<Known>> = vec![None; KINDS.len()];
        let kinds = KINDS.len() as u64;
        // A share of what is left to do, so that the whole trace is covered.
        let mut left = plan.images;
        for (done, (line, edge)) in edges.iter().enumerate() {
            let promised = match edge {
                Edge::Began(index) => witness.began(&records[*index].call),
                Edge::Ended(_) => false,
            };
            let turning = put(&mut disk, &mut syncs, *edge, records, root);
            let moments_left = looks.saturating_sub(done as u64).max(1);
            let lucky = random.below(moments_left) < left / kinds + 1;
            if !promised && !turning && !lucky {
                continue;
            }
            let mut looked = false;
            let expects = witness.expects();
            for (index, (names, data)) in KINDS.iter().enumerate() {
                let plain = *data == Data::Nothing && promised;
                let seed = random.next();
                if !plain && (left == 0 || random.below(moments_left * 2) >= left) {
                    continue;
                }
                let image = Arc::new(Image::of(&disk, *names, *data, seed));
                let known = last
                    .iter()
                    .flatten()
                    .find(|(before, _)| before.0 == image.0);
                let found = match known {
                    Some((_, found)) => Arc::clone(found),
                    None => {
                        if !plain {
                            left -= 1;
                        }
                        outcome.opened += 1;
                        Arc::default()
                    }
                };
                last[index] = Some((Arc::clone(&image), Arc::clone(&found)));
                outcome.images += 1;
                looked = true;
                let what = describe(plan.seed, *line, *names, *data, seed);
                let job = Job {
                    number: outcome.images,
                    what,
                    image,
                    found,
                    expects: Arc::clone(&expects),
                };
                send.send(job).unwrap();
            }
            outcome.points += usize::from(looked);
        }
        drop(send);
    });
    outcome.violations = wrong.into_inner().unwrap();
    outcome.violations.sort();
    outcome
}

fn describe(seed: u64, line: usize, names: Names, data: Data, image: u64) -> String {
    format!(
        "seed {seed:#x}, line {line} of the trace, names {names:?}, data {data:?}, image seed {image:#x}"
    )
}

impl Outcome {
    /// Panics with the first violations, if there are any, and says where the trace is.
    pub fn assert_sound(&self, recorded: Recorded) {
        if self.violations.is_empty() {
            return;
        }
        let first: Vec<&str> = self
            .violations
            .iter()
            .take(6)
            .map(|(_, what)| what.as_str())
            .collect();
        panic!(
            "{} of {} images are wrong; the trace is in {}\n{}",
            self.violations.len(),
            self.images,
            recorded.keep().display(),
            first.join("\n")
        );
    }
}
