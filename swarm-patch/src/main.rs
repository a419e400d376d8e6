//! The command `swarm-patch` shows and applies the graft.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod vendor_command;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::slice;

use anyhow::{Context, Result, anyhow};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use fs_err as fs;
use program::{Failure, bad_input, print_raw, reject};
use run_format::{BUDGET_FORMS, Budgets};
use swarm_patch::crate_dir::CrateDir;
use swarm_patch::diff::{self, DiffRoot};
use swarm_patch::graft::graft;
use swarm_patch::package::upstream_manifest;
use swarm_patch::stacks::{LIBP2P, Stack};
use swarm_patch::subject::builder::{Profile, SubjectBuilder};
use swarm_patch::subject::source_spec::SUBJECT_FORMS;
use swarm_patch::subject::spec::SubjectSpec;
use swarm_patch::subject::{Subject, crates};
use swarm_patch::tables::{levels_table, sites_table};
use swarm_patch::{budget_patch, pristine, source_tree};

use self::vendor_command::VendorArgs;

/// Shows and applies the graft: the lines that record and bound polls in libp2p-swarm, yamux, quinn, h2, noq and iroh-gossip.
#[derive(Parser)]
#[command(name = "swarm-patch", version, after_help = EXAMPLES)]
struct PatchArgs {
    #[command(subcommand)]
    command: PatchCommand,
}

const EXAMPLES: &str = "Examples:
  swarm-patch sites                          list what is recorded of each site, and everything that is inserted
  swarm-patch sites --subject ../rust-libp2p@my-fix  the same for a revision of a checkout
  swarm-patch diff                           print the whole graft as a unified diff
  swarm-patch diff --stack h2                the same for HTTP/2
  swarm-patch diff --budget muxer=1/deferred print the budget alone, for `git apply` in upstream's repositories
  swarm-patch apply ../copy-of-rust-libp2p   insert the lines into the files there
  swarm-patch vendor --for ../my-app         graft copies of the crates that my-app uses, and print how it gets them

Exit codes: 0 done; 1 a source is not as expected, nothing was written; 2 wrong arguments.";

#[derive(Subcommand)]
enum PatchCommand {
    /// List which levels of each site are recorded, and every piece of inserted code with its crate, file, line, site and
    /// child
    Sites(SubjectArgs),
    /// Print the inserted lines as a unified diff
    ///
    /// The diff applies in DIR of --source. Without --source, it applies in the root of upstream's repository if there is
    /// --budget, and otherwise in the folder in which cargo unpacks crates.
    Diff(DiffArgs),
    /// Insert the lines into libp2p-swarm, yamux and quinn in a source tree
    Apply {
        /// A crate, a checkout or a folder of crates
        dir: PathBuf,
        /// The folder of the poll-probe that the crates are to depend on, such as the copy that `vendor` made [default: this
        /// repository's]
        #[arg(long, value_name = "DIR")]
        probe: Option<PathBuf>,
    },
    /// Graft copies of the crates that an application uses, in the versions of its lock file, and print how it gets them
    Vendor(VendorArgs),
    /// Build the stack's node program against a subject, unless it is built already, and print the program's path
    Build(SubjectArgs),
}

#[derive(Args)]
struct SubjectArgs {
    /// The network stack
    #[arg(long, value_name = "NAME", default_value = LIBP2P.name, value_parser = Stack::named)]
    stack: &'static Stack,
    #[arg(long, value_name = "SPEC", help = format!("The version of the stack, as in `sweep --subject` [default: released]:\n- {}", SUBJECT_FORMS.replace("; ", "\n- ")))]
    subject: Option<SubjectSpec>,
}

impl SubjectArgs {
    fn resolve(&self) -> Result<Subject, Failure> {
        let named = self.subject.clone();
        let spec = named.unwrap_or_else(|| SubjectSpec::released(None));
        Subject::find(self.stack, &spec).map_err(bad_input)
    }
}

#[derive(Args)]
struct DiffArgs {
    /// Print the budget alone, without the probe: a small patch for each of upstream's repositories
    #[arg(long, value_name = "BUDGET", long_help = format!("Print the budget alone, without the probe: a small patch for each of upstream's repositories. Accepted: {BUDGET_FORMS}"))]
    budget: Option<String>,
    /// Print the diff of this crate only
    #[arg(long = "crate", value_name = "NAME", value_parser = PossibleValuesParser::new(LIBP2P.packages))]
    package: Option<String>,
    /// Use a crate, a checkout or a folder of crates instead of the pristine sources of this build
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// The network stack
    #[arg(long, value_name = "NAME", default_value = LIBP2P.name, value_parser = Stack::named, conflicts_with_all = ["budget", "package"])]
    stack: &'static Stack,
}

fn main() -> ExitCode {
    program::exit_main(run())
}

fn run() -> Result<ExitCode, Failure> {
    let args: PatchArgs = match program::parse() {
        Ok(args) => args,
        Err(ended) => return ended,
    };
    let text = match args.command {
        PatchCommand::Sites(subject) => {
            let copies = tempfile::tempdir().context("cannot make a temporary folder")?;
            let sources = crates::sources(subject.stack, &subject.resolve()?, copies.path())?;
            sites_table(&sources)?
        }
        PatchCommand::Diff(args) => {
            let found = sources(args.source.as_deref(), args.stack)?;
            match &args.budget {
                Some(budget) => args.budget_diff(&found, budget)?,
                None => args.graft_diff(&found)?,
            }
        }
        PatchCommand::Build(subject) => build(&subject)?,
        PatchCommand::Apply { dir, probe } => apply(&dir, probe)?,
        PatchCommand::Vendor(args) => args.run()?,
    };
    print_raw(&text);
    Ok(ExitCode::SUCCESS)
}

fn sources(dir: Option<&Path>, stack: &Stack) -> Result<Vec<CrateDir>, Failure> {
    match dir {
        None => Ok(pristine::find(&upstream_manifest(), stack.packages)?),
        Some(dir) => checkout_sources("--source ", dir, stack),
    }
}

fn checkout_sources(argument: &str, dir: &Path, stack: &Stack) -> Result<Vec<CrateDir>, Failure> {
    let shown = dir.display();
    if !dir.is_dir() {
        reject!("{argument}{shown}: not a folder");
    }
    let found = source_tree::find(dir, stack.packages).map_err(bad_input)?;
    if found.is_empty() {
        let names = stack.packages.join(" or ");
        reject!("{argument}{shown}: no package {names} in it");
    }
    Ok(found)
}

fn build(specs: &SubjectArgs) -> Result<String, Failure> {
    let subject = specs.resolve()?;
    let builder = SubjectBuilder::open(specs.stack, Profile::Release)?;
    let id = builder.id(&subject)?;
    let built = match builder.find(&id) {
        Some(built) => built,
        None => builder.build(&subject, &id, "the program")?,
    };
    Ok(format!("{}\n", built.program.display()))
}

fn apply(dir: &Path, probe: Option<PathBuf>) -> Result<String, Failure> {
    let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("poll-probe");
    let probe_dir = probe.unwrap_or_else(ours);
    if source_tree::find(&probe_dir, &["poll-probe"]).map_or(true, |found| found.is_empty()) {
        let shown = probe_dir.display();
        reject!(
            "--probe {shown}: no package poll-probe in it (accepted: the folder poll-probe that `vendor` made)"
        );
    }
    let probe_path = fs::canonicalize(probe_dir)?;
    let (mut files, mut levels) = (Vec::new(), Vec::new());
    for source in &checkout_sources("", dir, &LIBP2P)? {
        let grafted = source_tree::grafted(source, &probe_path)?;
        files.extend(grafted.files);
        levels.push((source.id(), grafted.sites));
    }
    let mut text = String::new();
    for (path, grafted) in files {
        fs::write(&path, grafted)?;
        text += &format!("{}\n", path.display());
    }
    Ok(format!("{text}\n{}", levels_table(&levels)))
}

impl DiffArgs {
    /// The folders that the diff has before the paths of a crate.
    fn prefix(&self, source: &CrateDir) -> Result<String> {
        let Some(dir) = &self.source else {
            return Ok(match self.budget {
                Some(_) => DiffRoot::Repository.prefix(source),
                None => DiffRoot::Registry.prefix(source),
            });
        };
        let below = source.dir.strip_prefix(fs::canonicalize(dir)?)?;
        let folders = below.iter().map(|folder| folder.to_string_lossy());
        Ok(folders.map(|folder| format!("{folder}/")).collect())
    }

    fn graft_diff(&self, sources: &[CrateDir]) -> Result<String, Failure> {
        let grafted = match &self.package {
            Some(name) => slice::from_ref(named(sources, name)?),
            None => sources,
        };
        let diff = |source| {
            Ok(diff::crate_diff(
                &self.prefix(source)?,
                &graft(source)?.files,
            ))
        };
        grafted.iter().map(diff).collect()
    }

    /// The diffs for upstream's repositories, each after a line that names its repository. `git apply` skips that line.
    fn budget_diff(&self, sources: &[CrateDir], budget: &str) -> Result<String, Failure> {
        let refused = |error: String| bad_input(anyhow!("--budget: {error}"));
        let budgets: Budgets = budget.parse().map_err(refused)?;
        let mut changed = budget_patch::packages(&budgets);
        if changed.is_empty() {
            reject!(
                "--budget {budgets}: there is nothing to patch without a bound in libp2p-swarm or yamux"
            );
        }
        if let Some(package) = &self.package {
            if !changed.contains(&package.as_str()) {
                let only = changed.join(" and ");
                reject!("--crate {package}: {budgets} changes only {only}");
            }
            changed.retain(|name| name == package);
        }
        let is_changed = |source: &CrateDir| changed.contains(&&*source.name);
        if !sources.iter().any(is_changed) {
            named(sources, changed[0])?;
        }
        let diff = |package: &&str| match named(sources, package) {
            Ok(source) => Ok(budget_patch::diff(source, &budgets, &self.prefix(source)?)?),
            Err(_) => Ok(format!(
                "# {} needs a change too, but {package} is not in --source\n",
                budget_patch::repository(package)
            )),
        };
        changed.iter().map(diff).collect()
    }
}

fn named<'s>(sources: &'s [CrateDir], package: &str) -> Result<&'s CrateDir, Failure> {
    let mut named = sources.iter().filter(|source| source.name == package);
    let refusal = || bad_input(anyhow!("--source: no package {package} in it"));
    named.next().ok_or_else(refusal)
}
