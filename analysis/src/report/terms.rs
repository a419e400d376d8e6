//! The terms that a report explains before it uses them.

pub(crate) type Term = (&'static str, &'static str);

/// What stands for the names of a stack's sites.
pub(crate) const SITES: &str = "SITES";

pub(crate) const SITE: Term = (
    "Site",
    "a function whose polls are recorded: SITES. A site polls *children*; the rest of its time is its *own code*.",
);
pub(crate) const SLOW_POLL: Term = (
    "Slow poll",
    "a poll that takes longer than the threshold (50 µs unless the report names another one).",
);
pub(crate) const BEYOND: Term = (
    "Time beyond the threshold",
    "by how much polls are longer than the threshold, summed up over each second. Cutting a poll into pieces never raises \
     it, and more short polls never lower it.",
);
pub(crate) const SINGLE_SLOW_ITERATION: Term = (
    "Single slow iteration",
    "one iteration of a poll's loop that alone exceeds the threshold. No limit on the iterations of \
     the same site prevents such a slow poll.",
);
pub(crate) const BUDGET: Term = (
    "Budget",
    "a limit on what one poll of a site may do, such as `connection=8` (at most 8 iterations). At the limit a poll \
     *yields*: it returns and wakes its task. With `/deferred` the wake comes after tokio has polled timers and I/O. A \
     budget *fires* when a poll yields because of it.",
);
pub(crate) const VARIANT: Term = (
    "Variant",
    "one of the things compared: a budget, or a build of the network stack. The first variant is the *baseline*; candidates are \
     compared with it and its A/A control together.",
);
pub(crate) const CONTROL: Term = (
    "A/A control",
    "a second copy of the baseline. It differs from the baseline by noise only, and so shows how large noise is.",
);
pub(crate) const CELL: Term = (
    "Cell",
    "one combination of the number of peers (N), the round-trip time (RTT) and the payload.",
);
pub(crate) const SLICE: Term = (
    "Launch, turn, slice, block",
    "a launch starts the measured processes once; a *run* is its recorded result. A turn is a short time in which one \
     variant is active. A block has several turns of each variant, in random order, and a slice is all turns of a \
     variant in a block. If programs are compared, a block has one launch of each.",
);
pub(crate) const CENTRAL: Term = (
    "Central",
    "the measured node. All peers are connected to it.",
);
pub(crate) const CO_TENANT: Term = (
    "Co-tenant",
    "a small task on central's worker thread. Its *wake-up latency* is how long it waits for its poll after it is \
     woken, less the *floor*, which is the median of that while central has no requests. A *late wake-up* waits longer \
     than the threshold. Another thread wakes this task. A timer wakes a second one, which gives the *timer lateness*.",
);
pub(crate) const RESOLVED: Term = (
    "Resolved",
    "of a change in a single cell: significant after correcting for the number of comparisons (false discovery rate 5 %). A change that is not \
     resolved may still exist, but the data do not show it.",
);
pub(crate) const INTERVAL: Term = (
    "Intervals",
    "the numbers in square brackets are 95 % confidence intervals; pp means percentage points.",
);
pub(crate) const SOAK: Term = (
    "Soak",
    "one cell measured for hours. *Churn* restarts peers at the given rate while the soak runs.",
);
