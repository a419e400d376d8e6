//! Which functions of which crates are instrumented.

/// A function to look for.
#[derive(Clone, Copy, Debug)]
pub struct SiteSpec {
    /// The site's name, as a variant of poll-probe's `Site`.
    pub site: &'static str,
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
}

/// The kind of loop that a function has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopShape {
    /// A poll function: takes a context, returns a `Poll`.
    Poll,
    /// An `async` function, driven by the runtime as a task.
    Task,
}

impl SiteSpec {
    /// `Type::function`, or `function`.
    pub fn function_path(&self) -> String {
        match self.owner {
            Some(owner) => format!("{owner}::{}", self.function),
            None => self.function.to_owned(),
        }
    }

    /// The site's name in files and on command lines.
    pub fn name(&self) -> String {
        self.site.to_lowercase()
    }
}

/// Every instrumented function.
pub const SITES: [SiteSpec; 4] = [
    SiteSpec {
        site: "Connection",
        package: "libp2p-swarm",
        file: "src/connection.rs",
        owner: Some("Connection"),
        function: "poll",
        shape: LoopShape::Poll,
    },
    SiteSpec {
        site: "Swarm",
        package: "libp2p-swarm",
        file: "src/lib.rs",
        owner: Some("Swarm"),
        function: "poll_next_event",
        shape: LoopShape::Poll,
    },
    SiteSpec {
        site: "Task",
        package: "libp2p-swarm",
        file: "src/connection/pool/task.rs",
        owner: None,
        function: "new_for_established_connection",
        shape: LoopShape::Task,
    },
    SiteSpec {
        site: "Muxer",
        package: "yamux",
        file: "src/connection.rs",
        owner: Some("Active"),
        function: "poll",
        shape: LoopShape::Poll,
    },
];

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
        let budget = (self.spec.site != "Swarm").then_some(("budget", &self.budget));
        let recorded = [("outer", &self.outer), ("inner", &self.inner)];
        let all = recorded.into_iter().chain(budget);
        all.map(|(level, missing)| (level, missing.as_deref()))
    }
}

/// The packages that have sites.
pub const PACKAGES: [&str; 2] = ["libp2p-swarm", "yamux"];

/// The sites of one package.
pub fn sites_of(package: &str) -> impl Iterator<Item = &'static SiteSpec> {
    SITES.iter().filter(move |spec| spec.package == package)
}
