//! Figures that no run can have are refused, whatever wrote them: tables that say the same agree, and no thread has more
//! time than there was.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};
use run_format::files::{
    BANDS, BLOCKS, BOUNDS, CHILDREN, HISTOGRAMS, IDLE, PEERS, SITES, SLICES, TURNS, WORK, WORKERS,
};
use run_format::{BandRow, Budgets, HistogramOf, Pass, RunRow, Scheduler, WorkRow};

use super::loaded_run::{LoadedRun, LoadedSite, LoadedSlice};

/// Readings are not taken at the same instant. The second is for each turn.
const SLACK: f64 = 1.1;
const SLACK_MS: f64 = 10.0;

pub(super) fn check(run: &LoadedRun) -> Result<()> {
    blocks(run)?;
    let all_sites = |slice: &LoadedSlice| slice.sites.each_ref().map(Option::is_some);
    let has_workers = run.has_workers();
    for slice in &run.slices {
        let (number, first) = (slice.row.slice, &run.slices[0]);
        ensure!(
            all_sites(slice) == all_sites(first),
            "{SITES}: slice {number} has other sites than slice {}",
            first.row.slice
        );
        slice.sites().try_for_each(site)?;
        counts(slice, has_workers)?;
        if !run.is_application {
            peers(slice, run.row.as_ref())?;
        }
    }
    run.row.as_ref().map_or(Ok(()), |row| times(run, row))
}

/// No row is missing that others tell of.
fn blocks(run: &LoadedRun) -> Result<()> {
    let block = |slice: &LoadedSlice| slice.row.block;
    let known: BTreeSet<u32> = run.slices.iter().map(block).collect();
    let machine: BTreeSet<u32> = run.machine.iter().map(|row| row.block).collect();
    let complete = run.blocks.iter().flatten();
    let mut complete = complete.map(|at| block(&run.slices[*at]));
    if run.row.as_ref().is_some_and(RunRow::is_measured) {
        if let Some(block) = machine.difference(&known).next() {
            bail!("{BLOCKS}: block {block} is not in {SLICES}");
        }
        if let Some(block) = complete.find(|block| !machine.contains(block)) {
            bail!("{BLOCKS}: block {block} is missing");
        }
    }
    // A run that was killed may have lost the block.
    let work = run.work.iter().filter(|_| run.row.is_some());
    for WorkRow { block, work_ns } in work {
        ensure!(
            machine.contains(block) && *work_ns > 0,
            "{WORK}: block {block} is not in {BLOCKS}, or has no time"
        );
    }
    Ok(())
}

/// Every poll has an end and is in a band, and a child has no more time than the polls that it is part of.
fn site(site: &LoadedSite) -> Result<()> {
    let row = &site.row;
    let (slice, name, polls) = (row.slice, row.site, row.polls);
    ensure!(
        u128::from(polls) == total([row.ready, row.pending, row.yielded]),
        "{SITES}: slice {slice}: polls of {name} are not ready, pending and yielded"
    );
    ensure!(
        row.own_ns <= row.wall_ns
            && row.wall_slow_polls <= polls
            && row.wall_beyond_ns <= row.wall_ns,
        "{SITES}: slice {slice}: polls of {name} ran for longer than they took"
    );
    let in_bands = |of: fn(&BandRow) -> u64| total(site.bands.iter().map(of));
    for (whole, sum, what) in [
        (polls, in_bands(|band| band.polls), "polls"),
        (row.own_ns, in_bands(|band| band.ns), "ns"),
    ] {
        ensure!(
            sum == u128::from(whole),
            "{BANDS}: slice {slice}: {what} of {name} add up to {sum}, but to {whole} in {SITES}"
        );
    }
    let from_ns: BTreeSet<u64> = site.children.iter().map(|child| child.from_ns).collect();
    for from_ns in from_ns {
        let children = site.children.iter();
        let children = children.filter(|child| child.from_ns == from_ns);
        let bands = site.bands.iter().filter(|band| band.from_ns == from_ns);
        let ns = total(children.map(|child| child.ns));
        let whole = total(bands.map(|band| band.ns));
        ensure!(
            site.lost() > 0 || ns as f64 <= SLACK * whole as f64,
            "{CHILDREN}: slice {slice}: the children in polls of {name} from {from_ns} ns take {ns} ns, but the polls {whole} ns"
        );
    }
    for row in &site.bounds {
        let pieces = row.pieces;
        ensure!(
            row.budget != Budgets::NONE || pieces == polls,
            "{BOUNDS}: {pieces} polls of {name} in slice {slice}, but {polls} in {SITES}"
        );
        ensure!(
            row.slow_pieces <= pieces,
            "{BOUNDS}: slice {slice}: more slow pieces than pieces"
        );
        ensure!(
            row.beyond_ns <= site.row.own_ns,
            "{BOUNDS}: slice {slice}: pieces of {name} are longer than its polls"
        );
    }
    for child in &site.children {
        ensure!(
            child.beyond_ns <= child.ns,
            "{CHILDREN}: slice {slice}: polls of {} exceed 50 µs by more than their time",
            child.child
        );
    }
    histograms(site)
}

fn total(values: impl IntoIterator<Item = u64>) -> u128 {
    values.into_iter().map(u128::from).sum()
}

/// What several tables count is the same. Every poll of a connection ran on a worker.
fn counts(slice: &LoadedSlice, has_workers: bool) -> Result<()> {
    let (number, requests) = (slice.row.slice, slice.row.requests.unwrap_or(0));
    let timed = slice.histogram(HistogramOf::Latency).total();
    // Histograms of other passes are not read.
    ensure!(
        timed == requests || slice.row.pass != Pass::Compare,
        "{SLICES}: slice {number}: {requests} requests, but {timed} in {HISTOGRAMS}"
    );
    let polls = slice.polls_of_connections();
    let has_children = slice.sites().any(|site| !site.children.is_empty());
    ensure!(
        slice.row.pass != Pass::Children || polls.unwrap_or(0) == 0 || has_children,
        "{CHILDREN}: slice {number} is missing"
    );
    let turns = &slice.after_switch;
    ensure!(
        total(turns.iter().map(|turn| turn.polls)) <= u128::from(polls.unwrap_or(u64::MAX))
            && turns.iter().all(|turn| turn.slow_polls <= turn.polls),
        "{TURNS}: slice {number}: more polls of a turn than the slice has, or more slow ones than polls"
    );
    let workers = &slice.workers;
    let on_workers = total(workers.iter().map(|worker| worker.polls));
    ensure!(
        !has_workers || (!workers.is_empty()).then_some(on_workers) == polls.map(u128::from),
        "{WORKERS}: slice {number}: the polls of all workers are not those of its connections"
    );
    Ok(())
}

/// A histogram has the time of the polls, to its precision. No iteration is longer than its poll.
fn histograms(of_site: &LoadedSite) -> Result<()> {
    const PRECISION: f64 = 1.01;
    let (row, durations) = (&of_site.row, &of_site.duration_ns);
    // Histograms of other passes are not read.
    if of_site.lost() > 0 || durations.total() == 0 {
        return Ok(());
    }
    let (slice, site) = (row.slice, row.site);
    let [whole, sum] = [row.own_ns, durations.sum_above(0)].map(|ns| ns as f64);
    ensure!(
        sum <= PRECISION * whole && whole <= PRECISION * sum,
        "{HISTOGRAMS}: slice {slice}: polls of {site} take {sum} ns, but {whole} ns in {SITES}"
    );
    let Some(longest) = &of_site.longest_iteration_ns else {
        return Ok(());
    };
    ensure!(
        longest.total() <= row.polls && longest.sum_above(0) as f64 <= PRECISION * whole,
        "{HISTOGRAMS}: slice {slice}: the longest iterations of {site} are more or longer than its polls"
    );
    Ok(())
}

/// The requests of all peers are those of the slice.
fn peers(slice: &LoadedSlice, run: Option<&RunRow>) -> Result<()> {
    let (number, own) = (slice.row.slice, slice.row.requests.unwrap_or(0));
    ensure!(
        slice.row.requests.is_some() && slice.row.bytes.is_some(),
        "{SLICES}: slice {number}: its requests are missing"
    );
    let there_are = run.map_or(usize::MAX, |run| run.config.cell.peers);
    for row in &slice.peers {
        let (peer, p50, p99) = (row.peer, row.latency_p50_ns, row.latency_p99_ns);
        let is_possible = match row.requests {
            0 => p50.is_none() && p99.is_none(),
            _ => p50.is_some() && p50 <= p99,
        };
        ensure!(
            is_possible && (1..=there_are).contains(&peer),
            "{PEERS}: slice {number}: peer {peer} cannot have these figures"
        );
    }
    let sum = total(slice.peers.iter().map(|row| row.requests));
    ensure!(
        sum == u128::from(own),
        "{PEERS}: slice {number}: {sum} requests of its peers, but {own} in {SLICES}"
    );
    let rows = slice.peers.len();
    ensure!(
        run.is_none() || rows == there_are,
        "{PEERS}: slice {number}: {rows} peers, of {there_are}"
    );
    Ok(())
}

/// A poll belongs to the turn in which it began, and may end later.
fn times(run: &LoadedRun, row: &RunRow) -> Result<()> {
    let runtime = row.config.runtime;
    let cores = (row.machine.as_ref()).and_then(|machine| machine.cores);
    let threads = match run.is_application {
        // It may have several runtimes and other threads.
        true => cores.unwrap_or(usize::MAX),
        // The swarm of a multi-thread runtime has the main thread.
        false => runtime.workers + usize::from(runtime.scheduler == Scheduler::MultiThread),
    };
    if let Some(idle) = run.idle {
        let cpu_ms = idle.central_cpu_ns.unwrap_or_default() as f64 / 1e6;
        let is_possible = (idle.wakes > 0) == idle.wake_p50_ns.is_some()
            && idle.wake_p50_ns <= idle.wake_p90_ns
            && idle.duration_ms <= row.took_ms as f64
            && cpu_ms <= SLACK * (threads as f64 * idle.duration_ms + SLACK_MS);
        ensure!(is_possible, "{IDLE}: no run can have these figures");
    }
    let (plan, took_ms) = (&row.config.plan, row.took_ms as f64);
    for slice in &run.slices {
        let name = format!("{SLICES}: slice {}", slice.row.slice);
        let (row_ms, turns, planned) = (slice.row.duration_ms, slice.row.turns, plan.turns);
        ensure!(
            (1..=planned).contains(&turns),
            "{name}: {turns} turns, of {planned} planned"
        );
        let turns = f64::from(turns);
        // A slice is as long as planned, or longer if the machine was busy.
        let least_ms = plan.turn_ms as f64 * turns;
        ensure!(
            SLACK * row_ms >= least_ms,
            "{name}: its duration is {row_ms} ms, of {least_ms} ms planned"
        );
        ensure!(
            row_ms <= SLACK * (took_ms + SLACK_MS),
            "{name}: its duration is {row_ms} ms, of {took_ms} ms that the run took"
        );
        let within = |what: &str, ms: f64, most_ms: f64| {
            ensure!(
                ms <= SLACK * (most_ms + turns * SLACK_MS),
                "{name}: {what} is {ms} ms, of {most_ms} ms that there were"
            );
            Ok(())
        };
        let cpu_ms = slice.row.central_cpu_ns.unwrap_or_default() as f64 / 1e6;
        within("CPU time", cpu_ms, threads as f64 * slice.row.sampled_ms)?;
        for site in slice.sites() {
            let values = site.duration_ns.values().map(|(value, _)| value);
            // Histograms of other passes are not read.
            if let Some(longest_ns) = values.max() {
                let most_ms = threads as f64 * (row_ms + turns * longest_ns as f64 / 1e6);
                within("the time of polls", site.row.own_ns as f64 / 1e6, most_ms)?;
            }
        }
    }
    Ok(())
}
