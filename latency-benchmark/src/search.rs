//! `--search` compares many budgets in rounds. Each round is a sweep of its own, so that a budget is not judged by the
//! measurements that selected it. `analysis next-round` says which budgets stay.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use clap::Args;
use lab::move_thread_to;
use program::{ChildLimits, Failure, bad_input, eprint_line};
use run_format::files::{MANIFEST, SCHEMA, read_versioned, write_json, write_whole};
use run_format::search::{NextRound, SEARCH, Search, first_look, round};
use run_format::{Axes, Budgets, Cores, NodeConfig, Precision, SweepConfig};
use swarm_patch::diff::DiffRoot;
use swarm_patch::package::upstream_manifest;
use swarm_patch::stacks::LIBP2P;
use swarm_patch::{budget_patch, pristine};

use crate::args::{given_or, refuse_twice, unknown_site, variants};
use crate::node_program::analysis;
use crate::progress::{MEASURED, SOME_FAILED};
use crate::sweep::args::{AskedSweep, SweepArgs};
use crate::sweep::time::{fitted_into, shortest_time};
use crate::{results_folder, sweep};

/// Each round has fewer budgets than the one before, and measures them longer.
const ROUNDS: u32 = 3;
const DEFAULT_TIME: Duration = Duration::from_secs(570);

#[derive(Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchArgs {
    /// Search: compare about a hundred budgets, or those of --budget, in three rounds, and report the best. Without --peers,
    /// --rtt and --payload, a first look at twelve cells chooses three cells. A search takes 9.5min unless --time is given
    #[arg(long, conflicts_with_all = ["quick", "SubjectArgs", "stack", "no_aa", "repeat", "max_cell_seconds", "explain", "dry_run", "peer_hosts", "shard"])]
    pub(crate) search: bool,
    /// With --search: one more budget, repeatable
    #[arg(long, value_name = "BUDGET", requires = "search")]
    candidate: Vec<Budgets>,
}

impl SearchArgs {
    /// The baseline without a budget, then those of `--budget` or all budgets, then those of `--candidate`.
    fn candidates(&self, asked: &[Budgets], node: &NodeConfig) -> Result<Vec<Budgets>, Failure> {
        let mut all = every_budget();
        all.retain(|budgets| unknown_site(&LIBP2P, node, budgets).is_none());
        refuse_twice("--candidate", &self.candidate)?;
        let mut candidates = vec![Budgets::NONE];
        for budgets in given_or(asked, all).iter().chain(&self.candidate) {
            if !candidates.contains(budgets) {
                candidates.push(*budgets);
            }
        }
        Ok(candidates)
    }

    /// Begins a search, or finds the one to resume. Returns its folder.
    pub(crate) fn begin_or_resume(&self, sweep: &SweepArgs) -> Result<PathBuf, Failure> {
        if let Some(dir) = &sweep.resume {
            return Ok(dir.clone());
        }
        let (config, chooses_cells) = sweep.search()?;
        let node = &config.node;
        let candidates = self.candidates(&sweep.compared.budget, node)?;
        let search = Search {
            schema: SCHEMA,
            config: SweepConfig {
                variants: variants(&LIBP2P, node, &candidates, &[], true)?,
                // All of the time is used.
                precision: Precision::EXACT,
                ..config
            },
            chooses_cells,
            time_ms: sweep.length.time.unwrap_or(DEFAULT_TIME).as_millis() as u64,
        };
        let dir = sweep.new_run.dir()?;
        let hint = format!(" (to continue it: --resume {})", dir.display());
        results_folder::refuse_existing(&dir, &hint)?;
        results_folder::create(&dir)?;
        write_json(&dir.join(SEARCH), &search)?;
        Ok(dir)
    }
}

/// All budgets of a search. In central alone: counts and times at each site and at muxer and task together, with both wakes.
/// At both ends, as after a merge: the remedy and some bounds of the muxer, alone and together.
fn every_budget() -> Vec<Budgets> {
    const LIMITS: &str = "1 2 3 4 6 8 16 32 10us 25us 50us 100us 200us";
    const PLACES: [&[&str]; 4] = [&["connection"], &["muxer"], &["task"], &["muxer", "task"]];
    const REMEDY: &str = "flush=32KiB";
    const MUXER_BOUNDS: [&str; 3] = ["muxer=1/deferred", "muxer=2/deferred", "muxer=4/deferred"];
    let with_wakes = |limit: &str| [limit.to_owned(), format!("{limit}/deferred")];
    let bounds = LIMITS.split(' ').flat_map(with_wakes);
    let in_central = bounds.chain(["coop".to_owned()]).flat_map(|bound| {
        PLACES.map(|sites| {
            let parts = sites.iter().map(|site| format!("{site}={bound}"));
            parts.collect::<Vec<_>>().join(",")
        })
    });
    let pairs = MUXER_BOUNDS.map(|bound| format!("{REMEDY},{bound}"));
    let alone = [REMEDY].into_iter().chain(MUXER_BOUNDS).map(str::to_owned);
    let at_both = alone.chain(pairs).map(|budgets| budgets + "@both");
    let all = in_central.chain(at_both);
    all.map(|budgets| budgets.parse().expect("it is a budget"))
        .collect()
}

pub(crate) fn read(dir: &Path) -> Result<Search, Failure> {
    read_versioned(&dir.join(SEARCH)).map_err(bad_input)
}

pub(crate) fn run(dir: &Path, args: &SweepArgs, cores: &Cores) -> Result<u8, Failure> {
    let search = read(dir)?;
    let (time, began) = (Duration::from_millis(search.time_ms), Instant::now());
    let mut code = MEASURED;
    let mut measure = |folder: PathBuf, config: SweepConfig, share: Duration| {
        let asked = if folder.join(MANIFEST).is_file() {
            AskedSweep::Resume(folder)
        } else {
            let share = share.max(shortest_time(&config));
            AskedSweep::Measure(fitted_into(config, share)?, folder)
        };
        code = sweep::carry_out(asked, MANIFEST, &args.program)?;
        let goes_on = [MEASURED, SOME_FAILED].contains(&code);
        // Sweeping has moved this process away from central's core, which `analysis` may use.
        move_thread_to(cores)?;
        Ok::<bool, Failure>(goes_on)
    };
    if search.chooses_cells {
        eprint_line("first look: which cells to search in");
        let config = SweepConfig {
            variants: search.config.variants[..2].to_vec(),
            ..search.config.clone()
        };
        if !measure(first_look(dir), config, time / 12)? {
            return Ok(code);
        }
    }
    for number in 1..=ROUNDS {
        let next = next_round(dir)?;
        if next.candidates.is_empty() {
            break;
        }
        eprint_line(format!(
            "round {number} of {ROUNDS}: {} budgets",
            next.candidates.len()
        ));
        let budgets: Vec<Budgets> = [Budgets::NONE].into_iter().chain(next.candidates).collect();
        let config = SweepConfig {
            axes: Axes::only(next.cells),
            variants: variants(&LIBP2P, &search.config.node, &budgets, &[], true)?,
            ..search.config.clone()
        };
        let share = time.saturating_sub(began.elapsed()) / (ROUNDS + 1 - number);
        if !measure(round(dir, number), config, share)? {
            return Ok(code);
        }
    }
    if let Some(best) = next_round(dir)?.candidates.first() {
        // A diff for each of upstream's repositories that it changes.
        for source in pristine::find(&upstream_manifest(), &budget_patch::packages(best))? {
            let diff = budget_patch::diff(&source, best, &DiffRoot::Repository.prefix(&source))?;
            write_whole(&dir.join(format!("{}.diff", source.name)), &diff)?;
        }
    }
    Ok(code)
}

fn next_round(dir: &Path) -> Result<NextRound, Failure> {
    /// `analysis` needs much less.
    const LIMITS: ChildLimits = ChildLimits {
        time: Duration::from_secs(600),
        bytes: 16 << 20,
    };
    let output = LIMITS.output(&mut analysis("next-round", dir)?);
    let output = output.context("analysis next-round")?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(anyhow!("analysis next-round: {}", words.trim()).into());
    }
    Ok(serde_json::from_slice(&output.stdout).context("what analysis next-round printed")?)
}
