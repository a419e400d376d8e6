//! Measures the cells of a grid. Each launch is written to disk when it ends.

pub(crate) mod args;
mod jobs;
mod list;
pub(crate) mod run_folder;
mod running;
mod schedule;
pub(crate) mod time;

use std::collections::BTreeMap;
use std::sync::Mutex;

use anyhow::Result;
use program::{Failure, eprint_line, print_line};
use run_format::search::is_search;
use run_format::{Machine, Manifest, plan};
use swarm_patch::subject::builder::Program;

use self::args::AskedSweep;
use self::running::{RunningSweep, SweepState};
use self::schedule::schedule;
use self::time::SavedTime;
use crate::cell::round_trip;
use crate::manifest;
use crate::node_program::NodeProgramArgs;
use crate::programs::Programs;
use crate::progress::{MEASURED, Progress, RunCounts};
use crate::results_folder::{self, ResultsFolder};
use crate::session::Session;
use crate::subject_builds::{to_build, write_edits_and_locks};

/// Carries out a new or a resumed sweep, or a dry run. The manifest is the file `name` in the sweep's folder.
pub(crate) fn carry_out(
    asked: AskedSweep,
    name: &str,
    node: &NodeProgramArgs,
) -> Result<u8, Failure> {
    let (manifest, programs, dir) = match asked {
        AskedSweep::DryRun(config) => {
            list::dry_run(&config);
            if let Some(line) = to_build(&config, node.stack, Program::Measuring)? {
                print_line(line);
            }
            return Ok(MEASURED);
        }
        AskedSweep::Measure(mut config, dir) => {
            let hint = format!(" (to continue it: --resume {})", dir.display());
            // A killed task may have left a shard's folder without a manifest, in which nothing was measured.
            let is_left = config.shard.is_some() && dir.is_dir();
            if !is_left {
                results_folder::refuse_existing(&dir, &hint)?;
            }
            let programs = Programs::prepare(&mut config, node)?;
            // Links to other hosts have round trips of their own, which are measured first.
            let cells = config.axes.cells().into_iter();
            let largest = cells.max_by_key(|cell| cell.peers);
            if let Some(cell) = largest.filter(|_| config.lab.peer_hosts.is_some()) {
                let run = plan::run::launch_config(&config, cell, 1, None, config.seed);
                let peer = programs.for_launch(None, None).peer;
                config.axes.rtt_ms = vec![round_trip(&run, &peer)?];
            }
            let description = programs.describe()?;
            if !is_left {
                results_folder::create(&dir)?;
            }
            write_edits_and_locks(&config, node.stack, &dir)?;
            let manifest = manifest::begin(&dir, name, config, &description)?;
            (manifest, programs, dir)
        }
        AskedSweep::Resume(dir) => {
            let manifest = manifest::read(&dir, name)?;
            let programs = Programs::find_again(&manifest.config, &node.with_stack_of(&manifest))?;
            manifest::check_same(&manifest, &programs.describe()?, &dir)?;
            (manifest, programs, dir)
        }
    };
    let folder = ResultsFolder::lock(&dir, name, manifest.config.shard.is_some())?;
    Ok(measure(&manifest, &programs, folder)?)
}

fn measure(manifest: &Manifest, programs: &Programs, folder: ResultsFolder) -> Result<u8> {
    let config = &manifest.config;
    if let Some(amiss) = config.lab.placement.too_few_cores(config.runtime.workers) {
        eprint_line(format!("warning: {amiss}"));
    }
    let launches = schedule(config);
    let also_alone = jobs::alone(config, &launches);
    let all = launches
        .iter()
        .chain(also_alone.iter().map(|launch| &launch.0));
    let progress = Progress::new((launches.len() + also_alone.len()) as u64, true);
    let peers = match &config.jobs {
        Some(jobs) => jobs.peers(),
        None => config.lab.placement.peers.clone(),
    };
    let machine = Machine::this_host();
    let sweep = RunningSweep {
        config,
        programs,
        machine: (machine.host != manifest.machine.host).then_some(machine),
        session: Session::begin(folder, progress, &peers)?,
        state: Mutex::new(SweepState {
            time: SavedTime::new(all, config),
            counts: RunCounts::default(),
            failures: BTreeMap::new(),
            first_failures: BTreeMap::new(),
        }),
    };
    let is_complete = jobs::run(&sweep, &launches, &also_alone)? && sweep.launch_without_graft()?;
    let (folder, progress) = (&sweep.session.folder, &sweep.session.progress);
    let mut state = sweep.state();
    let counts = &mut state.counts;
    counts.interrupted = !is_complete;
    progress.finish(&counts.summary("runs measured"), &folder.path);
    if counts.exit_code() != MEASURED {
        // A round is resumed with its search.
        let search = folder.path.parent().filter(|parent| is_search(parent));
        let resumed = search.unwrap_or(&folder.path).display();
        eprint_line(format!("to measure the rest: --resume {resumed}"));
    }
    Ok(counts.exit_code())
}

#[cfg(test)]
mod fixture {
    use std::path::Path;

    use run_format::files::{MANIFEST, read_versioned};
    use run_format::{Manifest, SweepConfig};

    /// The configuration of the fixture, in which each launch has its default time.
    pub(super) fn fixture_config() -> SweepConfig {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture");
        let manifest: Manifest = read_versioned(&fixture.join(MANIFEST)).expect("the fixture");
        SweepConfig {
            max_cell_ms: None,
            ..manifest.config
        }
    }
}
