//! The description of an instrumented function.

/// A function to look for.
#[derive(Clone, Copy, Debug)]
pub struct SiteSpec {
    /// The number that the probe knows the site by.
    pub number: u8,
    /// Its name in files and on command lines.
    pub name: &'static str,
    /// The crate that has the function.
    pub package: &'static str,
    /// The file, relative to the package.
    pub file: &'static str,
    /// `Type::function` for an inherent function of a type, or `function` for a free one.
    pub function: &'static str,
    /// How the function loops.
    pub shape: LoopShape,
    /// The name that reports give it.
    pub called: &'static str,
}

/// The kind of loop that a function has.
#[derive(Clone, Copy, Debug)]
pub enum LoopShape {
    /// A function that takes a context and returns a `Poll`.
    Poll {
        /// The function that is called here and whose loop does the work. None if this function's own loop does it.
        loop_in: Option<&'static str>,
        /// The code that reads the state of connections and streams. None if the crate keeps no such state.
        states: Option<StateReading>,
    },
    /// An `async` function, driven by the runtime as a task.
    Task {
        /// The function that spawns it, as `Type::function`.
        spawned_in: &'static str,
    },
    /// A poll function without a loop of its own, which calls functions whose loops have bounds already.
    BoundedInside(NamedExpressions),
    /// An `async` function whose loop calls functions of its own. Its counts are its iterations.
    FutureWithCalls(NamedExpressions),
}

/// The expressions around which releases read the state of connections and streams.
#[derive(Clone, Copy, Debug)]
pub struct StateReading {
    /// Releases without this function do not keep the state.
    pub only_if_function_exists: &'static str,
    /// The code that reads the state.
    pub rewrites: &'static [Rewrite],
}

/// Marks for a function that gets no marks at its own loop: named children, and code around named expressions.
#[derive(Clone, Copy, Debug)]
pub struct NamedExpressions {
    /// The beginnings of the names of the methods that are children. They need not get the context.
    pub children: &'static [&'static str],
    /// The child that a function called by the site polls.
    pub inner: InnerChild,
    /// The bounds of upstream's whose place a budget takes.
    pub bounds: &'static [Rewrite],
    /// The expressions around which something is counted, such as iterations.
    pub counts: &'static [Rewrite],
}

/// A child that the site's function does not call itself. Another function, which it calls, does.
#[derive(Clone, Copy, Debug)]
pub struct InnerChild {
    /// The function that calls it, as `Type::function`.
    pub caller: &'static str,
    /// The beginning of the method's name.
    pub method: &'static str,
    /// The child that the caller is part of. There is none if the caller is the site's own code.
    pub part_of: Option<&'static str>,
}

/// An expression of upstream's around which code goes.
#[derive(Clone, Copy, Debug)]
pub struct Rewrite {
    /// The function that it is in, as `Type::function`.
    pub function: &'static str,
    /// The text of the expression, in one line.
    pub expression: &'static str,
    /// The code before the expression.
    pub before: &'static str,
    /// The code after it.
    pub after: &'static str,
}

impl Rewrite {
    pub(crate) const fn new(
        function: &'static str,
        expression: &'static str,
        before: &'static str,
        after: &'static str,
    ) -> Rewrite {
        Rewrite {
            function,
            expression,
            before,
            after,
        }
    }
}

impl SiteSpec {
    /// The end of the function's name in sampled stacks. The future of a task has the name of the probe's future.
    pub fn symbol(&self) -> String {
        let module = self.file.trim_start_matches("src/").trim_end_matches(".rs");
        match (self.shape, module) {
            (LoopShape::Task { .. } | LoopShape::FutureWithCalls(_), _) => {
                "Instrumented::poll".to_owned()
            }
            (_, "lib") => self.function.to_owned(),
            (_, module) => format!("{}::{}", module.replace('/', "::"), self.function),
        }
    }

    /// The expression that names the site in inserted code.
    pub(crate) fn inserted(&self) -> String {
        format!(
            "::poll_probe::SiteId::new({} /* {} */)",
            self.number, self.name
        )
    }
}

/// Whether a level of a site is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// It is there.
    #[default]
    Present,
    /// It is missing for this reason.
    Missing(String),
}

impl Level {
    /// The reason if the level is missing.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Level::Present => None,
            Level::Missing(reason) => Some(reason),
        }
    }
}

/// The levels of a site.
#[derive(Clone, Debug)]
pub struct SiteLevels {
    /// The description of the site.
    pub spec: SiteSpec,
    /// Durations and outcomes of its polls.
    pub outer: Level,
    /// Iterations and children.
    pub inner: Level,
    /// Budgets that end polls.
    pub budget: Level,
    /// Counts of connections, streams or sockets. None if the release has none at this site.
    pub counts: Option<Level>,
    /// None if the function has no remedies.
    pub remedies: Option<Level>,
}

impl SiteLevels {
    /// The reasons for missing levels.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = &str> {
        let levels = [&self.outer, &self.inner, &self.budget].into_iter();
        let optional = self.counts.iter().chain(&self.remedies);
        levels.chain(optional).filter_map(Level::reason)
    }
}
