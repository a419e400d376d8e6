//! The rows of the tables of a run. An empty field is a value that could not be measured.

mod disturbance;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use crate::Cores;
use serde::{Deserialize, Serialize};

pub use self::disturbance::Disturbance;
use crate::plausible::{
    WHAT_THE_TYPE_ALLOWS, between, beyond, from_about, length, part_of, plausible,
};
use crate::{Budgets, SLOW_NS, Site, shown_as_serialised};

/// A name. The writer has it as a constant, and the reader owns it.
pub type Text = Cow<'static, str>;

/// The kind of a slice, which says what is recorded in it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Pass {
    /// To compare variants; children are not recorded.
    #[default]
    Compare,
    /// To see where the time goes; every child is recorded, which costs time.
    Children,
    // The passes below are for explaining a cell. Each records one kind of evidence.
    /// The worker's stack is sampled.
    Stacks,
    /// Allocations are counted.
    Allocations,
    /// The worker's performance counters are read.
    Counters,
    /// System calls are seen, with their time.
    SystemCalls,
    /// The slowest polls are kept whole.
    Timeline,
    /// Wake-ups, connections and tasks are counted.
    Activity,
    /// Like `compare`, among slices that collect evidence.
    Normal,
    /// Only results of earlier versions have this pass. It is like `normal`, but central's core was never idle.
    Warm,
}

shown_as_serialised!(Pass);

/// A row of `slices.csv`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SliceRow {
    /// Number from 1, in the order in which slices ended.
    pub slice: u32,
    /// `compare`, or `children`: every poll of a child is recorded, which takes time. The baseline has one slice of the
    /// pass `children` in blocks 1, 3, 5, 7, 9, 13, 17, …, at a random place among the others. `explain` has other
    /// [passes](EXPLAIN.md#passes).
    pub pass: Pass,
    /// Number of the block, from 1.
    pub block: u32,
    /// Index of the variant.
    pub variant: usize,
    /// Start of its first turn.
    pub start_ms: f64,
    /// Length of its turns.
    pub duration_ms: f64,
    /// Time between the readings before and after each turn of the columns from `central_cpu_ns` on. Divide those
    /// columns by this.
    pub sampled_ms: f64,
    /// Number of turns. A budget that ended no poll in its first two slices has one turn in each later slice, until it ends
    /// one.
    pub turns: u32,
    /// Requests answered. Empty if an application counts none.
    pub requests: Option<u64>,
    /// Those of `requests` that were sent before their turn started, perhaps under another variant.
    pub requests_begun_before: Option<u64>,
    /// Payload of `requests`: in both directions for `request-response`, `rr`, `idle`, `duplex` and `handshakes`, else
    /// in one. In an application, the bytes that it counted between the readings of `sampled_ms`,
    /// or, if it counts none, those that streams of yamux sent and received. Empty until there are some.
    pub bytes: Option<u64>,
    /// Requests and co-tenant delays that were not recorded because a buffer was full.
    pub lost_entries: u64,
    /// CPU time of central's workers, the threads that run its runtime.
    pub central_cpu_ns: Option<u64>,
    /// Time in which a worker was ready to run but waited for its core.
    pub central_runqueue_ns: Option<u64>,
    /// CPU time of threads that libraries start in central's process, mostly for timers. They do not run on central's core.
    pub helpers_cpu_ns: Option<u64>,
    /// CPU time of the threads that measure, also off central's core.
    pub observers_cpu_ns: Option<u64>,
    /// Polls of central's connection tasks, counted by `tokio_metrics::TaskMonitor`.
    pub monitor_task_polls: Option<u64>,
    /// Duration of these polls.
    pub monitor_task_ns: Option<u64>,
    /// Those of these polls that exceed the monitor's threshold of 50 µs.
    pub monitor_slow_task_polls: Option<u64>,
    /// Time that connection tasks waited between being woken and being polled.
    pub monitor_scheduled_ns: Option<u64>,
    /// Busy time of central's runtime, by `tokio_metrics`.
    pub runtime_busy_ns: u64,
    /// How often the runtime's workers went to sleep.
    pub runtime_parks: u64,
    /// Instructions of central's workers in user mode; empty where the processor's counters cannot be read.
    pub central_instructions: Option<u64>,
    /// Cycles of central's workers in user mode; empty where the processor's counters cannot be read.
    pub central_cycles: Option<u64>,
    /// CPU time of all peers together; empty if they are on other hosts.
    pub peers_cpu_ns: Option<u64>,
    /// Polls of peers that a budget ended; empty if peers are on other hosts.
    pub peers_yielded: Option<u64>,
    /// The round trip that yamux estimates, at the end of a turn, the mean over connections. Divide this column and the next
    /// ones by `turns`: their values at the end of each turn are added up. They are there with workloads whose streams live
    /// long: `stream`, `rr`, `burst`, `duplex` and profiles.
    pub yamux_rtt_ns: Option<u64>,
    /// The sum of the receive windows of all streams beyond the 256 KiB that each begins with.
    pub yamux_grown_bytes: Option<u64>,
    /// Bytes that central may send on all streams together before peers grant more.
    pub yamux_credit_bytes: Option<u64>,
    /// Bytes that central has received and the workload has not read.
    pub yamux_unread_bytes: Option<u64>,
}

plausible! { SliceRow, |span|;
    slice pass block variant: WHAT_THE_TYPE_ALLOWS;
    start_ms: span.launch_ms();
    duration_ms: length(span.launch_ms());
    sampled_ms: from_about(duration_ms, span.launch_ms());
    turns: 1.0..=f64::from(u32::MAX);
    requests lost_entries monitor_task_polls runtime_parks: span.events();
    requests_begun_before: part_of(requests);
    bytes: span.bytes();
    central_cpu_ns: span.ns();
    // The kernel adds a wait when it ends, and tokio a busy stretch. Both may have begun in other slices.
    central_runqueue_ns monitor_task_ns runtime_busy_ns: span.launch_ns_of_threads();
    helpers_cpu_ns observers_cpu_ns monitor_scheduled_ns peers_cpu_ns: span.ns_of_all();
    monitor_slow_task_polls: part_of(monitor_task_polls);
    central_instructions central_cycles: span.cycles();
    peers_yielded: span.events_of_all();
    yamux_rtt_ns: span.launch_ns_of_turns();
    yamux_grown_bytes yamux_credit_bytes yamux_unread_bytes: span.buffered();
}

/// A row of `blocks.csv`: readings of the machine, which take too long to be made in every turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockRow {
    /// Number of the block, as in `slices.csv`.
    pub block: u32,
    /// Length of the block. If programs take turns, it includes the turns of the others.
    pub duration_ms: f64,
    /// Time that the hypervisor took from this machine, over all cores, in steps of usually 10 ms.
    pub steal_ms: Option<f64>,
    /// The part of this time that central's core lost.
    pub central_core_steal_ms: Option<f64>,
    /// Time in which a worker of central was ready to run but waited for its core.
    pub central_runqueue_ns: Option<u64>,
    /// Context switches of central's workers.
    pub central_voluntary_switches: Option<u64>,
    pub central_involuntary_switches: Option<u64>,
    /// CPU time of central's workers, in steps of usually 10 ms.
    pub central_user_ms: Option<f64>,
    pub central_system_ms: Option<f64>,
    /// CPU time of all peers together, in the same steps.
    pub peers_user_ms: Option<f64>,
    pub peers_system_ms: Option<f64>,
    /// CPU time of the delay line; empty without one.
    pub delay_line_user_ms: Option<f64>,
    pub delay_line_system_ms: Option<f64>,
    /// CPU time of all processes that do not belong to the cell, in steps of 10 ms. In a sweep with jobs, only on the cores of
    /// the cell. Empty where programs take turns.
    pub other_cpu_ms: Option<f64>,
    /// TCP segments sent again, in central's namespace and in those of the peers.
    pub central_tcp_retransmits: Option<u64>,
    pub peers_tcp_retransmits: Option<u64>,
    /// Packets for which the delay line had no room; empty without a delay line. `run.json` has the packets that netem dropped
    /// in the whole run.
    pub central_queue_drops: Option<u64>,
    pub peers_queue_drops: Option<u64>,
    /// The longest time between two wake-ups of the measuring thread, without its planned sleep of up to 50 ms. A
    /// stopped central makes it long.
    pub latest_ms: Option<f64>,
    /// How often a peer or the delay line was found stopped by a signal. They are checked in turn, one every 50 ms or more
    /// often, so a short stop may not be found. Empty if the peers are on other hosts.
    pub stops_found: Option<u64>,
    /// How long the machine was suspended, to 1 ms.
    pub suspended_ms: Option<f64>,
    /// How far the time of day was set forward or back, to 1 ms.
    pub clock_set_ms: Option<f64>,
}

plausible! { BlockRow, |span|;
    block: WHAT_THE_TYPE_ALLOWS;
    duration_ms: length(span.launch_ms());
    central_core_steal_ms central_user_ms central_system_ms: span.ms();
    central_runqueue_ns: span.launch_ns_of_threads();
    central_voluntary_switches central_involuntary_switches stops_found: span.events();
    steal_ms peers_user_ms peers_system_ms delay_line_user_ms delay_line_system_ms other_cpu_ms: span.ms_of_all();
    central_tcp_retransmits peers_tcp_retransmits central_queue_drops peers_queue_drops: span.events_of_all();
    latest_ms: span.launch_ms();
    suspended_ms clock_set_ms: 0.0..=MOST_MS;
}

/// The machine's clock goes from 1970 to 9999.
const MOST_MS: f64 = 2.6e14;

/// The row of `idle.csv`: what central's core does before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleRow {
    /// Length of the idle time.
    pub duration_ms: f64,
    /// CPU time of central's workers in the idle time, which the benchmark itself uses. May be empty, as in `slices.csv`.
    pub central_cpu_ns: Option<u64>,
    /// Wake-ups of the co-tenant that another thread wakes.
    pub wakes: u64,
    /// Median and 90th percentile of its wake-up latency. The median is its *floor*: the report subtracts it from every
    /// wait of the run. Empty without a wake-up.
    pub wake_p50_ns: Option<u64>,
    pub wake_p90_ns: Option<u64>,
}

plausible! { IdleRow, |span|;
    duration_ms: length(span.launch_ms());
    central_cpu_ns: span.ns();
    wakes: span.events();
    wake_p50_ns: part_of(wake_p90_ns);
    wake_p90_ns: span.launch_ns();
}

/// A row of `work.csv`: how long a fixed piece of work took just before a block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkRow {
    /// Number of the block, as in `slices.csv`.
    pub block: u32,
    /// The median time of that work: the longer, the slower the machine was then.
    pub work_ns: u64,
}

plausible! { WorkRow, |span|;
    block: WHAT_THE_TYPE_ALLOWS;
    work_ns: length(span.launch_ns());
}

/// A row of `turns.csv`: polls of the site of connections, by how long after the change of variant they began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnRow {
    /// Number of the slice, as in `slices.csv`.
    pub slice: u32,
    /// Lower end of the range: 0, 2, 5, 10, 20, 50, 100, 200, 500 or 1000.
    pub from_ms: u64,
    /// Polls of the site of connections.
    pub polls: u64,
    /// Those of these polls that exceed 50 µs.
    pub slow_polls: u64,
}

plausible! { TurnRow, |span|;
    slice: WHAT_THE_TYPE_ALLOWS;
    from_ms: 0.0..=1000.0;
    polls: span.events();
    slow_polls: part_of(polls);
}

/// A row of `sites.csv`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteRow {
    /// Number in `slices.csv`.
    pub slice: u32,
    /// `connection`, `swarm`, `muxer`, `task`, `quic-connection`, `quic-endpoint` or `gossip-actor`.
    pub site: Site,
    /// `ready` + `pending` + `yielded`.
    pub polls: u64,
    /// Polls that returned a value.
    pub ready: u64,
    /// Polls that returned pending, but not because of the site's own budget.
    pub pending: u64,
    /// Polls that ended because the site's own budget was spent.
    pub yielded: u64,
    /// Iterations of all these polls. Empty where there is no poll, at the sites of QUIC, which have no loop, and where
    /// the sources of a subject do not let iterations be recorded.
    pub iterations: Option<u64>,
    /// Own time of all these polls.
    pub own_ns: u64,
    /// Time of all these polls by the wall clock. It includes what their threads lost to other threads and to the hypervisor.
    pub wall_ns: u64,
    /// Polls over 50 µs by the wall clock.
    pub wall_slow_polls: u64,
    /// The time of all these polls after their first 50 µs each, by the wall clock.
    pub wall_beyond_ns: u64,
    /// Polls that were not recorded because a buffer was full. `polls` does not count them.
    pub lost: u64,
    /// Polls of children, and ends of iterations, that were not recorded for the same reason.
    pub children_lost: u64,
}

plausible! { SiteRow, |span|;
    slice site: WHAT_THE_TYPE_ALLOWS;
    polls iterations lost children_lost: span.events();
    ready pending yielded wall_slow_polls: part_of(polls);
    own_ns: part_of(wall_ns);
    wall_ns: span.launch_ns_of_threads();
    wall_beyond_ns: beyond(SLOW_NS, polls, wall_ns);
}

/// The lower ends of the bands of `bands.csv` and `children.csv`. A reader can choose any of them as the threshold for a slow
/// poll.
pub const BANDS_FROM_NS: [u64; 10] = [
    0, 10_000, 25_000, 50_000, 75_000, 100_000, 150_000, 200_000, 500_000, 1_000_000,
];

/// The lower end of the band of a duration.
pub fn band_from_ns(duration_ns: u64) -> u64 {
    BANDS_FROM_NS[BANDS_FROM_NS.partition_point(|from| *from <= duration_ns) - 1]
}

/// The limits of the time of some polls of a band together.
fn in_band(from_ns: u64, polls: u64) -> RangeInclusive<f64> {
    let band = BANDS_FROM_NS.iter().position(|from| *from == from_ns);
    let to_ns = band.map_or(Some(0), |band| BANDS_FROM_NS.get(band + 1).copied());
    let polls = polls as f64;
    between(
        from_ns as f64 * polls,
        to_ns.map_or(f64::INFINITY, |to_ns| to_ns as f64 * polls),
    )
}

/// A row of `bands.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BandRow {
    /// The slice and the site, as in `sites.csv`.
    pub slice: u32,
    pub site: Site,
    /// Lower end of the band: 0, 10,000, 25,000, 50,000, 75,000, 100,000, 150,000, 200,000, 500,000 or 1,000,000. It
    /// belongs to the band; the next lower end does not.
    pub from_ns: u64,
    /// Iterations of each of these polls. Empty where iterations cannot be recorded.
    pub iterations: Option<u32>,
    /// Polls of that duration with that many iterations.
    pub polls: u64,
    /// Their duration together.
    pub ns: u64,
}

plausible! { BandRow, |span|;
    slice site iterations: WHAT_THE_TYPE_ALLOWS;
    from_ns: span.launch_ns();
    polls: span.events();
    ns: in_band(*from_ns, *polls);
}

/// A row of `children.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildRow {
    /// The slice and the site, as in `sites.csv`.
    pub slice: u32,
    pub site: Site,
    /// The band of the poll of `site` that contains the child's poll, as in `bands.csv`.
    pub from_ns: u64,
    /// The child's name.
    pub child: Text,
    /// Polls of the child.
    pub polls: u64,
    /// Their duration together.
    pub ns: u64,
    /// The sum of what remains of each poll of the child after its first 50 µs.
    pub beyond_ns: u64,
}

plausible! { ChildRow, |span|;
    slice site child: WHAT_THE_TYPE_ALLOWS;
    from_ns: 0.0..=1e6;
    polls: span.events();
    ns: span.launch_ns_of_threads();
    beyond_ns: beyond(SLOW_NS, polls, ns);
}

/// A row of `bounds.csv`: the recorded iterations of a slice, cut into pieces as a budget would cut them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundRow {
    /// The slice and the site, as in `sites.csv`.
    pub slice: u32,
    pub site: Site,
    /// The budget, such as `muxer=2`. `none` leaves every poll whole, so that its `pieces` are the `polls` of
    /// `sites.csv`.
    pub budget: Budgets,
    /// Number of pieces.
    pub pieces: u64,
    /// Those of the pieces that exceed 50 µs.
    pub slow_pieces: u64,
    /// The longest piece: the longest stretch of the site without a yield.
    pub longest_ns: u64,
    /// The sum of what remains of each piece after its first 50 µs.
    pub beyond_ns: u64,
}

plausible! { BoundRow, |span|;
    slice site budget: WHAT_THE_TYPE_ALLOWS;
    pieces: span.events();
    slow_pieces: part_of(pieces);
    longest_ns: match slow_pieces {
        0 => 0.0..=SLOW_NS as f64,
        _ => SLOW_NS as f64..=*span.launch_ns().end(),
    };
    beyond_ns: between(*slow_pieces as f64, *slow_pieces as f64 * longest_ns.saturating_sub(SLOW_NS) as f64);
}

/// A row of `peers.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerRow {
    /// Number in `slices.csv`.
    pub slice: u32,
    /// Number of the peer, from 1.
    pub peer: usize,
    /// Requests answered by this peer.
    pub requests: u64,
    /// Percentiles of their latency, to two significant digits; empty without requests.
    pub latency_p50_ns: Option<u64>,
    pub latency_p99_ns: Option<u64>,
}

plausible! { PeerRow, |span|;
    slice peer: WHAT_THE_TYPE_ALLOWS;
    requests: span.events();
    latency_p50_ns: part_of(latency_p99_ns);
    latency_p99_ns: span.launch_ns();
}

/// A row of `workers.csv`. Polls are those of the site of connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerRow {
    /// Number in `slices.csv`.
    pub slice: u32,
    /// 0 is the main thread, which has the swarm; the workers count from 1.
    pub worker: usize,
    /// The cores that the kernel lets the thread run on: one for a worker, all of central's for the main thread. Empty
    /// if the kernel does not say.
    pub cores: Option<Cores>,
    /// Polls that ran on the thread.
    pub polls: u64,
    /// Those of these polls that exceed 50 µs.
    pub slow_polls: u64,
    /// The duration of all these polls together.
    pub poll_ns: u64,
    /// CPU time of the thread, as in `slices.csv`.
    pub cpu_ns: Option<u64>,
    /// Time in which the thread was ready to run but waited for its core.
    pub runqueue_ns: Option<u64>,
}

plausible! { WorkerRow, |span|;
    slice worker cores: WHAT_THE_TYPE_ALLOWS;
    polls: span.events();
    slow_polls: part_of(polls);
    poll_ns runqueue_ns: span.launch_ns();
    cpu_ns: span.ns_of_one();
}

/// The limits of a number of datagrams. Each call has at least one, and segmentation offload has a limit.
fn datagrams(calls: u64) -> RangeInclusive<f64> {
    const MOST: f64 = 4096.0;
    between(calls as f64, MOST * calls as f64)
}

/// A row of `quic.csv`, over all connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuicRow {
    /// Number in `slices.csv`.
    pub slice: u32,
    /// The connections' own estimate of the round trip at the end of a turn, the mean over connections and turns. It is
    /// smoothed, so it also depends on the time before the turn. If a connection of noq has several paths, it is that of
    /// the path that has sent most.
    pub rtt_ns: u64,
    /// QUIC packets sent. Once a connection is established, a datagram has one packet.
    pub packets_sent: u64,
    /// Packets declared lost, sent in this turn or an earlier one. With noq, they include probes for a larger MTU.
    pub packets_lost: u64,
    /// How often losses reduced a congestion window.
    pub congestion_events: u64,
    /// ACK frames. One acknowledges any number of packets.
    pub acks_sent: u64,
    pub acks_received: u64,
    /// UDP datagrams.
    pub datagrams_sent: u64,
    pub datagrams_received: u64,
    /// Calls of sockets that sent or received datagrams. A call is one system call, which has several datagrams with
    /// the kernel's segmentation offload (GSO, GRO), and in receiving also without it.
    pub send_calls: u64,
    pub receive_calls: u64,
}

plausible! { QuicRow, |span|;
    slice: WHAT_THE_TYPE_ALLOWS;
    rtt_ns: span.launch_ns();
    packets_sent packets_lost congestion_events acks_sent acks_received send_calls receive_calls: span.events();
    datagrams_sent: datagrams(*send_calls);
    datagrams_received: datagrams(*receive_calls);
}
