//! Refuses figures that no run can have, whatever wrote them. Every figure has to be within the limits of its column, and
//! tables that say the same have to agree.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use run_format::files::{
    BANDS, BLOCKS, BOUNDS, CHILDREN, HISTOGRAMS, IDLE, PEERS, QUIC, SITES, SLICES, TURNS, WORK,
    WORKERS,
};
use run_format::{BandRow, Budgets, HistogramOf, MeasuredSpan, Pass, Plausible, RunRow, WorkRow};

use super::loaded_run::{LoadedRun, LoadedSite, LoadedSlice};

/// Times that are measured separately may differ by this factor, and by this much in each turn.
const SLACK: f64 = 1.1;
const SLACK_MS: f64 = 10.0;

pub(super) fn check(run: &LoadedRun) -> Result<()> {
    check_limits(run)?;
    check_blocks(run)?;
    let all_sites = |slice: &LoadedSlice| slice.sites.each_ref().map(Option::is_some);
    let has_workers = run.has_workers();
    for slice in &run.slices {
        let (number, first) = (slice.row.slice, &run.slices[0]);
        ensure!(
            all_sites(slice) == all_sites(first),
            "{SITES}: slice {number} has other sites than slice {}",
            first.row.slice
        );
        let mut left = slice
            .histograms
            .keys()
            .filter_map(|histogram| match histogram {
                HistogramOf::Polls(site) => Some(site),
                _ => None,
            });
        if let Some(site) = left.next() {
            bail!("{HISTOGRAMS}: {site} of slice {number} has a histogram, but no row in {SITES}");
        }
        slice.sites().try_for_each(check_site)?;
        check_counts(slice, has_workers)?;
        if !run.is_application {
            check_peers(slice, run.row.as_ref())?;
        }
    }
    run.row.as_ref().map_or(Ok(()), |row| check_times(run, row))
}

/// Refuses a figure that its column cannot have.
fn check_limits(run: &LoadedRun) -> Result<()> {
    let launch_span = span(run);
    for slice in &run.slices {
        let row = &slice.row;
        let span = MeasuredSpan {
            ms: row.duration_ms.max(row.sampled_ms),
            turns: row.turns.into(),
            ..launch_span
        };
        let number = row.slice;
        let place = |table| move || format!("{table}: slice {number}");
        row.check(&span).with_context(place(SLICES))?;
        check_all(&slice.after_switch, &span).with_context(place(TURNS))?;
        check_all(&slice.peers, &span).with_context(place(PEERS))?;
        check_all(&slice.workers, &span).with_context(place(WORKERS))?;
        check_all(&slice.quic, &span).with_context(place(QUIC))?;
        for site in slice.sites() {
            site.row.check(&span).with_context(place(SITES))?;
            check_all(&site.bands, &span).with_context(place(BANDS))?;
            check_all(&site.children, &span).with_context(place(CHILDREN))?;
            check_all(&site.bounds, &span).with_context(place(BOUNDS))?;
        }
    }
    for row in &run.block_rows {
        let span = MeasuredSpan {
            ms: row.duration_ms,
            ..launch_span
        };
        let block = row.block;
        row.check(&span)
            .with_context(|| format!("{BLOCKS}: block {block}"))?;
    }
    for row in &run.work {
        let block = row.block;
        row.check(&launch_span)
            .with_context(|| format!("{WORK}: block {block}"))?;
    }
    let Some(idle) = &run.idle else { return Ok(()) };
    let span = MeasuredSpan {
        ms: idle.duration_ms,
        // The idle time is short, and its readings have no steps.
        turns: 0.0,
        ..launch_span
    };
    idle.check(&span).context(IDLE)
}

fn check_all<'a, Row: Plausible + 'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    span: &MeasuredSpan,
) -> Result<()> {
    rows.into_iter().try_for_each(|row| row.check(span))
}

/// The span of the whole launch.
fn span(run: &LoadedRun) -> MeasuredSpan {
    let Some(row) = &run.row else {
        return MeasuredSpan::UNKNOWN;
    };
    MeasuredSpan {
        ms: row.took_ms as f64,
        turns: 1.0,
        threads: match run.is_application {
            // An application may have several runtimes and other threads.
            true => MeasuredSpan::UNKNOWN.threads,
            false => row.config.runtime.threads() as f64,
        },
        took_ms: row.took_ms as f64,
    }
}

/// Refuses tables about blocks that lack a row which another table implies, or that contradict it.
fn check_blocks(run: &LoadedRun) -> Result<()> {
    let block = |slice: &LoadedSlice| slice.row.block;
    let known: BTreeSet<u32> = run.slices.iter().map(block).collect();
    let with_row: BTreeSet<u32> = run.block_rows.iter().map(|row| row.block).collect();
    let mut complete = run.blocks.iter().map(|block| block.number);
    if run.row.as_ref().is_some_and(RunRow::is_measured) {
        if let Some(block) = with_row.difference(&known).next() {
            bail!("{BLOCKS}: block {block} is not in {SLICES}");
        }
        if let Some(block) = complete.find(|block| !with_row.contains(block)) {
            bail!("{BLOCKS}: block {block} is missing");
        }
    }
    // A run that was killed may have lost the row of the block.
    let work = run.work.iter().filter(|_| run.row.is_some());
    for WorkRow { block, .. } in work {
        ensure!(
            with_row.contains(block),
            "{WORK}: block {block} is not in {BLOCKS}"
        );
    }
    for row in &run.block_rows {
        let (block, ms) = (row.block, row.duration_ms);
        let slices = run.rows().filter(|slice| slice.block == block);
        let slices_ms: f64 = slices.map(|slice| slice.duration_ms).sum();
        ensure!(
            slices_ms <= SLACK * ms,
            "{BLOCKS}: block {block} takes {ms} ms, but its slices in {SLICES} {slices_ms} ms"
        );
    }
    let quic = || run.slices.iter().flat_map(|slice| &slice.quic);
    let sent = total(quic().map(|row| row.packets_sent));
    let lost = total(quic().map(|row| row.packets_lost));
    ensure!(
        lost <= sent,
        "{QUIC}: {lost} packets are lost, but {sent} are sent"
    );
    Ok(())
}

/// Checks the tables about a site against each other. Every poll has an end and is in a band, and children take no more time
/// than the polls that they are part of.
fn check_site(site: &LoadedSite) -> Result<()> {
    let row = &site.row;
    let (slice, name, polls) = (row.slice, row.site, row.polls);
    ensure!(
        u128::from(polls) == total([row.ready, row.pending, row.yielded]),
        "{SITES}: slice {slice}: polls of {name} are not ready, pending and yielded"
    );
    let in_bands = |column: fn(&BandRow) -> u64| total(site.bands.iter().map(column));
    for (whole, sum, what) in [
        (polls, in_bands(|band| band.polls), "polls"),
        (row.own_ns, in_bands(|band| band.ns), "ns"),
    ] {
        ensure!(
            sum == u128::from(whole),
            "{BANDS}: slice {slice}: {what} of {name} add up to {sum}, but to {whole} in {SITES}"
        );
    }
    // The sum is absent if no iteration was recorded.
    let iterations = site
        .bands
        .iter()
        .filter_map(|band| Some(u64::from(band.iterations?) * band.polls))
        .reduce(|sum, more| sum + more);
    ensure!(
        row.iterations == iterations,
        "{BANDS}: slice {slice}: iterations of {name} do not add up to those in {SITES}"
    );
    let from_ns: BTreeSet<u64> = site.children.iter().map(|child| child.from_ns).collect();
    for from_ns in from_ns {
        let all = site.children.iter();
        let children = all.filter(|child| child.from_ns == from_ns);
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
            pieces >= polls,
            "{BOUNDS}: slice {slice}: polls of {name} are cut into fewer pieces than there are polls"
        );
        ensure!(
            row.beyond_ns <= site.row.own_ns,
            "{BOUNDS}: slice {slice}: pieces of {name} are longer than its polls"
        );
    }
    check_histograms(site)
}

fn total(values: impl IntoIterator<Item = u64>) -> u128 {
    values.into_iter().map(u128::from).sum()
}

/// Checks counts that several tables have. Every poll of a connection ran on a worker.
fn check_counts(slice: &LoadedSlice, has_workers: bool) -> Result<()> {
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
        total(turns.iter().map(|turn| turn.polls)) <= u128::from(polls.unwrap_or(0)),
        "slice {number}: {TURNS} counts more polls than {SITES}"
    );
    let workers = &slice.workers;
    let on_workers = total(workers.iter().map(|worker| worker.polls));
    ensure!(
        !has_workers || (!workers.is_empty()).then_some(on_workers) == polls.map(u128::from),
        "{WORKERS}: slice {number}: the polls of all workers are not those of its connections"
    );
    Ok(())
}

/// Checks histograms: their sum is the time of the polls, to their precision, and no iteration is longer than its poll.
fn check_histograms(loaded: &LoadedSite) -> Result<()> {
    const PRECISION: f64 = 1.01;
    let (row, durations) = (&loaded.row, &loaded.duration_ns);
    // Histograms of other passes are not read.
    if loaded.lost() > 0 || durations.total() == 0 {
        return Ok(());
    }
    let (slice, site) = (row.slice, row.site);
    let [whole, sum] = [row.own_ns, durations.sum_above(0)].map(|ns| ns as f64);
    ensure!(
        sum <= PRECISION * whole && whole <= PRECISION * sum,
        "{HISTOGRAMS}: slice {slice}: polls of {site} take {sum} ns, but {whole} ns in {SITES}"
    );
    let Some(longest) = &loaded.longest_iteration_ns else {
        return Ok(());
    };
    ensure!(
        longest.total() <= row.polls && longest.sum_above(0) as f64 <= PRECISION * whole,
        "{HISTOGRAMS}: slice {slice}: the longest iterations of {site} are more or longer than its polls"
    );
    Ok(())
}

/// Checks the figures of peers: the requests of all peers are those of the slice.
fn check_peers(slice: &LoadedSlice, run: Option<&RunRow>) -> Result<()> {
    let (number, own) = (slice.row.slice, slice.row.requests.unwrap_or(0));
    ensure!(
        slice.row.requests.is_some() && slice.row.bytes.is_some(),
        "{SLICES}: slice {number}: its requests are missing"
    );
    let peers_of_cell = run.map_or(usize::MAX, |run| run.config.cell.peers);
    for row in &slice.peers {
        let (peer, p50, p99) = (row.peer, row.latency_p50_ns, row.latency_p99_ns);
        let is_possible = match row.requests {
            0 => p50.is_none() && p99.is_none(),
            _ => p50.is_some() && p50 <= p99,
        };
        ensure!(
            is_possible && (1..=peers_of_cell).contains(&peer),
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
        run.is_none() || rows == peers_of_cell,
        "{PEERS}: slice {number}: rows for {rows} peers, but the cell has {peers_of_cell}"
    );
    Ok(())
}

/// Checks the times of slices against the plan and of polls against the slices. A poll belongs to the turn in which it began,
/// and may end later.
fn check_times(run: &LoadedRun, row: &RunRow) -> Result<()> {
    let threads = span(run).threads;
    if let Some(idle) = run.idle {
        ensure!(
            (idle.wakes > 0) == idle.wake_p50_ns.is_some()
                && idle.wake_p50_ns.is_some() == idle.wake_p90_ns.is_some(),
            "{IDLE}: there are wake-ups without percentiles, or percentiles without wake-ups"
        );
    }
    let plan = &row.config.plan;
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
        for site in slice.sites() {
            let values = site.duration_ns.values().map(|(value, _)| value);
            // Histograms of other passes are not read.
            if let Some(longest_ns) = values.max() {
                let ms = site.row.own_ns as f64 / 1e6;
                let late_ms = turns * longest_ns as f64 / 1e6;
                let most_ms = SLACK * (threads * (row_ms + late_ms) + turns * SLACK_MS);
                ensure!(
                    ms <= most_ms,
                    "{name}: the time of polls is {ms} ms, of {most_ms} ms that there were"
                );
                // Recording the polls takes CPU time, too, and losses of less than 100 µs are not known.
                let cpu_ns = slice.row.central_cpu_ns.filter(|_| !run.is_application);
                let cpu_ms = cpu_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e6);
                ensure!(
                    ms / 2.0 <= cpu_ms + late_ms,
                    "{name}: CPU time is {cpu_ms} ms, but polls of {} ran for {ms} ms",
                    site.row.site
                );
            }
        }
    }
    Ok(())
}
