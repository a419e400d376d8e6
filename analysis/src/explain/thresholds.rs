//! The thresholds of needless work, in one place so that they can be discussed.

/// The percentage of samples in slow polls that wait. A poll should not wait at all, but a lock that was held for a moment is
/// not a finding.
pub(crate) const SLEEPING_PERCENT: f64 = 5.0;

/// The fewest slow polls for a finding. Fewer can be an accident.
pub(crate) const FEWEST_SLOW_POLLS: u64 = 20;

/// The fewest samples in slow polls that wait. Fewer can be an accident.
pub(crate) const FEWEST_WAITS: u64 = 20;

/// The objects that are allocated per poll of a child. A yamux frame and its way through the protocols need tens of objects.
pub(crate) const OBJECTS_PER_POLL: f64 = 1_000.0;

/// The fewest polls of a child. Fewer give no useful average.
pub(crate) const FEWEST_POLLS: u64 = 20;

/// The percentage of a task's polls in which the task wakes itself. Tasks wake themselves for good reasons: one task fills
/// and empties a channel, or sends the next request when it sees an answer. In request-response runs this is the case for up
/// to two of three polls of a connection's task, and for up to half of the polls of central's task.
pub(crate) const SELF_WAKING_PERCENT: f64 = 50.0;

/// The percentage of idle polls of the site that the task polls. If a task wakes itself without need, at least this many find
/// nothing ready. In runs without defects up to 36 % of a connection's polls and 33 % of the swarm's do.
pub(crate) const SELF_WAKING_IDLE_PERCENT: f64 = 60.0;

/// The percentage of idle polls of a connection. A wake-up for one child makes the connection poll all children, and a socket
/// can wake it before a whole frame has arrived. In the cells of a sweep, three or four of five polls of a connection have
/// one iteration only. All idle polls have one iteration, but not all polls with one iteration are idle.
pub(crate) const IDLE_CONNECTION_PERCENT: f64 = 95.0;

/// The percentage of idle polls of the swarm. With one peer, one of three polls of the swarm has one iteration only and
/// returns pending.
pub(crate) const IDLE_SWARM_PERCENT: f64 = 60.0;

/// The number of idle polls per second. Rare idle polls cost nothing.
pub(crate) const IDLE_PER_S: f64 = 100.0;

/// The number of dials per second. All connections are made before the first slice.
pub(crate) const DIALS_PER_S: f64 = 0.1;

/// The fewest dials for a finding. Slices are short, so a single dial would be many per second.
pub(crate) const FEWEST_DIALS: u64 = 3;

/// The number of connections to a peer that is needed.
pub(crate) const CONNECTIONS_PER_PEER: f64 = 1.0;

/// The confidence that a value grows at all. Every cell has three trends.
pub(crate) const TREND_CONFIDENCE: f64 = 0.999;

/// Growth of connections and tasks in percent, from the first slice to the last. Single ones come and go.
pub(crate) const GROWTH_PERCENT: f64 = 10.0;

/// Growth of memory in percent. An allocator keeps memory that it returns to the kernel later or never, and central's own
/// records grow, too.
pub(crate) const MEMORY_GROWTH_PERCENT: f64 = 25.0;

/// The least growth of memory that matters, whatever it is in percent.
pub(crate) const MEMORY_GROWTH_BYTES: f64 = 16.0 * 1024.0 * 1024.0;

/// The report says that samples are rare if they are this many times rarer than asked for.
pub(crate) const RARER_SAMPLES: f64 = 1.5;

/// The largest acceptable difference between the flamegraph and the table of children, in percentage points.
pub(crate) const AGREEMENT_PP: f64 = 10.0;

/// The fewest slices that show how much samples vary from slice to slice.
pub(crate) const FEWEST_SLICES: usize = 4;

/// If more than this percentage of evidence is lost, the rest may not be representative.
pub(crate) const LOST_PERCENT: f64 = 1.0;
