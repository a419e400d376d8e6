//! A run of `rr`: transactions by libp2p and by raw TCP, slice by slice.

use anyhow::{Context, Result, bail};
use run_format::{
    files,
    histogram_tag::HistogramOf,
    table::read_table,
    tables::{PathRow, TrafficPath},
    variant::VariantConfig,
};

use super::{
    blocks::{self, Disturbances, Disturbed, SliceInBlock, check_count, complete_blocks},
    histograms::{self, start_key},
    plausible,
    run::RunFiles,
};
use crate::stats::Counts;

/// The period of a run in which transactions took one path.
#[derive(Clone, Debug)]
pub(crate) struct RrSlice {
    pub(crate) row: PathRow,
    pub(crate) latency_ns: Counts,
}

impl RrSlice {
    /// Received and sent, headers included.
    pub(crate) fn link_bytes(&self) -> Option<u64> {
        Some(self.row.central_received_bytes? + self.row.central_sent_bytes?)
    }
}

/// A run with everything that was measured in it.
pub(crate) struct RrRun {
    /// In the order of time.
    pub(crate) slices: Vec<RrSlice>,
    /// The complete blocks: in each the slices of every variant, by variant.
    pub(crate) blocks: Vec<Vec<usize>>,
    /// Complete blocks that are not in `blocks` because they were disturbed, and those that nevertheless are.
    pub(crate) set_aside: Disturbances,
    pub(crate) kept: Disturbances,
}

/// Reads it.
pub(crate) fn read(
    files: &RunFiles,
    variants: &[VariantConfig],
    disturbed: Disturbed,
) -> Result<RrRun> {
    let torn = files.row.is_none();
    let path = files.dir.join(files::RR);
    let rows: Vec<PathRow> = read_table(&path, torn)?;
    let log = files.dir.join(files::HISTOGRAMS);
    let mut latencies = histograms::read(&log, torn, |tag| tag.of == HistogramOf::Latency)?;
    let (mut slices, mut places) = (Vec::new(), Vec::new());
    for (index, row) in rows.into_iter().enumerate() {
        let line = || format!("{}: line {}", path.display(), index + 2);
        check_path(row.path, variants.get(row.variant)).with_context(line)?;
        if let Some(run) = &files.row {
            plausible::length(run, row.duration_ms, run.config.plan.turns).with_context(line)?;
        }
        let key = (start_key(row.start_ms), HistogramOf::Latency);
        let latency_ns = latencies.remove(&key).unwrap_or_default();
        if latency_ns.total() != row.transactions {
            bail!(
                "{}: {} transactions, but {} in {}",
                line(),
                row.transactions,
                latency_ns.total(),
                log.display()
            );
        }
        places.push(SliceInBlock {
            index,
            block: row.block,
            variant: row.variant,
        });
        slices.push(RrSlice { row, latency_ns });
    }
    let mut blocks =
        complete_blocks(places, variants.len()).with_context(|| path.display().to_string())?;
    check_count(blocks.len(), files.row.as_ref(), &path)?;
    let machine = blocks::machine(&files.dir, torn)?;
    let runtime = files.row.as_ref().map(|row| &row.config.runtime);
    let number = |block: &Vec<usize>| block.first().map_or(0, |at| slices[*at].row.block);
    let (set_aside, kept) = disturbed.set_aside((&machine, runtime), &mut blocks, number);
    Ok(RrRun {
        slices,
        blocks,
        set_aside,
        kept,
    })
}

fn check_path(path: TrafficPath, variant: Option<&VariantConfig>) -> Result<()> {
    let Some(variant) = variant else {
        bail!("there is no such variant");
    };
    if path != TrafficPath::of(variant.role) {
        bail!("{path} is not the path of variant {}", variant.label);
    }
    Ok(())
}
