//! Helpers that several tests of the probe use.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use poll_probe::{
    Capacity, ChildPoll, Invocation, IterationEnd, Mode, Outcome, ProcessBudgets, Reading, Record,
    Recorder, SiteId, ThreadClock, Variant, VariantId,
};

/// The variant in force applies to the whole process, so these tests take turns.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) const CONNECTION: SiteId = SiteId::new(0);
pub(crate) const SWARM: SiteId = SiteId::new(1);
pub(crate) const MUXER: SiteId = SiteId::new(2);
pub(crate) const TASK: SiteId = SiteId::new(3);

/// `none`, or `SITE=BUDGET` joined by commas.
pub(crate) fn budgets(text: &str) -> ProcessBudgets {
    let parts = text.split(',').filter_map(|part| part.split_once('='));
    parts.fold(ProcessBudgets::NONE, |budgets, (site, budget)| {
        let site = match site {
            "connection" => CONNECTION,
            "muxer" => MUXER,
            "task" => TASK,
            other => panic!("no site {other}"),
        };
        budgets.with(site, budget.parse().unwrap())
    })
}

pub(crate) fn install(text: &str, mode: Mode) -> VariantId {
    Variant {
        budgets: budgets(text),
        mode,
    }
    .install()
}

pub(crate) fn attached(capacity: Capacity) -> Recorder {
    let recorder = Recorder::new(capacity);
    recorder.attach();
    recorder
}

/// A recorder of this thread. As long as it is there, the tests of the process take turns.
pub(crate) struct Probed {
    recorder: Recorder,
    _alone: MutexGuard<'static, ()>,
}

impl Deref for Probed {
    type Target = Recorder;

    fn deref(&self) -> &Recorder {
        &self.recorder
    }
}

impl Probed {
    /// Attaches the recorder and installs the variant.
    pub(crate) fn new(recorder: Recorder, budgets: &str, mode: Mode) -> Probed {
        let _alone = alone();
        recorder.attach();
        install(budgets, mode);
        Probed { recorder, _alone }
    }
}

pub(crate) fn recording(budgets: &str, mode: Mode) -> Probed {
    Probed::new(Recorder::new(SMALL), budgets, mode)
}

/// Records under no budget into buffers of these sizes.
pub(crate) fn recording_into(records: usize, marks: usize, mode: Mode) -> Probed {
    Probed::new(Recorder::new(Capacity { records, marks }), "none", mode)
}

pub(crate) const SMALL: Capacity = Capacity {
    records: 64,
    marks: 512,
};

/// A record that can be kept.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) site: SiteId,
    pub(crate) variant: VariantId,
    pub(crate) start_ns: u64,
    pub(crate) duration_ns: u64,
    pub(crate) iterations: u32,
    pub(crate) longest_iteration_ns: u64,
    pub(crate) outcome: Outcome,
    pub(crate) thread: usize,
    pub(crate) polls: Vec<ChildPoll>,
    pub(crate) iteration_ends: Vec<IterationEnd>,
    pub(crate) entries_lost: u16,
    pub(crate) readings: Vec<Reading>,
    pub(crate) readings_lost: u32,
}

impl Kept {
    /// Every poll of a child, with its iteration.
    pub(crate) fn children(&self) -> Vec<(&'static str, u32)> {
        let poll = |poll: &ChildPoll| (poll.child, poll.iteration);
        self.polls.iter().map(poll).collect()
    }

    /// How long the polls of children ran in one iteration.
    pub(crate) fn children_ns(&self, iteration: u32) -> u64 {
        let polls = self.polls.iter();
        let own = polls.filter(|poll| poll.iteration == iteration);
        own.map(ChildPoll::own_ns).sum()
    }
}

pub(crate) fn drain(recorder: &Recorder) -> Vec<Kept> {
    let mut kept = Vec::new();
    recorder.drain(|record: &Record<'_>| {
        kept.push(Kept {
            site: record.site,
            variant: record.variant,
            start_ns: record.start_ns,
            duration_ns: record.duration_ns,
            iterations: record.iterations.expect("the loops are marked"),
            longest_iteration_ns: record.longest_iteration_ns.expect("the loops are marked"),
            outcome: record.outcome,
            thread: record.thread,
            polls: record.children.to_vec(),
            iteration_ends: record.iteration_ends.to_vec(),
            entries_lost: record.entries_lost,
            readings: record.readings.to_vec(),
            readings_lost: record.readings_lost,
        });
    });
    kept
}

pub(crate) fn only(mut kept: Vec<Kept>) -> Kept {
    assert_eq!(kept.len(), 1, "{kept:?}");
    kept.remove(0)
}

#[derive(Default)]
pub(crate) struct CountingWaker(pub(crate) AtomicUsize);

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

/// An invocation in its first iteration.
pub(crate) fn entered(site: SiteId, children: &'static [&'static str]) -> Invocation {
    let mut invocation = Invocation::enter(site, children);
    assert!(invocation.iterate(&mut context()).is_ready());
    invocation
}

/// A poll function that wants to iterate `wanted` times.
pub(crate) fn poll_site(site: SiteId, wanted: u32, cx: &mut Context<'_>) -> Poll<u32> {
    let mut probe = Invocation::enter(site, &["first", "second"]);
    let mut done = 0;
    loop {
        if probe.iterate(cx).is_pending() {
            return Poll::Pending;
        }
        probe.child(0);
        done += 1;
        probe.child(1);
        if done < wanted {
            probe.child_ended();
            continue;
        }
        probe.child_ended();
        return Poll::Ready(done);
    }
}

/// Runs until the thread itself has run for this long.
pub(crate) fn spin(time: Duration) {
    let clock = ThreadClock::for_this_thread().expect("Linux has one");
    let ran = || Duration::from_nanos(clock.ran_ns().expect("the thread is alive"));
    let start = ran();
    while ran() - start < time {
        std::hint::spin_loop();
    }
}
