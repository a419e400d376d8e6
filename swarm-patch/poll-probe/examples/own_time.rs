//! Compares the probe's own time with a reference that reads the thread's clock at both ends of every poll, which takes
//! two system calls a poll. A server on one core answers requests over TCP. Each request costs it between 5 µs and 1 ms of
//! work, in nested sites, and a copy to the socket. With `beside`, a thread that never sleeps has the same core.
//!
//!     cargo run --release -p poll-probe --example own_time -- [beside] [SECONDS]
#![allow(missing_docs)]

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::hint::black_box;
use std::io::{Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use poll_probe::{
    Capacity, Invocation, Mode, Probe, ProcessBudgets, Record, Recorder, SiteId, ThreadClock,
    Variant,
};
use rand::RngExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const TASK: SiteId = SiteId::new(0);
const INNER: SiteId = SiteId::new(1);
const CLIENTS: usize = 4;
const THRESHOLD_NS: u64 = 50_000;
const ANSWER: usize = 16 << 10;

thread_local! {
    /// How long each poll ran, according to the clock read at its ends.
    static REFERENCE_NS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static BALLAST: Cell<u64> = const { Cell::new(0) };
}

fn main() -> Result<()> {
    if cfg!(debug_assertions) {
        eprintln!("warning: not optimised; run with --release");
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let has_neighbour = arguments.iter().any(|argument| argument == "beside");
    let mut seconds = arguments
        .iter()
        .filter_map(|argument| argument.parse().ok());
    let seconds: u64 = seconds.next().unwrap_or(10);
    pin(0)?;
    if has_neighbour {
        thread::spawn(|| {
            loop {
                BALLAST.set(black_box(BALLAST.get() + 1));
            }
        });
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    for _ in 0..CLIENTS {
        thread::spawn(move || ask(address));
    }
    let recorder = Recorder::new(Capacity::default());
    recorder.attach();
    let clock = ThreadClock::for_this_thread().ok_or("this system has no clock of a thread")?;
    let reading_ns = empty_ns(clock);
    let server = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut sums = Sums::default();
    server.block_on(async {
        tokio::spawn(serve(TcpListener::from_std(listener)?, clock));
        let mode = Mode::Minimal;
        Variant {
            budgets: ProcessBudgets::NONE,
            mode,
        }
        .install();
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(50)).await;
            recorder.drain(|record| sums.add(record));
        }
        io::Result::Ok(())
    })?;
    let reference_ms = REFERENCE_NS.with_borrow(|all| {
        let own = all.iter().map(|ns| ns.saturating_sub(reading_ns));
        own.map(beyond_ms).sum::<f64>()
    });
    let polls = REFERENCE_NS.with_borrow(Vec::len);
    println!(
        "{polls} polls by the reference, {} by the probe",
        sums.polls
    );
    println!(
        "time beyond 50 µs by the wall clock: {:9.1} ms",
        sums.wall_ms
    );
    println!(
        "by the probe, without what was lost: {:9.1} ms",
        sums.own_ms
    );
    println!("by the reference:                    {reference_ms:9.1} ms");
    println!(
        "probe over reference: {:+.2} %",
        100.0 * (sums.own_ms / reference_ms - 1.0)
    );
    Ok(())
}

fn pin(core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// How long two readings take.
fn empty_ns(clock: ThreadClock) -> u64 {
    let mut all: Vec<u64> = (0..1001)
        .filter_map(|_| Some(ran_ns_between(clock.ran_ns()?, clock)))
        .collect();
    all.sort_unstable();
    all[all.len() / 2]
}

fn ran_ns_between(before_ns: u64, clock: ThreadClock) -> u64 {
    clock.ran_ns().unwrap_or(before_ns) - before_ns
}

#[derive(Default)]
struct Sums {
    polls: u64,
    wall_ms: f64,
    own_ms: f64,
}

impl Sums {
    fn add(&mut self, record: &Record<'_>) {
        if record.site == TASK {
            self.polls += 1;
            self.wall_ms += beyond_ms(record.duration_ns);
            self.own_ms += beyond_ms(record.own_ns());
        }
    }
}

fn beyond_ms(ns: u64) -> f64 {
    ns.saturating_sub(THRESHOLD_NS) as f64 / 1e6
}

struct Referenced<F> {
    task: Pin<Box<F>>,
    clock: ThreadClock,
}

impl<F: Future> Future for Referenced<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let before_ns = self.clock.ran_ns().unwrap_or(0);
        let polled = self.task.as_mut().poll(cx);
        let ran_ns = ran_ns_between(before_ns, self.clock);
        REFERENCE_NS.with_borrow_mut(|all| all.push(ran_ns));
        polled
    }
}

async fn serve(listener: TcpListener, clock: ThreadClock) {
    while let Ok((stream, _)) = listener.accept().await {
        let task = Box::pin(Probe::new(TASK).instrument(answer(stream)));
        tokio::spawn(Referenced { task, clock });
    }
}

/// Answers questions after work whose length has a uniform logarithm. The lengths of real polls have nearly such a one.
async fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut question = [0; 1];
    let answer = vec![1; ANSWER];
    loop {
        stream.read_exact(&mut question).await?;
        let rounds = (rand::rng().random_range(5f64.ln()..1000f64.ln())).exp();
        {
            let _inner = Invocation::enter(INNER, &[]);
            work(rounds as u64);
        }
        stream.write_all(&answer).await?;
    }
}

/// Works for about a microsecond a round.
fn work(rounds: u64) {
    for round in 0..rounds * 1000 {
        BALLAST.set(black_box(
            BALLAST.get().wrapping_mul(31).wrapping_add(round),
        ));
    }
}

/// Waits for up to a millisecond between an answer and the next question.
fn ask(address: std::net::SocketAddr) -> Option<()> {
    pin(1).ok()?;
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    let mut answer = vec![0; ANSWER];
    loop {
        stream.write_all(&[0]).ok()?;
        stream.read_exact(&mut answer).ok()?;
        thread::sleep(Duration::from_micros(rand::rng().random_range(0..1000)));
    }
}
