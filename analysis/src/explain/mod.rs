//! Why the worst cells are slow: figures, pictures and findings from the evidence of their second launches.

pub(crate) mod allocations;
pub(crate) mod counters;
pub(crate) mod files;
pub(crate) mod finding_kind;
pub(crate) mod findings;
mod flamegraph;
mod growth;
pub(crate) mod lost;
pub(crate) mod stacks;
pub(crate) mod sums;
pub(crate) mod system_calls;
pub(crate) mod thresholds;
mod trace;
pub(crate) mod warm;
pub(crate) mod worst;

use program::{Failure, bad_input};
use run_format::{Site, tables::Pass};

use self::findings::WorkFinding;
use crate::{
    load::{
        Sweep,
        explain::{CellExplained, Explained},
    },
    measure::breakdown::slow_from_ns,
    options::Options,
    site::SiteNames,
};

pub(crate) struct Explanation {
    /// The baseline and the variant that is compared with it: indices into the manifest's variants, and labels.
    pub(crate) variants: Vec<(usize, String)>,
    pub(crate) site: Site,
    pub(crate) sites: SiteNames,
    /// The first band of slow polls; none if no band is above the threshold.
    pub(crate) slow_from_ns: Option<u64>,
    pub(crate) cells: Vec<CellExplained>,
    /// The most severe first.
    pub(crate) findings: Vec<WorkFinding>,
    /// Problems with chosen cells that have no evidence.
    pub(crate) flaws: Vec<String>,
}

impl Explanation {
    /// None if nothing was explained.
    pub(crate) fn of(sweep: &Sweep, options: &Options) -> Result<Option<Explanation>, Failure> {
        let explained = Explained::read(&sweep.dir, &sweep.manifest).map_err(bad_input)?;
        Ok(explained.map(|explained| Explanation::new(explained, sweep, options)))
    }

    fn new(explained: Explained, sweep: &Sweep, options: &Options) -> Explanation {
        let variants = &sweep.manifest.config.variants;
        let slow_from_ns = slow_from_ns(options.figures.threshold);
        let manifest = &sweep.manifest;
        let sites = SiteNames::of(Some((&manifest.tool, &manifest.config.node)));
        let site = options.first_site(&sites);
        let cells = explained.cells;
        let findings = cells
            .iter()
            .flat_map(|cell| findings::of(&cell.evidence, &sites, slow_from_ns))
            .collect();
        Explanation {
            variants: explained
                .file
                .variants
                .iter()
                .map(|variant| (*variant, variants[*variant].label.clone()))
                .collect(),
            site,
            sites,
            slow_from_ns,
            cells,
            findings: findings::sorted(findings),
            flaws: explained.flaws,
        }
    }

    pub(crate) fn other(&self) -> Option<(usize, &str)> {
        let (variant, label) = self.variants.get(1)?;
        Some((*variant, label.as_str()))
    }

    pub(crate) fn label(&self, variant: usize) -> &str {
        worst::label(&self.variants, variant)
    }
}

impl CellExplained {
    /// The start of the names of the cell's files.
    pub(crate) fn id(&self) -> &str {
        &self.chosen.id
    }

    /// The share of slow polls of the baseline in slices that collect no evidence.
    pub(crate) fn slow_percent(&self, site: Site, from_ns: u64) -> Option<f64> {
        let sums = sums::PassSums::of(&self.evidence, &[Pass::Normal], 0)?;
        let (slow, all) = (sums.polls(site, from_ns).0, sums.polls(site, 0).0);
        Some(100.0 * sums::by(slow as f64, all as f64)?)
    }
}
