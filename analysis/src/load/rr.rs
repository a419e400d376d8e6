//! A run of `rr`: transactions by libp2p and by raw TCP, slice by slice.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::{
    blocks::{Turn, complete_blocks},
    histograms::{self, start_key},
    run::RunFiles,
    tables::{self, counts, maybe_counts, maybe_reals, reals, words},
    variant::{Role, Variant},
};
use crate::stats::Counts;

/// The manifest's file where `rr` measured.
pub(crate) const MANIFEST: &str = "rr.json";
pub(crate) const TABLE: &str = "rr.csv";
const LATENCY: &str = "latency";

/// A stretch of a run in which transactions went one way. What could not be measured is absent.
#[derive(Clone, Debug)]
pub(crate) struct RrSlice {
    pub(crate) duration_ms: f64,
    /// What is counted as sums spans this time.
    pub(crate) sampled_ms: f64,
    pub(crate) transactions: u64,
    pub(crate) other_way_transactions: u64,
    pub(crate) lost_entries: u64,
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) user_ms: Option<f64>,
    pub(crate) system_ms: Option<f64>,
    /// Both ways, headers included.
    pub(crate) link_bytes: Option<u64>,
    pub(crate) libp2p_polls: u64,
    pub(crate) latency_ns: Counts,
}

/// A run with everything that was seen in it.
pub(crate) struct RrRun {
    /// In the order of time.
    pub(crate) slices: Vec<RrSlice>,
    /// The complete blocks: in each the slices of every variant, by variant.
    pub(crate) blocks: Vec<Vec<usize>>,
}

/// Reads it.
pub(crate) fn read(files: &RunFiles, variants: &[Variant]) -> Result<RrRun> {
    let torn = files.row.is_none();
    let path = files.dir.join(TABLE);
    let at = || path.display().to_string();
    let frame = tables::read(&path, tables::RR, torn)?;
    let log = files.dir.join("histograms.hlog");
    let mut latencies = histograms::read(&log, torn, |tag| {
        tag.split_once(".v")
            .filter(|(what, _)| *what == LATENCY)
            .map(|(what, _)| what.to_owned())
    })?;

    let count = |name| counts(&frame, name);
    let (block, variant) = (count("block")?, count("variant")?);
    let (start_ms, duration_ms) = (reals(&frame, "start_ms")?, reals(&frame, "duration_ms")?);
    let sampled_ms = reals(&frame, "sampled_ms")?;
    let (transactions, others) = (count("transactions")?, count("other_way_transactions")?);
    let (lost, polls) = (count("lost_entries")?, count("libp2p_polls")?);
    let cpu_ns = maybe_counts(&frame, "central_cpu_ns")?;
    let user_ms = maybe_reals(&frame, "central_user_ms")?;
    let system_ms = maybe_reals(&frame, "central_system_ms")?;
    let received = maybe_counts(&frame, "central_received_bytes")?;
    let sent = maybe_counts(&frame, "central_sent_bytes")?;

    let (mut slices, mut turns) = (Vec::new(), Vec::new());
    for (row, way) in words(&frame, "way")?.into_iter().enumerate() {
        let variant = usize::try_from(variant[row])?;
        let line = || format!("{}: line {}", at(), row + 2);
        check_way(&way, variants.get(variant)).with_context(line)?;
        let latency_ns = latencies
            .remove(&(start_key(start_ms[row]), LATENCY.to_owned()))
            .unwrap_or_default();
        if latency_ns.total() != transactions[row] {
            bail!(
                "{}: {} transactions, but {} in {}",
                line(),
                transactions[row],
                latency_ns.total(),
                log.display()
            );
        }
        turns.push(Turn {
            slice: row,
            block: block[row],
            variant,
        });
        slices.push(RrSlice {
            duration_ms: duration_ms[row],
            sampled_ms: sampled_ms[row],
            transactions: transactions[row],
            other_way_transactions: others[row],
            lost_entries: lost[row],
            cpu_ns: cpu_ns[row],
            user_ms: user_ms[row],
            system_ms: system_ms[row],
            link_bytes: received[row].zip(sent[row]).map(|(one, other)| one + other),
            libp2p_polls: polls[row],
            latency_ns,
        });
    }
    let blocks = complete_blocks(turns, variants.len()).with_context(at)?;
    told_as_many(files, &path, blocks.len())?;
    Ok(RrRun { slices, blocks })
}

/// The baseline and its twin are raw TCP.
fn check_way(way: &str, variant: Option<&Variant>) -> Result<()> {
    let Some(variant) = variant else {
        bail!("there is no such variant");
    };
    let expected = match variant.role {
        Role::Baseline | Role::Twin => "raw-tcp",
        Role::Candidate => "libp2p",
    };
    if way != expected {
        bail!("{way} is not the way of variant {}", variant.label);
    }
    Ok(())
}

fn told_as_many(files: &RunFiles, path: &Path, blocks: usize) -> Result<()> {
    match files.row.as_ref().and_then(|row| row.blocks) {
        Some(told) if told as usize != blocks => bail!(
            "{}: {blocks} complete blocks, but run.json says {told}",
            path.display()
        ),
        _ => Ok(()),
    }
}
