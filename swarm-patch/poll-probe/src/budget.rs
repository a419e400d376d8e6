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

/// The bound at one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// When to stop.
    pub limit: Limit,
    /// How to go on. The wake of [`Limit::Coop`] is tokio's, hence always deferred.
    pub wake: Wake,
}

/// The bounds of a whole process. The default has none.
///
/// Its text form is `none`, or `SITE=LIMIT[/WAKE]` joined by commas: `connection=8`,
/// `connection=50us`, `muxer=4/deferred`, `connection=8,muxer=2`, `task=coop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Budgets {
    /// By `Site as usize`.
    bounds: [Option<Budget>; Site::ALL.len()],
}

impl Budgets {
    /// No bound anywhere.
    pub const NONE: Budgets = Budgets {
        bounds: [None; Site::ALL.len()],
    };

    /// The bound at `site`, if there is one.
    pub fn at(&self, site: Site) -> Option<Budget> {
        self.bounds[site as usize]
    }

    /// The same with this bound at `site`, which has to be one of [`Site::BUDGETED`].
    pub fn with(mut self, site: Site, budget: Budget) -> Budgets {
        assert!(Site::BUDGETED.contains(&site), "{site} takes no budget");
        self.bounds[site as usize] = Some(budget);
        self
    }
}
