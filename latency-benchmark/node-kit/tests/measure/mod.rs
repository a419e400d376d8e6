//! Runs the measuring loop with a clock whose sleeps take no time. During a sleep, the sleeping thread does polls, which the
//! recorder sees in their order.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use node_ab::slices::{Observers, RequestLog, SharedWithWorkload, order};
use poll_probe::{Capacity, Invocation, Recorder};
use rand::SeedableRng;
use rand::rngs::StdRng;
use run_format::plan::block::to_compare;
use run_format::{CentralTask, Measured, NamedSite, OtherProcesses, Site, Stop};
use serde_json::json;
use tokio::runtime;
use tokio_metrics::TaskMonitor;

use super::process_schedule::ProcessSchedule;
use super::{Clock, measure_by};
use crate::observe::activity::Activity;
use crate::observe::process::this_thread;
use crate::observed_central::ObservedCentral;

const SETTLE_MS: u64 = 10;
const TURN_MS: u64 = 40;
const WARM_UP_MS: u64 = 50;
const SEED: u64 = 7;
/// Two variants have two turns each in a block, and the baseline with its children has two more in the first.
const TURNS: [usize; 2] = [6, 4];

/// A clock that does polls. In a turn, `Connection::poll` is polled once, and a task begins a poll that ends in the next turn.
/// While a turn settles, the muxer is polled.
struct Script {
    now: Instant,
    shared: Arc<SharedWithWorkload>,
    late: Option<Invocation>,
    /// The variant of each turn.
    turns: Arc<Mutex<Vec<usize>>>,
    /// After so many turns the parent asks to stop, and no turn follows.
    last: usize,
    parent: Sender<&'static str>,
}

impl Clock for Script {
    fn now(&self) -> Instant {
        self.now
    }

    fn sleep(&mut self, time: Duration) {
        self.now += time;
        let mut turns = self.turns.lock().expect("no other thread has it");
        match time.as_millis() as u64 {
            TURN_MS => {
                self.late = None;
                drop(Invocation::enter(Site::Connection.into(), &[]));
                self.late = Some(Invocation::enter(Site::Task.into(), &[]));
                turns.push(self.shared.variant());
                if turns.len() == self.last {
                    self.parent.send("stop").expect("it is measured");
                }
            }
            SETTLE_MS => {
                drop(Invocation::enter(Site::Muxer.into(), &[]));
                if turns.len() == self.last {
                    self.late = None;
                }
            }
            other => assert_eq!(other, WARM_UP_MS),
        }
    }
}

/// The variant in force belongs to the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Measures until a block after the second would exceed the time, or until that many turns are over. Returns the variant of
/// each turn as well.
fn measured(dir: &Path, last: usize) -> (Measured, Vec<usize>) {
    let config = json!({
        "cell": {"peers": 1, "rtt_ms": 0.0, "payload_bytes": 4096},
        "run": 1,
        // A subject is measured as long as planned.
        "subject": 0,
        "beside": 0,
        "seed": SEED,
        "node": {"workload": "gossipsub", "security": "noise", "transport": "tcp"},
        "load": {"payload": 4096, "pace": {"outstanding": 2}},
        "runtime": {"scheduler": "multi-thread", "workers": 1, "event_interval": null, "global_queue_interval": null},
        "variants": [
            {"label": "none", "role": "baseline", "budgets": "none"},
            {"label": "connection=1", "role": "candidate", "budgets": "connection=1"},
        ],
        "plan": {
            "warm_up_ms": WARM_UP_MS,
            "settle_ms": SETTLE_MS,
            "turn_ms": TURN_MS,
            "turns": 2,
            "max_ms": 550,
            "precision": {"beyond_ms_per_s": 0.1, "percent_of_value": 0.1},
        },
        "lab": {
            "backend": "auto", "loss_percent": null, "jitter_ms": null, "congestion_control": "cubic",
            "receive_on": "sender", "placement": {"central": 0, "peers": "1", "sharing": "nothing"},
        },
        "measurement": "compare",
    });
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .expect("a runtime");
    let recorder = Arc::new(Recorder::new(Capacity::default()));
    recorder.attach();
    let (log, requests) = RequestLog::new(recorder.clock(), 1);
    let named = |site| NamedSite {
        site,
        function: String::new(),
        symbol: String::new(),
    };
    let central = ObservedCentral {
        task: CentralTask {
            config: serde_json::from_value(config).expect("a config"),
            dir: dir.to_owned(),
            peers: Vec::new(),
            others: OtherProcesses::default(),
            page: None,
        },
        observers: Observers {
            recorder,
            requests,
            cotenants: Vec::new(),
        },
        activity: Activity {
            connections: Arc::default(),
            self_wakes: None,
            runtime: runtime.handle().clone(),
        },
        instruments: None,
        tasks: TaskMonitor::new(),
        workers: vec![this_thread()],
        sites: [Site::Connection, Site::Muxer, Site::Task]
            .map(named)
            .to_vec(),
        shared: log.shared(),
        page: None,
        path_switch: None,
    };
    let turns = Arc::default();
    let (parent, lines) = channel();
    let script = Script {
        now: Instant::now(),
        shared: log.shared(),
        late: None,
        turns: Arc::clone(&turns),
        last,
        parent,
    };
    let measured =
        measure_by(script, central, ProcessSchedule::new(lines, false)).expect("nothing fails");
    (
        measured,
        turns.lock().expect("no other thread has it").clone(),
    )
}

/// The rows of a table, by the names of its columns.
fn table(dir: &Path, name: &str) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(dir.join(name)).expect("a table");
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().expect("a head").collect();
    lines
        .map(|row| names.iter().cloned().zip(row).collect())
        .collect()
}

/// The polls of a site in each slice, by the slice's number.
fn polls(dir: &Path, site: &str) -> Vec<String> {
    let rows = table(dir, "sites.csv")
        .into_iter()
        .filter(|row| row["site"] == site);
    rows.map(|row| row["polls"].clone()).collect()
}

#[test]
fn turns_come_in_the_order_of_their_block_and_settling_belongs_to_none() {
    let (_alone, dir) = (alone(), tempfile::tempdir().expect("a folder"));
    let (measured, turns) = measured(dir.path(), TURNS[0] + TURNS[1]);
    assert_eq!((measured.stop, measured.blocks), (Stop::Cap, 2));
    let mut rng = StdRng::seed_from_u64(SEED);
    let block = |block| {
        let planned = to_compare(block, 2);
        let order = order(&vec![2; planned.len()], &mut rng).into_iter();
        order
            .map(|index| planned[index].variant)
            .collect::<Vec<_>>()
    };
    assert_eq!(turns, [1, 2].map(block).concat());
    let turn_ms = (SETTLE_MS + TURN_MS) * turns.len() as u64;
    assert_eq!(measured.planned_ms, WARM_UP_MS + turn_ms + SETTLE_MS);
    // Each slice is written once, when the polls that its last turn began have ended in the turn after it.
    let slices = table(dir.path(), "slices.csv");
    let numbers: Vec<&str> = slices.iter().map(|row| &*row["slice"]).collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5"]);
    let mut kept: Vec<_> = slices
        .iter()
        .map(|row| (&*row["block"], &*row["pass"], &*row["variant"]))
        .collect();
    kept.sort_unstable();
    let [zero, one] = ["0", "1"];
    let compared = |block| [(block, "compare", zero), (block, "compare", one)];
    assert_eq!(
        kept,
        [
            &[("1", "children", zero)][..],
            &compared("1"),
            &compared("2")
        ]
        .concat()
    );
    assert!(slices.iter().all(|row| row["turns"] == "2"));
    for site in ["connection", "task"] {
        assert_eq!(polls(dir.path(), site), ["2"; 5], "{site}");
    }
    assert!(polls(dir.path(), "muxer").iter().all(|polls| polls == "0"));
}

#[test]
fn a_stop_in_the_middle_of_a_block_keeps_the_slices_that_are_complete() {
    let (_alone, dir) = (alone(), tempfile::tempdir().expect("a folder"));
    // The third turn of the second block completes a slice, and the other one has a turn to come.
    let (measured, turns) = measured(dir.path(), TURNS[0] + 3);
    assert_eq!((measured.stop, measured.blocks), (Stop::Interrupted, 1));
    assert_eq!(turns.len(), TURNS[0] + 3);
    let slices = table(dir.path(), "slices.csv");
    let blocks: Vec<&str> = slices.iter().map(|row| &*row["block"]).collect();
    assert_eq!(blocks, ["1", "1", "1", "2"]);
    assert_eq!(polls(dir.path(), "task"), ["2"; 4]);
    // The machine is observed by whole blocks.
    assert_eq!(table(dir.path(), "blocks.csv").len(), 1);
}
