//! The arguments of `--gate`, and the two programs that they name.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use program::{Failure, reject};
use run_format::{Budgets, CountKind};
use swarm_patch::subject::builder::Program;

use super::sides::BaseAndHead;
use crate::args::{is_of_this_workspace, look_up, refuse_unknown_sites};
use crate::subject_builds::build_all;
use crate::sweep::args::SweepArgs;

#[derive(Args)]
#[command(next_help_heading = "A gate for pull requests")]
pub(crate) struct GateArgs {
    /// Count instead of timing: compare polls, wakes, allocations, system calls and instructions per request of two
    /// versions in 72 small cells (18 with --stack h2), or those of --peers, --payload, --security and --workload. Give
    /// two --subject, one --yamux or --tokio, or two --budget. Exit codes: 0 no count rose by more than --allow, 1 one
    /// did or a program failed, 2 wrong arguments, 3 the counts of a cell are not the same in every run
    #[arg(long, conflicts_with_all = ["rtt", "quick", "transport", "outstanding", "rate", "RuntimeArgs", "NetworkArgs", "HostArgs", "LengthArgs", "PartArgs", "SearchArgs", "resume", "prove", "no_aa", "runtime_setting", "peers_subject", "explain", "measure_only", "seed"])]
    pub(crate) gate: bool,
    #[arg(long, value_name = "KIND=RISE", value_delimiter = ',', requires = "gate", help = format!("With --gate: by how much counts of these kinds may rise per request, as a number or a percentage, such as polls=0.5,allocations=2%; kinds: {} [default: instructions=1%, and 0 for every other kind]", kinds()))]
    pub(crate) allow: Vec<Allowance>,
    /// With --gate: do not count instructions. They are counted if valgrind is installed, and take most of the time
    #[arg(long, requires = "gate")]
    pub(crate) no_instructions: bool,
}

/// The rise of the counts of a kind that is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Allowance {
    pub(super) kind: CountKind,
    pub(super) rise: Rise,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rise {
    PerRequest(f64),
    Percent(f64),
}

fn kinds() -> String {
    let kinds = CountKind::value_variants().iter();
    let kinds: Vec<String> = kinds.map(CountKind::to_string).collect();
    kinds.join(", ")
}

impl FromStr for Allowance {
    type Err = String;

    fn from_str(text: &str) -> Result<Allowance, String> {
        let wrong = || {
            format!(
                "accepted: KIND=RISE, such as polls=0.5 or instructions=1%; kinds: {}",
                kinds()
            )
        };
        let (kind, rise) = text.split_once('=').ok_or_else(wrong)?;
        let kind = CountKind::from_str(kind.trim(), false).map_err(|_| wrong())?;
        let typed = rise.trim();
        let number: f64 = typed.trim_end_matches('%').parse().map_err(|_| wrong())?;
        if !number.is_finite() || number < 0.0 {
            return Err(wrong());
        }
        let rise = match typed.ends_with('%') {
            true => Rise::Percent(number),
            false => Rise::PerRequest(number),
        };
        Ok(Allowance { kind, rise })
    }
}

/// One of the two programs that are compared.
pub(super) struct GateProgram {
    pub(super) label: String,
    /// A description of its sources.
    pub(super) sources: String,
    pub(super) program: PathBuf,
    pub(super) budgets: Budgets,
}

/// The base and the head. Builds what is not built yet.
pub(super) fn base_and_head(args: &SweepArgs) -> Result<BaseAndHead<GateProgram>, Failure> {
    let (compared, stack) = (&args.compared, args.program.stack);
    let node = args.node.node(stack)?;
    for budgets in &compared.budget {
        refuse_unknown_sites(stack, &node, budgets)?;
    }
    let specs = compared.subjects.specs();
    let pairs = match (&specs[..], &compared.budget[..]) {
        ([base, head], []) => [(base, Budgets::NONE), (head, Budgets::NONE)],
        ([base, head], [same]) => [(base, *same), (head, *same)],
        ([same], [base, head]) => [(same, *base), (same, *head)],
        (specs, budgets) => reject!(
            "--gate: it compares two programs, but subjects: {}, budgets: {} (accepted: two --subject, one --yamux or --tokio, or two --budget)",
            specs.len(),
            budgets.len()
        ),
    };
    // Both are looked up before one is built.
    let subjects = [look_up(stack, pairs[0].0)?, look_up(stack, pairs[1].0)?];
    let programs = match &args.program.program {
        Some(given) if subjects.iter().all(is_of_this_workspace) => vec![given.clone(); 2],
        Some(_) => reject!("--node: a subject that is built cannot be another program, too"),
        None => build_all(&subjects, stack, Program::Gate)?,
    };
    let program = |number: usize| {
        let (subject, budgets) = (&subjects[number], pairs[number].1);
        let label = match compared.budget.is_empty() {
            true => subject.label.clone(),
            false => format!("{} with budget {budgets}", subject.label),
        };
        GateProgram {
            label,
            sources: subject.sources(),
            program: programs[number].clone(),
            budgets,
        }
    };
    Ok(BaseAndHead {
        base: program(0),
        head: program(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_a_number_or_a_percentage_of_a_known_kind() {
        for (text, kind, rise) in [
            ("polls=0.5", CountKind::Polls, Rise::PerRequest(0.5)),
            (
                "superfluous-wakes=0",
                CountKind::SuperfluousWakes,
                Rise::PerRequest(0.0),
            ),
            (
                "instructions = 1 %",
                CountKind::Instructions,
                Rise::Percent(1.0),
            ),
        ] {
            let text = text.replace(" %", "%");
            assert_eq!(text.parse(), Ok(Allowance { kind, rise }), "{text}");
        }
        for text in [
            "",
            "polls",
            "polls=",
            "polls=-1",
            "polls=x%",
            "polls=inf",
            "poll=1",
        ] {
            let error = text.parse::<Allowance>().expect_err(text);
            assert!(error.contains("superfluous-wakes"), "{error}");
        }
    }
}
