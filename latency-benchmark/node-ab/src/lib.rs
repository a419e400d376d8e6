//! Compares work budgets in a live application: records its polls, lets budgets take turns, and writes a run that
//! `analysis report` reads. [OPERATORS.md](../OPERATORS.md) goes through it step by step.
//!
//! ```
//! use std::time::Duration;
//! use node_ab::NodeAb;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let ab = NodeAb::from_env()?; // Off, unless NODE_AB says for how long, such as 60s.
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! runtime.block_on(async {
//!     let running = ab.budgets(["none", "muxer=1/deferred"]).write_to("ab-run").start()?;
//!     ab.count_request(Duration::from_millis(3)); // If requests are to be compared, too.
//!     ab.count_bytes(65_536); // If the application knows better than yamux how many bytes it moves.
//!     // The application.
//!     running.finish()?; // Puts `none` in force. So does the drop of `running`.
//! #   Ok(())
//! })
//! # }
//! ```
//!
//! While it is off, a poll of a site costs one load and a branch. It opens no socket and reads no configuration but
//! `NODE_AB` and `NODE_AB_CONTROL`.

#[cfg(feature = "prometheus-client")]
mod collector;
mod guard;
mod length;
mod live;
mod recording;
mod setup;
pub mod slices;
mod turns;

use std::env::{self, VarError};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use poll_probe::{Capacity, Recorder, count_muxer_bytes, locked};
use program::number::TIME;
use run_format::Site;

use crate::slices::{Answered, LogReader, RequestLog};

pub use self::live::LiveFigures;
pub use self::setup::{Running, Setup};
pub use poll_probe::{Probe, iterate};
pub use run_format::ApplicationOutcome;

/// The site for tasks that the program instruments itself: `Probe::new(TASK).instrument(future)`.
pub const TASK: poll_probe::SiteId = poll_probe::SiteId::new(Site::Task as u8);

/// The capacity of each thread's buffer. Five threads take 16 MiB with everything else. At 50 drains a second, a thread can do
/// 1.6 million polls a second.
const CAPACITY: Capacity = Capacity {
    records: 1 << 15,
    marks: 1,
};

/// The one comparison of the process, which all handles share. The buffers of threads belong to its recorder until the threads
/// end.
static PROCESS: OnceLock<Arc<Process>> = OnceLock::new();

struct Process {
    recorder: Arc<Recorder>,
    requests: Mutex<RequestLog>,
    /// The recording thread has it while budgets take turns.
    answered: Mutex<Option<LogReader<Answered>>>,
    /// The bytes that the application has counted itself.
    bytes: AtomicU64,
    figures: LiveFigures,
}

/// A handle of the comparison, which is switched on or off when the process starts.
#[derive(Clone)]
pub struct NodeAb {
    on: Option<SwitchedOn>,
}

#[derive(Clone)]
struct SwitchedOn {
    process: Arc<Process>,
    /// The time for which variants are compared.
    time: Duration,
}

impl NodeAb {
    /// Reads the environment variable `NODE_AB`, which says for how long to compare, such as `60s` or `2h`. If it is absent,
    /// empty or `off`, nothing is compared.
    pub fn from_env() -> Result<NodeAb, Error> {
        let refused = |text: String| Error(format!("NODE_AB: {text} (accepted: 60s, 10min, off)"));
        match env::var("NODE_AB") {
            Err(VarError::NotPresent) => Ok(NodeAb { on: None }),
            Err(error) => Err(refused(error.to_string())),
            Ok(text) if matches!(text.trim(), "" | "off") => Ok(NodeAb { on: None }),
            Ok(text) => {
                let ns = TIME.read_whole(&text).map_err(refused)?;
                Ok(NodeAb::on_for(Duration::from_nanos(ns)))
            }
        }
    }

    /// Compares for that time, counted from [`Setup::start`].
    pub fn on_for(time: Duration) -> NodeAb {
        let process = PROCESS.get_or_init(|| {
            const REQUESTS: usize = 1 << 14;
            let recorder = Arc::new(Recorder::new(CAPACITY));
            recorder.attach_all();
            let (requests, answered) = RequestLog::new(recorder.clock(), REQUESTS);
            Arc::new(Process {
                recorder,
                requests: Mutex::new(requests),
                answered: Mutex::new(Some(answered)),
                bytes: AtomicU64::new(0),
                figures: LiveFigures::default(),
            })
        });
        let process = Arc::clone(process);
        NodeAb {
            on: Some(SwitchedOn { process, time }),
        }
    }

    /// Whether anything is compared.
    pub fn is_on(&self) -> bool {
        self.on.is_some()
    }

    /// The budgets to compare with `none`, as `SITE=LIMIT[/WAKE]`, such as `muxer=1/deferred`.
    pub fn budgets(&self, budgets: impl IntoIterator<Item = impl Into<String>>) -> Setup {
        Setup::new(
            self.on.clone(),
            budgets.into_iter().map(Into::into).collect(),
        )
    }

    /// Live figures of all comparisons of the process, for `Registry::register_collector`. Without `NODE_AB` there are none.
    pub fn figures(&self) -> LiveFigures {
        let on = self.on.as_ref();
        on.map(|on| on.process.figures.clone()).unwrap_or_default()
    }

    /// Counts a request that has just been answered. If `NODE_AB` is off, this is a branch, else it takes a lock.
    pub fn count_request(&self, latency: Duration) {
        if let Some(SwitchedOn { process, .. }) = &self.on {
            let mut requests = locked(&process.requests);
            let sent_ns = requests.ns_ago(latency);
            requests.answered(0, sent_ns, 0);
        }
    }

    /// Counts bytes that the application has just moved, such as a file that it sent. From the first call on, the bytes that
    /// yamux moves are not counted any more. If `NODE_AB` is off, this is a branch, else it adds to one number of the process.
    pub fn count_bytes(&self, bytes: u64) {
        if let Some(SwitchedOn { process, .. }) = &self.on {
            let before = process.bytes.fetch_add(bytes, Ordering::Relaxed);
            if before == 0 {
                count_muxer_bytes(false);
            }
        }
    }
}

/// An error, as one line.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Error {
        Error(format!("{error:#}"))
    }
}
