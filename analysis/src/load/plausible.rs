//! Figures that no run can have are refused, whatever wrote them: tables that say the same agree, and no thread has more
//! time than there was.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use anyhow::{Context, Result, bail, ensure};
use run_format::{
    config::Scheduler,
    files::{
        BANDS, BLOCKS, BOUNDS, CHILDREN, HISTOGRAMS, IDLE, PEERS, SITES, SLICES, TURNS, WORK,
        WORKERS,
    },
    run_row::RunRow,
    tables::{Pass, PeerRow, WorkRow},
};

use super::loaded_run::{LoadedRun, LoadedSite, LoadedSlice};

/// Readings are not taken at the same instant. The second is for each turn.
const SLACK: f64 = 1.1;
const SLACK_MS: f64 = 10.0;

pub(super) fn check(run: &LoadedRun, peers: &[PeerRow]) -> Result<()> {
    whole(run)?;
    sites(run)?;
    counts(run)?;
    of_peers(run, peers)?;
    children(run)?;
    run.row.as_ref().map_or(Ok(()), |row| times(run, row))
}

/// No row is missing that others tell of.
fn whole(run: &LoadedRun) -> Result<()> {
    let known: BTreeSet<u32> = run.slices.iter().map(|slice| slice.row.block).collect();
    let machine: BTreeSet<u32> = run.machine.iter().map(|row| row.block).collect();
    let blocks = run.all_blocks.as_ref().unwrap_or(&run.blocks);
    let mut complete = blocks.iter().flatten().map(|at| run.slices[*at].row.block);
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
    let with_children: BTreeSet<u32> = run.children.iter().map(|row| row.slice).collect();
    let sites = |slice: &LoadedSlice| slice.sites.each_ref().map(Option::is_some);
    for slice in &run.slices {
        let (number, first) = (slice.row.slice, &run.slices[0]);
        ensure!(
            sites(slice) == sites(first),
            "{SITES}: slice {number} has other sites than slice {}",
            first.row.slice
        );
        let polls = slice.of_connections().map_or(0, |it| it.row.polls);
        ensure!(
            slice.row.pass != Pass::Children || polls == 0 || with_children.contains(&number),
            "{CHILDREN}: slice {number} is missing"
        );
    }
    Ok(())
}

/// Every poll of a site has an end and is in a band.
fn sites(run: &LoadedRun) -> Result<()> {
    let bands = run.bands.iter();
    let polls = sums(bands.clone().map(|it| ((it.slice, it.site), it.polls)));
    let ns = sums(bands.map(|it| ((it.slice, it.site), it.ns)));
    let sites = run.slices.iter().flat_map(|slice| &slice.sites);
    for of_site in sites.flatten() {
        let row = &of_site.row;
        let (slice, site) = (row.slice, row.site);
        let ends = [row.ready, row.pending, row.yielded].map(u128::from);
        ensure!(
            u128::from(row.polls) == ends.iter().sum::<u128>(),
            "{SITES}: slice {slice}: polls of {site} are not ready, pending and yielded"
        );
        for (whole, sums, what) in [(row.polls, &polls, "polls"), (row.total_ns, &ns, "ns")] {
            let sum = sums.get(&(slice, site)).copied().unwrap_or_default();
            ensure!(
                sum == u128::from(whole),
                "{BANDS}: slice {slice}: {what} of {site} add up to {sum}, but to {whole} in {SITES}"
            );
        }
        histograms(of_site)?;
    }
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
    let [whole, sum] = [row.total_ns, durations.sum_above(0)].map(|ns| ns as f64);
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
fn of_peers(run: &LoadedRun, peers: &[PeerRow]) -> Result<()> {
    let there_are = run.row.as_ref().map(|row| row.config.cell.peers);
    let there_are = there_are.unwrap_or(usize::MAX);
    for row in peers {
        let PeerRow { slice, peer, .. } = row;
        let (p50, p99) = (row.latency_p50_ns, row.latency_p99_ns);
        let is_possible = match row.requests {
            0 => p50.is_none() && p99.is_none(),
            _ => p50.is_some() && p50 <= p99,
        };
        ensure!(
            is_possible && (1..=there_are).contains(peer),
            "{PEERS}: slice {slice}: peer {peer} cannot have these figures"
        );
    }
    let requests = sums(peers.iter().map(|it| (it.slice, it.requests)));
    let rows = sums(peers.iter().map(|it| (it.slice, 1)));
    for slice in &run.slices {
        let (number, own) = (slice.row.slice, slice.row.requests);
        let [sum, rows] = [&requests, &rows].map(|it| it.get(&number).copied().unwrap_or_default());
        ensure!(
            sum == u128::from(own),
            "{PEERS}: slice {number}: {sum} requests of its peers, but {own} in {SLICES}"
        );
        ensure!(
            run.row.is_none() || rows == there_are as u128,
            "{PEERS}: slice {number}: {rows} peers, of {there_are}"
        );
    }
    Ok(())
}

/// What several tables count is the same. Every poll of a connection ran on a worker.
fn counts(run: &LoadedRun) -> Result<()> {
    let on_workers = sums(run.workers.iter().map(|it| (it.slice, it.polls)));
    for slice in &run.slices {
        let (number, requests) = (slice.row.slice, slice.row.requests);
        let timed = slice.latency_ns.total();
        // Histograms of other passes are not read.
        ensure!(
            timed == requests || slice.row.pass != Pass::Compare,
            "{SLICES}: slice {number}: {requests} requests, but {timed} in {HISTOGRAMS}"
        );
        let turns = || slice.after_switch.iter();
        let polls = slice.of_connections().map(|it| it.row.polls);
        ensure!(
            turns().map(|it| it.polls).sum::<u64>() <= polls.unwrap_or(u64::MAX)
                && turns().all(|it| it.slow_polls <= it.polls),
            "{TURNS}: slice {number}: more polls of a turn than the slice has, or more slow ones than polls"
        );
        ensure!(
            run.workers.is_empty() || on_workers.get(&number).copied() == polls.map(u128::from),
            "{WORKERS}: slice {number}: the polls of all workers are not those of its connections"
        );
    }
    if let Some(row) = run.bounds.iter().find(|it| it.slow_pieces > it.pieces) {
        bail!(
            "{BOUNDS}: slice {}: more slow pieces than pieces",
            row.slice
        );
    }
    Ok(())
}

fn sums<Key: Hash + Eq>(rows: impl Iterator<Item = (Key, u64)>) -> HashMap<Key, u128> {
    rows.fold(HashMap::new(), |mut sums, (key, value)| {
        *sums.entry(key).or_default() += u128::from(value);
        sums
    })
}

/// A child has no more time than the polls that it is part of.
fn children(run: &LoadedRun) -> Result<()> {
    let bands = run.bands.iter();
    let polls = sums(bands.map(|it| ((it.slice, it.site, it.from_ns), it.ns)));
    let children = run.children.iter();
    let children = sums(children.map(|it| ((it.slice, it.site, it.from_ns), it.ns)));
    for (key, ns) in children {
        let (slice, site, from_ns) = key;
        let of_site = run.slice(slice).and_then(|it| it.site(site));
        let whole = polls.get(&key).copied().unwrap_or_default();
        ensure!(
            of_site.is_none_or(|it| it.lost() > 0) || ns as f64 <= SLACK * whole as f64,
            "{CHILDREN}: slice {slice}: the children in polls of {site} from {from_ns} ns take {ns} ns, but the polls {whole} ns"
        );
    }
    Ok(())
}

/// A slice is as long as planned, or longer if the machine was busy.
fn length(row: &RunRow, duration_ms: f64, turns: u32) -> Result<()> {
    let plan = &row.config.plan;
    let planned = plan.turns;
    ensure!(
        (1..=planned).contains(&turns),
        "{turns} turns, of {planned} planned"
    );
    let (least_ms, most_ms) = (plan.turn_ms as f64 * f64::from(turns), row.took_ms as f64);
    ensure!(
        SLACK * duration_ms >= least_ms,
        "its duration is {duration_ms} ms, of {least_ms} ms planned"
    );
    ensure!(
        duration_ms <= SLACK * (most_ms + SLACK_MS),
        "its duration is {duration_ms} ms, of {most_ms} ms that the run took"
    );
    Ok(())
}

/// A poll belongs to the turn in which it began, and may end later.
fn times(run: &LoadedRun, row: &RunRow) -> Result<()> {
    let runtime = row.config.runtime;
    // The swarm of a multi-thread runtime has the main thread.
    let threads = runtime.workers + usize::from(runtime.scheduler == Scheduler::MultiThread);
    if let Some(idle) = run.slices.first().and_then(|slice| slice.idle) {
        let cpu_ms = idle.central_cpu_ns.unwrap_or_default() as f64 / 1e6;
        let is_possible = (idle.wakes > 0) == idle.wake_p50_ns.is_some()
            && idle.wake_p50_ns <= idle.wake_p90_ns
            && idle.duration_ms <= row.took_ms as f64
            && cpu_ms <= SLACK * (threads as f64 * idle.duration_ms + SLACK_MS);
        ensure!(is_possible, "{IDLE}: no run can have these figures");
    }
    for slice in &run.slices {
        let (number, row_ms) = (slice.row.slice, slice.row.duration_ms);
        let turns = f64::from(slice.row.turns);
        let within = |what: &str, ms: f64, most_ms: f64| {
            ensure!(
                ms <= SLACK * (most_ms + turns * SLACK_MS),
                "{SLICES}: slice {number}: {what} is {ms} ms, of {most_ms} ms that there were"
            );
            Ok(())
        };
        length(row, row_ms, slice.row.turns)
            .with_context(|| format!("{SLICES}: slice {number}"))?;
        let cpu_ms = slice.row.central_cpu_ns.unwrap_or_default() as f64 / 1e6;
        within("CPU time", cpu_ms, threads as f64 * slice.row.sampled_ms)?;
        for site in slice.sites.iter().flatten() {
            let values = site.duration_ns.values().map(|(value, _)| value);
            // Histograms of other passes are not read.
            if let Some(longest_ns) = values.max() {
                let most_ms = threads as f64 * (row_ms + turns * longest_ns as f64 / 1e6);
                within("the time of polls", site.row.total_ns as f64 / 1e6, most_ms)?;
            }
        }
    }
    Ok(())
}
