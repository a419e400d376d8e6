//! Arguments in, text out.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Error, Result, anyhow};
use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};
use poll_probe::{BUDGET_FORMS, Budgets};
use swarm_patch::{
    budget_patch, checkout,
    crate_source::CrateSource,
    diff::{self, Layout},
    graft::graft,
    insertion::Purpose,
    package::upstream_manifest,
    pristine,
    sites::PACKAGES,
    subject::{
        Subject, crates,
        spec::{CheckoutSpec, SUBJECT_FORMS, Spec},
        workshop::{Profile, Workshop},
    },
};

/// Shows and applies what is grafted onto libp2p-swarm and yamux: a poll probe and work budgets.
#[derive(Parser)]
#[command(name = "swarm-patch", version, after_help = EXAMPLES)]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "Examples:
  swarm-patch sites                          every inserted line, its site and its child
  swarm-patch sites --source ../rust-libp2p  the same for a checkout
  swarm-patch sites --subject ../rust-libp2p@my-fix  the same for a revision of it
  swarm-patch diff                           the whole graft as a unified diff
  swarm-patch diff --budget connection=8     the budget alone, for `git apply` in upstream's repository
  swarm-patch apply ../copy-of-rust-libp2p   insert the lines there

Exit codes: 0 done; 1 a source is not as expected, nothing was written; 2 wrong arguments.";

#[derive(Subcommand)]
enum Verb {
    /// List every inserted line: crate, file, line, site, child
    Sites {
        /// A crate, a checkout or a folder of crates, instead of the pristine sources of this build
        #[arg(long, value_name = "DIR")]
        source: Option<PathBuf>,
        #[arg(long, value_name = "SPEC", conflicts_with = "source", help = format!("As `sweep --subject`: {SUBJECT_FORMS}"))]
        subject: Option<Spec>,
        /// As `sweep --yamux`: PATH or PATH@REV
        #[arg(long, value_name = "SPEC", conflicts_with = "source")]
        yamux: Option<CheckoutSpec>,
        /// Only the lines that mark children
        #[arg(long)]
        children: bool,
    },
    /// Print the inserted lines as a unified diff
    Diff {
        /// The budget alone, without the probe: a small patch for upstream
        #[arg(long, value_name = "BUDGET", long_help = format!("The budget alone, without the probe: a small patch for upstream. Accepted: {BUDGET_FORMS}"))]
        budget: Option<String>,
        /// Only this crate
        #[arg(long = "crate", value_name = "NAME", value_parser = PACKAGES)]
        package: Option<String>,
        /// The folder that the diff is to apply in [default: DIR of --source; without it: registry, or with --budget: repository]
        #[arg(long, value_enum)]
        layout: Option<Layout>,
        /// A crate, a checkout or a folder of crates, instead of the pristine sources of this build
        #[arg(long, value_name = "DIR")]
        source: Option<PathBuf>,
    },
    /// Insert the lines into a copy of a source tree, where it lies
    Apply {
        /// A crate, a checkout or a folder of crates
        dir: PathBuf,
    },
    /// Build the benchmark against a subject, or find that it is built, and print where it is
    Build {
        #[arg(long, value_name = "SPEC", default_value = "released", help = format!("As `sweep --subject`: {SUBJECT_FORMS}"))]
        subject: Spec,
        /// As `sweep --yamux`: PATH or PATH@REV
        #[arg(long, value_name = "SPEC")]
        yamux: Option<CheckoutSpec>,
        /// As tests are built, which is faster
        #[arg(long)]
        debug: bool,
    },
}

/// An error and the exit code it deserves.
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) code: u8,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure { error, code: 1 }
    }
}

fn bad_input(error: impl Into<Error>) -> Failure {
    Failure {
        error: error.into(),
        code: 2,
    }
}

pub(crate) fn run() -> Result<(), Failure> {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return help_or_one_line(&error),
    };
    let text = match args.verb {
        Verb::Sites {
            source,
            subject: None,
            yamux: None,
            children,
        } => sites_table(&sources(source.as_deref())?, children)?,
        Verb::Sites {
            subject,
            yamux,
            children,
            ..
        } => sites_of_subject(&subject.unwrap_or(Spec::Released), yamux.as_ref(), children)?,
        Verb::Diff {
            budget,
            package,
            layout,
            source,
        } => {
            let sources = sources(source.as_deref())?;
            let base = Base::new(layout, source.as_deref())?;
            match budget {
                Some(budget) => budget_diff(&sources, &budget, package.as_deref(), &base)?,
                None => whole_diff(&sources, package.as_deref(), &base)?,
            }
        }
        Verb::Build {
            subject,
            yamux,
            debug,
        } => build(&subject, yamux.as_ref(), debug)?,
        Verb::Apply { dir } => {
            let probe = Path::new(env!("CARGO_MANIFEST_DIR")).join("poll-probe");
            let written = checkout::apply(&checkout_sources("", &dir)?, &probe)?;
            written
                .iter()
                .map(|path| format!("{}\n", path.display()))
                .collect()
        }
    };
    print(&text)
}

/// Clap's errors in one line; its help as it is.
fn help_or_one_line(error: &clap::Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => print(&error.render().to_string()),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let verbs: Vec<String> = Args::command()
                .get_subcommands()
                .map(|verb| verb.get_name().to_owned())
                .collect();
            Err(bad_input(anyhow!(
                "a command is missing: {} (see --help)",
                verbs.join(", ")
            )))
        }
        _ => {
            let text = error.render().to_string();
            let paragraphs = text.split("\n\nUsage").next().unwrap_or(&text);
            let words: Vec<&str> = paragraphs
                .trim_start_matches("error: ")
                .split("\n\nFor more")
                .next()
                .unwrap_or("")
                .split_whitespace()
                .collect();
            Err(bad_input(anyhow!("{}", words.join(" "))))
        }
    }
}

/// A reader that went away, as `head` does, is no failure.
fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::from(Error::new(error)))
        }
        _ => Ok(()),
    }
}

fn sources(dir: Option<&Path>) -> Result<Vec<CrateSource>, Failure> {
    match dir {
        None => Ok(pristine::find(&upstream_manifest(), &PACKAGES)?),
        Some(dir) => checkout_sources("--source ", dir),
    }
}

fn checkout_sources(argument: &str, dir: &Path) -> Result<Vec<CrateSource>, Failure> {
    if dir.is_dir() {
        checkout::find(dir).map_err(bad_input)
    } else {
        Err(bad_input(anyhow!(
            "{argument}{}: not a folder",
            dir.display()
        )))
    }
}

/// In a copy, which goes when the table is made.
fn sites_of_subject(
    subject: &Spec,
    yamux: Option<&CheckoutSpec>,
    only_children: bool,
) -> Result<String, Failure> {
    let subject = Subject::resolve(subject, yamux).map_err(bad_input)?;
    let copy = tempfile::tempdir().context("cannot make a temporary folder")?;
    let sources = crates::sources(&subject, copy.path())?;
    Ok(sites_table(&sources, only_children)?)
}

fn build(subject: &Spec, yamux: Option<&CheckoutSpec>, debug: bool) -> Result<String, Failure> {
    let subject = Subject::resolve(subject, yamux).map_err(bad_input)?;
    let workshop = Workshop::open(if debug {
        Profile::Debug
    } else {
        Profile::Release
    })?;
    let id = workshop.id(&subject)?;
    let built = match workshop.find(&id) {
        Some(built) => built,
        None => workshop.build(&subject, &id)?,
    };
    Ok(format!("{}\n", built.program().display()))
}

fn sites_table(sources: &[CrateSource], only_children: bool) -> Result<String> {
    let mut rows: Vec<[String; 6]> =
        vec![["CRATE", "FILE", "LINE", "SITE", "MARK", "CHILD"].map(str::to_owned)];
    for source in sources {
        for file in graft(source)? {
            for (spec, insertions) in &file.sites {
                for insertion in insertions {
                    let child = match &insertion.purpose {
                        Purpose::Child(child) => child.clone(),
                        _ if only_children => continue,
                        _ => "-".to_owned(),
                    };
                    rows.push([
                        source.id(),
                        file.file.clone(),
                        insertion.before.to_string(),
                        spec.name(),
                        insertion.purpose.word().to_owned(),
                        child,
                    ]);
                }
            }
        }
    }
    Ok(aligned(&rows))
}

fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    rows.iter()
        .map(|row| {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            format!("{}\n", cells.join("  ").trim_end())
        })
        .collect()
}

/// The folder that a diff is to apply in.
enum Base {
    /// As asked for.
    Layout(Layout),
    /// The folder that the sources were looked for in.
    Dir(PathBuf),
    /// What suits the diff.
    Default,
}

impl Base {
    fn new(layout: Option<Layout>, dir: Option<&Path>) -> Result<Self> {
        Ok(match (layout, dir) {
            (Some(layout), _) => Base::Layout(layout),
            // As the sources' own folders are.
            (None, Some(dir)) => Base::Dir(fs::canonicalize(dir)?),
            (None, None) => Base::Default,
        })
    }

    fn prefix(&self, source: &CrateSource, default: Layout) -> String {
        match self {
            Base::Layout(layout) => layout.prefix(source),
            Base::Default => default.prefix(source),
            Base::Dir(dir) => {
                let below = source.dir.strip_prefix(dir).unwrap_or(&source.dir);
                let folders = below.iter().map(|folder| folder.to_string_lossy());
                folders.map(|folder| format!("{folder}/")).collect()
            }
        }
    }
}

fn whole_diff(
    sources: &[CrateSource],
    package: Option<&str>,
    base: &Base,
) -> Result<String, Failure> {
    let chosen = match package {
        Some(name) => vec![named(sources, name)?],
        None => sources.iter().collect(),
    };
    let mut text = String::new();
    for source in chosen {
        let prefix = base.prefix(source, Layout::Registry);
        text.push_str(&diff::below(&prefix, &graft(source)?));
    }
    Ok(text)
}

fn named<'s>(sources: &'s [CrateSource], package: &str) -> Result<&'s CrateSource, Failure> {
    sources
        .iter()
        .find(|source| source.name == package)
        .ok_or_else(|| bad_input(anyhow!("--source: no package {package} in it")))
}

fn budget_diff(
    sources: &[CrateSource],
    budget: &str,
    package: Option<&str>,
    base: &Base,
) -> Result<String, Failure> {
    let budgets: Budgets = budget
        .parse()
        .map_err(|error| bad_input(anyhow!("--budget: {error}")))?;
    let touched = budget_patch::packages(&budgets);
    let package = match (package, touched.as_slice()) {
        (_, []) => {
            return Err(bad_input(anyhow!(
                "--budget {budgets}: there is nothing to patch without a bound"
            )));
        }
        (Some(package), touched) if !touched.contains(&package) => {
            return Err(bad_input(anyhow!(
                "--crate {package}: no site of {budgets} is in it, but in {}",
                touched.join(" and ")
            )));
        }
        (Some(package), _) => package,
        (None, [one]) => one,
        (None, several) => {
            return Err(bad_input(anyhow!(
                "--budget {budgets}: the sites are in {}, which have repositories of their own; choose one with --crate",
                several.join(" and ")
            )));
        }
    };
    let source = named(sources, package)?;
    budget_patch::refuse_what_is_no_constant(package, &budgets).map_err(bad_input)?;
    let files = budget_patch::files(source, &budgets)?;
    Ok(diff::below(
        &base.prefix(source, Layout::Repository),
        &files,
    ))
}
