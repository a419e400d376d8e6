//! Figures that no run can have are refused, whatever wrote them: tables that say the same agree, and no thread has more
//! time than there was.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use anyhow::{Context, Result, bail, ensure};
use run_format::{
    Site,
    config::Scheduler,
    files,
    run_row::RunRow,
    tables::{Pass, PeerRow},
};

use super::{loaded_run::LoadedRun, slice::LoadedSlice};

/// Readings are not taken at the same instant. The second is for each turn.
const SLACK: f64 = 1.1;
const SLACK_MS: f64 = 10.0;

pub(super) fn check(run: &LoadedRun, peers: &[PeerRow]) -> Result<()> {
    whole(run)?;
    let bands = run.bands.iter();
    let polls = sums(bands.clone().map(|it| ((it.slice, it.site), it.polls)));
    let ns = sums(bands.clone().map(|it| ((it.slice, it.site), it.ns)));
    for slice in &run.slices {
        for site in slice.sites.iter().flatten().map(|site| &site.row) {
            let key = (site.slice, site.site);
            let ends = [site.ready, site.pending, site.yielded].map(u128::from);
            if u128::from(site.polls) != ends.iter().sum::<u128>() {
                let (slice, site) = key;
                bail!(
                    "{}: slice {slice}: polls of {site} are not ready, pending and yielded",
                    files::SITES
                );
            }
            same(key, site.polls, &polls, "polls")?;
            same(key, site.total_ns, &ns, "ns")?;
        }
    }
    counts(run)?;
    of_peers(run, peers)?;
    workers(run)?;
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
            bail!(
                "{}: block {block} is not in {}",
                files::BLOCKS,
                files::SLICES
            );
        }
        if let Some(block) = complete.find(|block| !machine.contains(block)) {
            bail!("{}: block {block} is missing", files::BLOCKS);
        }
    }
    let with_children: BTreeSet<u32> = run.children.iter().map(|row| row.slice).collect();
    let sites = |slice: &LoadedSlice| slice.sites.each_ref().map(Option::is_some);
    for slice in &run.slices {
        let number = slice.row.slice;
        ensure!(
            sites(slice) == sites(&run.slices[0]),
            "{}: slice {number} has other sites than slice {}",
            files::SITES,
            run.slices[0].row.slice
        );
        let polls = slice.of_connections().map_or(0, |it| it.row.polls);
        ensure!(
            slice.row.pass != Pass::Children || polls == 0 || with_children.contains(&number),
            "{}: slice {number} is missing",
            files::CHILDREN
        );
    }
    Ok(())
}

/// The requests of all peers are those of the slice.
fn of_peers(run: &LoadedRun, peers: &[PeerRow]) -> Result<()> {
    let there_are = run
        .row
        .as_ref()
        .map_or(usize::MAX, |row| row.config.cell.peers);
    for row in peers {
        let PeerRow { slice, peer, .. } = row;
        let is_timed = row.latency_p50_ns.is_some() && row.latency_p50_ns <= row.latency_p99_ns;
        let is_untimed = row.latency_p50_ns.is_none() && row.latency_p99_ns.is_none();
        ensure!(
            (1..=there_are).contains(peer)
                && if row.requests > 0 {
                    is_timed
                } else {
                    is_untimed
                },
            "{}: slice {slice}: peer {peer} cannot have these figures",
            files::PEERS
        );
    }
    let requests = sums(peers.iter().map(|it| (it.slice, it.requests)));
    let rows = sums(peers.iter().map(|it| (it.slice, 1)));
    for slice in &run.slices {
        let number = slice.row.slice;
        let sum = requests.get(&number).copied().unwrap_or_default();
        let own = slice.row.requests;
        ensure!(
            sum == u128::from(own),
            "{}: slice {number}: {sum} requests of its peers, but {own} in {}",
            files::PEERS,
            files::SLICES
        );
        let rows = rows.get(&number).copied().unwrap_or_default();
        ensure!(
            run.row.is_none() || rows == there_are as u128,
            "{}: slice {number}: {rows} peers, of {there_are}",
            files::PEERS
        );
    }
    Ok(())
}

/// Every poll of a connection ran on a worker.
fn workers(run: &LoadedRun) -> Result<()> {
    let polls = sums(run.workers.iter().map(|it| (it.slice, it.polls)));
    for slice in &run.slices {
        let number = slice.row.slice;
        let site = slice.of_connections();
        let site = site.map(|it| u128::from(it.row.polls));
        ensure!(
            run.workers.is_empty() || polls.get(&number).copied() == site,
            "{}: slice {number}: the polls of all workers are not those of its connections",
            files::WORKERS
        );
    }
    Ok(())
}

/// What several tables count is the same.
fn counts(run: &LoadedRun) -> Result<()> {
    for slice in &run.slices {
        let (number, requests) = (slice.row.slice, slice.row.requests);
        let timed = slice.latency_ns.total();
        // Histograms of other passes are not read.
        ensure!(
            timed == requests || slice.row.pass != Pass::Compare,
            "{}: slice {number}: {requests} requests, but {timed} in {}",
            files::SLICES,
            files::HISTOGRAMS
        );
        let turns = slice.after_switch.iter();
        let site = slice.of_connections().map(|it| it.row.polls);
        ensure!(
            turns.clone().map(|it| it.polls).sum::<u64>() <= site.unwrap_or(u64::MAX)
                && turns.clone().all(|it| it.slow_polls <= it.polls),
            "{}: slice {number}: more polls of a turn than the slice has, or more slow ones than polls",
            files::TURNS
        );
    }
    let mut bounds = run.bounds.iter();
    if let Some(row) = bounds.find(|it| it.slow_pieces > it.pieces) {
        bail!(
            "{}: slice {}: more slow pieces than pieces",
            files::BOUNDS,
            row.slice
        );
    }
    Ok(())
}

fn sums<K: Hash + Eq>(rows: impl Iterator<Item = (K, u64)>) -> HashMap<K, u128> {
    rows.fold(HashMap::new(), |mut sums, (key, value)| {
        *sums.entry(key).or_default() += u128::from(value);
        sums
    })
}

fn same(
    (slice, site): (u32, Site),
    whole: u64,
    bands: &HashMap<(u32, Site), u128>,
    what: &str,
) -> Result<()> {
    let sum = bands.get(&(slice, site)).copied().unwrap_or_default();
    ensure!(
        sum == u128::from(whole),
        "{}: slice {slice}: {what} of {site} add up to {sum}, but to {whole} in {}",
        files::BANDS,
        files::SITES
    );
    Ok(())
}

/// A child has no more time than the polls that it is part of.
fn children(run: &LoadedRun) -> Result<()> {
    let bands = run.bands.iter();
    let polls = sums(bands.map(|it| ((it.slice, it.site, it.from_ns), it.ns)));
    let children = run.children.iter();
    let children = sums(children.map(|it| ((it.slice, it.site, it.from_ns), it.ns)));
    for (key, ns) in children {
        let (slice, site, from_ns) = key;
        let lost = run
            .slice(slice)
            .and_then(|it| it.site(site))
            .map(|it| it.lost());
        let whole = polls.get(&key).copied().unwrap_or_default();
        if lost == Some(0) && ns as f64 > SLACK * whole as f64 {
            bail!(
                "{}: slice {slice}: the children in polls of {site} from {from_ns} ns take {ns} ns, but the polls {whole} ns",
                files::CHILDREN
            );
        }
    }
    Ok(())
}

/// A slice is as long as planned, or longer if the machine was busy.
pub(super) fn length(row: &RunRow, duration_ms: f64, turns: u32) -> Result<()> {
    let plan = &row.config.plan;
    ensure!(
        (1..=plan.turns).contains(&turns),
        "{turns} turns, of {} planned",
        plan.turns
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
    for slice in &run.slices {
        let (number, row_ms) = (slice.row.slice, slice.row.duration_ms);
        let turns = f64::from(slice.row.turns);
        let within = |what: &str, ms: f64, most_ms: f64| {
            ensure!(
                ms <= SLACK * (most_ms + turns * SLACK_MS),
                "{}: slice {number}: {what} is {ms} ms, of {most_ms} ms that there were",
                files::SLICES
            );
            Ok(())
        };
        length(row, row_ms, slice.row.turns)
            .with_context(|| format!("{}: slice {number}", files::SLICES))?;
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
