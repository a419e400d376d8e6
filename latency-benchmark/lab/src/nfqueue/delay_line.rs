//! The delay line's own process.

use std::{
    io::{self, BufRead, Write},
    os::fd::{AsFd, BorrowedFd},
    path::PathBuf,
    time::Duration,
};

use nix::{
    errno::Errno,
    sched::sched_setaffinity,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags},
        prctl,
        resource::{UsageWho, getrusage},
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
        socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt},
        time::TimeVal,
    },
    time::{ClockId, clock_gettime},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};

use super::{
    packets::{Held, Now, ns},
    queue::{Queue, user_dropped},
};
use crate::{Cores, netns::move_thread_into, sys};

/// The line on standard output that says that all queues are bound.
pub(crate) const READY: &str = "ready";

/// What a delay line is told, as one line of JSON on its standard input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DelayLineConfig {
    pub(crate) delay_ns: u64,
    pub(crate) lead_ns: u64,
    pub(crate) cores: Cores,
    pub(crate) namespaces: Vec<NamedNamespace>,
}

/// A namespace by its path, and a name to report it by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NamedNamespace {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// What a delay line says at its end, as one line of JSON on its standard output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DelayLineReport {
    /// CPU time in user mode.
    pub user_cpu_s: f64,
    /// CPU time in the kernel, which includes the receiver's half of the work that a packet makes
    /// once it is released.
    pub system_cpu_s: f64,
    /// How the process was scheduled.
    pub scheduling: SchedulingClass,
    /// One entry per namespace, central's first.
    pub queues: Vec<QueueReport>,
}

/// How promptly the scheduler runs the delay line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulingClass {
    /// Ahead of all ordinary processes.
    Fifo,
    /// As an ordinary process with short turns.
    ShortSlice,
    /// As any other.
    Ordinary,
}

/// What became of the packets that arrived in one namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueReport {
    /// `central` or `peer 1` and so on.
    pub namespace: String,
    /// Those delayed.
    pub packets: u64,
    /// Messages that released them.
    pub verdicts: u64,
    /// The most that were held at a time.
    pub max_held: usize,
    /// Those that the kernel dropped for want of room.
    pub dropped: Option<u64>,
    /// How often the kernel reported such a loss.
    pub receive_buffer_overflows: u64,
    /// The room for what was not heard of yet, in the kernel's accounting.
    pub receive_buffer_bytes: usize,
    /// How much later than due packets were released, on average. Null without packets.
    pub mean_late_us: Option<f64>,
    /// At most.
    pub max_late_us: f64,
}

/// Why a delay line ended early.
#[derive(Debug, thiserror::Error)]
pub enum DelayLineError {
    /// The first line is not what it should be.
    #[error("the configuration on standard input cannot be read")]
    Config(#[source] io::Error),
    /// A namespace cannot be entered or its queue not bound.
    #[error("the queue of {name} could not be bound")]
    Bind {
        /// The namespace's name.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else.
    #[error("the delay line failed")]
    System(#[from] Errno),
    /// Nobody reads what it says.
    #[error("standard output is closed")]
    Output(#[from] io::Error),
}

/// Delays packets until standard input ends or SIGTERM comes, then reports what it did.
///
/// Reads its configuration from standard input. Has to be called before any thread exists.
pub fn run() -> Result<(), DelayLineError> {
    let config = read_config().map_err(DelayLineError::Config)?;
    sched_setaffinity(Pid::from_raw(0), &config.cores.affinity()?)?;
    let scheduling = hurry()?;
    let held = bind_all(&config)?;
    let end = End::new()?;
    let _stamped = stamp_packets()?;
    say(READY)?;
    let held = delay_until(&end, held)?;
    let report = report(&config, held, scheduling)?;
    say(&serde_json::to_string(&report).map_err(io::Error::other)?)?;
    Ok(())
}

fn read_config() -> io::Result<DelayLineConfig> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// Wakes up when it asked to, not up to 50 µs later, and runs when it wakes up.
fn hurry() -> nix::Result<SchedulingClass> {
    const SLICE: Duration = Duration::from_micros(100);
    prctl::set_timerslack(1)?;
    if sys::schedule_fifo().is_ok() {
        return Ok(SchedulingClass::Fifo);
    }
    Ok(match sys::schedule_short_slice(SLICE) {
        Ok(()) => SchedulingClass::ShortSlice,
        Err(_) => SchedulingClass::Ordinary,
    })
}

fn bind_all(config: &DelayLineConfig) -> Result<Vec<Held>, DelayLineError> {
    let bind = |namespace: &NamedNamespace| {
        move_thread_into(&namespace.path)?;
        let queue = Queue::bind()?;
        let delay = Duration::from_nanos(config.delay_ns);
        let lead = Duration::from_nanos(config.lead_ns);
        Ok(Held::new(namespace.name.clone(), queue, delay, lead))
    };
    let bind_named = |namespace: &NamedNamespace| {
        bind(namespace).map_err(|source| DelayLineError::Bind {
            name: namespace.name.clone(),
            source,
        })
    };
    config.namespaces.iter().map(bind_named).collect()
}

/// While this socket is open, the kernel stamps packets on arrival. So the delay counts from then,
/// however late the delay line hears of a packet.
fn stamp_packets() -> nix::Result<impl AsFd> {
    let socket = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    Ok(socket)
}

/// What tells the delay line to end.
struct End {
    stdin: io::Stdin,
    terminate: SignalFd,
}

impl End {
    fn new() -> nix::Result<End> {
        let terminate = SigSet::from(Signal::SIGTERM);
        terminate.thread_block()?;
        // A key press goes to the whole group; when this ends is for its owner to decide.
        SigSet::from(Signal::SIGINT).thread_block()?;
        Ok(End {
            stdin: io::stdin(),
            terminate: SignalFd::with_flags(&terminate, SfdFlags::SFD_CLOEXEC)?,
        })
    }

    fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.stdin.as_fd(), self.terminate.as_fd()]
    }
}

fn delay_until(end: &End, mut held: Vec<Held>) -> nix::Result<Vec<Held>> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    let queues = held.iter().map(|held| held.queue().as_fd());
    // The index of an event is that of its queue, or beyond them.
    for (index, fd) in queues.chain(end.fds()).enumerate() {
        epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, index as u64))?;
    }
    let mut events = [EpollEvent::empty(); 64];
    loop {
        let wait = release_due(&mut held)?;
        let ready = match sys::epoll_wait(&epoll, &mut events, wait) {
            Err(Errno::EINTR) => continue,
            ready => ready?,
        };
        for event in ready {
            let queue = usize::try_from(event.data()).ok();
            match queue.and_then(|index| held.get_mut(index)) {
                Some(held) => held.arrive(now()?)?,
                None => return Ok(held),
            }
        }
    }
}

/// Releases what is due and returns for how long nothing more will be.
fn release_due(held: &mut [Held]) -> nix::Result<Duration> {
    const IDLE: Duration = Duration::from_secs(1);
    let mut now_ns = monotonic_ns()?;
    for held in &mut *held {
        if held.release(now_ns)? {
            // The kernel delivers the packets before it returns, which takes a while.
            now_ns = monotonic_ns()?;
        }
    }
    let next = held.iter().filter_map(Held::next_release_ns).min();
    Ok(next.map_or(IDLE, |next_ns| {
        Duration::from_nanos(next_ns.saturating_sub(now_ns))
    }))
}

fn now() -> nix::Result<Now> {
    Ok(Now {
        monotonic_ns: monotonic_ns()?,
        wall: clock_gettime(ClockId::CLOCK_REALTIME)?.into(),
    })
}

fn monotonic_ns() -> nix::Result<u64> {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map(|time| ns(time.into()))
}

fn report(
    config: &DelayLineConfig,
    held: Vec<Held>,
    scheduling: SchedulingClass,
) -> Result<DelayLineReport, DelayLineError> {
    let queues = std::iter::zip(&config.namespaces, held).map(|(namespace, held)| {
        // Without the count the report says that it is unknown.
        let entered = move_thread_into(&namespace.path).ok();
        held.report(entered.and_then(|()| user_dropped()))
    });
    let queues = queues.collect::<Result<_, _>>()?;
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    Ok(DelayLineReport {
        user_cpu_s: seconds(usage.user_time()),
        system_cpu_s: seconds(usage.system_time()),
        scheduling,
        queues,
    })
}

fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}
