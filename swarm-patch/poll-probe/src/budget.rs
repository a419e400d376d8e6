use std::{num::NonZeroU32, time::Duration};

use crate::Site;

/// How much work one invocation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// At most this many iterations of the site's loop.
    Count(NonZeroU32),
    /// No further iteration after this time. The first iteration always runs.
    Time(Duration),
    /// Tokio's own cooperative budget, which the task shares with every tokio resource that it polls.
    /// Each iteration after the first costs one unit, and none runs without a unit left.
    Coop,
}

/// How a task that ran out of budget asks to be polled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Wake {
    /// `wake_by_ref`: the task goes back to the run queue at once. It may be polled again before the
    /// runtime checks timers and I/O.
    #[default]
    Immediate,
    /// As `tokio::task::yield_now`: the runtime wakes the task after it has run the ready tasks and
    /// checked timers and I/O. Outside a tokio runtime the wake is immediate.
    Deferred,
}

/// The bound at one site. Its text form is `LIMIT[/WAKE]`: `8`, `50us`, `4/deferred`, `coop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// When to stop.
    pub limit: Limit,
    /// How to go on. The wake of [`Limit::Coop`] is tokio's, hence always deferred.
    pub wake: Wake,
}

/// The bounds of a whole process. The default has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Budgets {
    /// By the numbers of sites.
    pub(crate) bounds: [Option<Budget>; Site::MOST],
}

impl Budgets {
    /// No bound anywhere.
    pub const NONE: Budgets = Budgets {
        bounds: [None; Site::MOST],
    };

    /// The bound at `site`, if there is one.
    pub fn at(&self, site: Site) -> Option<Budget> {
        self.bounds[site.number()]
    }

    /// The same with this bound at `site`.
    pub fn with(mut self, site: Site, budget: Budget) -> Budgets {
        self.bounds[site.number()] = Some(budget);
        self
    }
}
