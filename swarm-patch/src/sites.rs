//! What is known of an instrumented function.

/// A function to look for.
#[derive(Clone, Copy, Debug)]
pub struct SiteSpec {
    /// The number that the probe knows the site by.
    pub number: u8,
    /// Its name in files and on command lines.
    pub name: &'static str,
    /// The package that it is in.
    pub package: &'static str,
    /// The file, relative to the package.
    pub file: &'static str,
    /// The type that has it as an inherent function; absent for a free function.
    pub owner: Option<&'static str>,
    /// The function's name.
    pub function: &'static str,
    /// The kind of its loop.
    pub shape: LoopShape,
    /// The function that it calls and whose loop does the work, if that is not its own loop.
    pub loop_in: Option<&'static str>,
    /// What reports call it.
    pub called: &'static str,
    /// Whether a budget can bound it.
    pub takes_budget: bool,
}

/// The kind of loop that a function has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopShape {
    /// A poll function: takes a context, returns a `Poll`.
    Poll,
    /// An `async` function, driven by the runtime as a task.
    Task {
        /// The type and function that spawns it.
        spawned_in: (&'static str, &'static str),
    },
    /// A poll function without a loop of its own, which calls functions whose loops have bounds already.
    Passes {
        /// How the names of the methods begin that are its children, whether they get its context or not.
        children: &'static [&'static str],
        /// One more child.
        inner: InnerChild,
        /// Where budgets apply.
        bounds: &'static [Rewrite],
        /// Where what it counts is to be had.
        counts: &'static [Rewrite],
    },
    /// An `async` function whose loop calls functions of its own.
    Future {
        /// Its child.
        inner: InnerChild,
        /// Where its iterations begin.
        iterations: &'static [Rewrite],
    },
}

/// A method that is called not by the site's function, but by a function that this calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerChild {
    /// The function that calls it, as `Type::function`.
    pub caller: &'static str,
    /// How its name begins.
    pub method: &'static str,
    /// The child that the caller is part of. Absent if the caller is the site's own code.
    pub part_of: Option<&'static str>,
}

/// An expression of upstream's around which code goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// The function that it is in, as `Type::function`.
    pub function: &'static str,
    /// Its text.
    pub expression: &'static str,
    /// What it becomes; `{}` stands for it.
    pub becomes: &'static str,
}

impl SiteSpec {
    /// `Type::function`, or `function`.
    pub fn function_path(&self) -> String {
        match self.owner {
            Some(owner) => format!("{owner}::{}", self.function),
            None => self.function.to_owned(),
        }
    }

    /// How the function's name ends in sampled stacks. The future of a task has the probe's.
    pub fn symbol(&self) -> String {
        let module = self.file.trim_start_matches("src/").trim_end_matches(".rs");
        match (self.shape, module) {
            (LoopShape::Task { .. } | LoopShape::Future { .. }, _) => {
                "Instrumented::poll".to_owned()
            }
            (_, "lib") => self.function_path(),
            (_, module) => {
                format!("{}::{}", module.replace('/', "::"), self.function_path())
            }
        }
    }

    /// How inserted code names it.
    pub(crate) fn inserted(&self) -> String {
        format!(
            "::poll_probe::Site::new({} /* {} */)",
            self.number, self.name
        )
    }
}

/// What is recorded of a site. Of what is not, there is the reason.
#[derive(Clone, Debug)]
pub struct SiteLevels {
    /// The site.
    pub spec: SiteSpec,
    /// Durations and outcomes of its polls.
    pub outer: Option<String>,
    /// Iterations and children.
    pub inner: Option<String>,
    /// Whether a budget can end a poll.
    pub budget: Option<String>,
}

impl SiteLevels {
    /// The levels with their names, and why they are not there.
    pub fn levels(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        let budget = self.spec.takes_budget.then_some(("budget", &self.budget));
        let recorded = [("outer", &self.outer), ("inner", &self.inner)];
        let all = recorded.into_iter().chain(budget);
        all.map(|(level, missing)| (level, missing.as_deref()))
    }
}
