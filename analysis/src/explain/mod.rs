//! Why the worst cells are slow: figures, pictures and findings from the evidence of their second launches.

pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod findings;
pub(crate) mod flamegraph;
pub(crate) mod stacks;
mod sums;
pub(crate) mod thresholds;
pub(crate) mod warm;
pub(crate) mod worst;

use program::{Failure, bad_input};
use run_format::{Site, tables::Pass};

use self::{
    findings::WorkFinding,
    sums::{PassSums, counted_once, ratio},
    thresholds::LOST_PERCENT,
};
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
        let of_cell = |cell: &CellExplained| findings::find(&cell.evidence, &sites, slow_from_ns);
        let findings = cells.iter().flat_map(of_cell).collect();
        let compared = explained.file.variants.into_iter();
        Explanation {
            variants: compared
                .map(|variant| (variant, variants[variant].label.clone()))
                .collect(),
            site,
            sites,
            slow_from_ns,
            cells,
            findings: findings::sorted(findings),
            flaws: explained.flaws,
        }
    }

    fn label(&self, variant: usize) -> &str {
        let found = self.variants.iter().find(|(of, _)| *of == variant);
        found.map_or("", |(_, label)| label)
    }
}

impl CellExplained {
    pub(crate) fn id(&self) -> &str {
        &self.chosen.id
    }

    /// The share of slow polls of the baseline in slices that collect no evidence.
    pub(crate) fn slow_percent(&self, site: Site, from_ns: u64) -> Option<f64> {
        let sums = PassSums::of(&self.evidence, Pass::Normal, 0)?;
        let [slow, all] = [from_ns, 0].map(|from_ns| sums.polls(site, from_ns)[0] as f64);
        Some(100.0 * ratio(slow, all)?)
    }

    /// The lost percentage by kind of evidence, for kinds of which too much is lost for the rest to be representative.
    pub(crate) fn lost(&self) -> Vec<(&'static str, f64)> {
        let evidence = &self.evidence;
        let (stacks, calls) = (&evidence.stacks, &evidence.system_calls);
        let of_stacks = counted_once(stacks.iter().map(|it| it.site));
        let of_calls = counted_once(calls.iter().map(|it| it.site));
        let stacks = stacks.iter().filter(|it| of_stacks(it.site));
        let calls = calls.iter().filter(|it| of_calls(it.site));
        let sites = || evidence.sites.iter();
        let kept: [u64; 4] = [
            stacks.map(|it| it.samples).sum(),
            calls.map(|it| it.calls).sum(),
            sites().map(|it| it.polls).sum(),
            evidence.children.iter().map(|it| it.polls).sum(),
        ];
        let lost = [
            ("sampled stacks", evidence.seen.stacks_lost.unwrap_or(0)),
            ("system calls", evidence.seen.system_calls_lost.unwrap_or(0)),
            ("polls", sites().map(|it| it.lost).sum()),
            (
                "polls of children",
                sites().map(|it| it.children_lost).sum(),
            ),
        ];
        let percents = lost
            .into_iter()
            .zip(kept)
            .filter(|((_, lost), _)| *lost > 0);
        percents
            .map(|((what, lost), kept)| (what, 100.0 * lost as f64 / (kept + lost) as f64))
            .filter(|(_, percent)| *percent > LOST_PERCENT)
            .collect()
    }
}
