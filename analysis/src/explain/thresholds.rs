//! From where on something counts as needless work. One place, so that they can be argued with.

/// In percent of the time in slow polls. A poll is not to wait at all; but a lock that was held for a moment
/// is no finding.
pub(crate) const SLEEPING_PERCENT: f64 = 5.0;

/// Fewer slow polls are an accident.
pub(crate) const FEWEST_SLOW_POLLS: u64 = 20;

/// Calls that wait, in slow polls. A thread that lost its core while it was about to wake another seems to
/// have waited for long, but not often.
pub(crate) const FEWEST_WAITS: u64 = 20;

/// By poll of a child. A frame of yamux and its way through the protocols takes tens.
pub(crate) const OBJECTS_PER_POLL: f64 = 1_000.0;

/// Fewer polls of a child have no average to go by.
pub(crate) const FEWEST_POLLS: u64 = 20;

/// In percent of polls of a task. Tasks do wake themselves, and with reason: a channel is filled by who
/// empties it, a request is sent by who sees the answer to the one before. In runs of request and
/// response up to two of three polls of a connection's task are so, and up to half of central's.
pub(crate) const SELF_WAKING_PERCENT: f64 = 50.0;

/// In percent of the polls of the site that the task polls. So many find nothing ready where tasks wake
/// themselves for nothing; in runs without fault up to 36 % of a connection's do, and 33 % of the swarm's.
pub(crate) const SELF_WAKING_IDLE_PERCENT: f64 = 60.0;

/// In percent of polls. Any wake for one child has all of them polled, and one for a socket may come before all
/// of a frame is there: in a sweep's cells three or four of five polls of a connection have one iteration only,
/// as all idle ones do, though not all of those are idle.
pub(crate) const IDLE_CONNECTION_PERCENT: f64 = 95.0;

/// In percent of polls. With one peer, one of three polls of the swarm has one iteration only and ends pending.
pub(crate) const IDLE_SWARM_PERCENT: f64 = 60.0;

/// By second: polls for nothing that come seldom cost nothing.
pub(crate) const IDLE_PER_S: f64 = 100.0;

/// By second. All connections are made before the first slice.
pub(crate) const DIALS_PER_S: f64 = 0.1;

/// Slices are short, so that a single dial would be many by second.
pub(crate) const FEWEST_DIALS: u64 = 3;

/// Connections by peer.
pub(crate) const CONNECTIONS_PER_PEER: f64 = 1.0;

/// How often a trend may be chance; there are three of them in every cell.
pub(crate) const TREND_P: f64 = 0.001;

/// In percent, from the first slice to the last. Connections and tasks come and go by ones.
pub(crate) const GROWTH_PERCENT: f64 = 10.0;

/// In percent: an allocator takes from the kernel for a while what it gives back later or never, and central's
/// own records grow, too.
pub(crate) const MEMORY_GROWTH_PERCENT: f64 = 25.0;

/// Growth of less than this is of no consequence, whatever it is in percent.
pub(crate) const MEMORY_GROWTH_BYTES: f64 = 16.0 * 1024.0 * 1024.0;

/// In percentage points: by how much the flamegraph's shares and those of the table of children may differ.
pub(crate) const AGREEMENT_PP: f64 = 10.0;

/// In percent of all that was to be seen: with more lost, the rest may not stand for it.
pub(crate) const LOST_PERCENT: f64 = 1.0;
