//! Says why the worst cells are slow, with figures, pictures and findings from the evidence that `explain` collected in
//! launches of its own.

pub(crate) mod events;
pub(crate) mod findings;
pub(crate) mod flamegraph;
pub(crate) mod stacks;
mod sums;
pub(crate) mod thresholds;
pub(crate) mod worst;

use anyhow::Result;
use program::{Failure, bad_input};
use run_format::{BASELINE, ExplainFile, Pass, Site, SweepConfig};

use self::findings::WorkFinding;
use self::flamegraph::flamegraphs;
use self::sums::{PassSums, counted};
use self::thresholds::LOST_PERCENT;
use crate::load::explain::{LoadedExplanation, SlowPolls};
use crate::load::{CellEvidence, CellExplained, Sweep};
use crate::metrics::slow_from_ns;
use crate::new_folder::NewFile;
use crate::options::Options;
use crate::site::SiteNames;
use crate::stats::percent;

/// A variant of the only subject (0), or the baseline variant of a subject.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VariantKey {
    pub(crate) subject: usize,
    pub(crate) variant: usize,
}

impl VariantKey {
    /// The variant that all others are compared with.
    pub(crate) const BASELINE: VariantKey = VariantKey {
        subject: 0,
        variant: BASELINE,
    };
}

pub(crate) struct ExplainedVariant {
    pub(crate) key: VariantKey,
    pub(crate) label: String,
}

pub(crate) struct Explanation {
    /// The baseline, then what is compared with it.
    pub(crate) variants: Vec<ExplainedVariant>,
    pub(crate) site: Site,
    pub(crate) sites: SiteNames,
    /// The lower end of the first band of slow polls. It is absent if no band is above the threshold.
    pub(crate) slow_from_ns: Option<u64>,
    pub(crate) cells: Vec<CellExplained>,
    /// The findings of all launches, the most severe first.
    pub(crate) findings: Vec<WorkFinding>,
    /// A sentence for each problem with a launch.
    pub(crate) flaws: Vec<String>,
}

impl Explanation {
    pub(crate) fn read(sweep: &Sweep, options: &Options) -> Result<Option<Explanation>, Failure> {
        let manifest = &sweep.manifest;
        let slow_from_ns = slow_from_ns(options.figures.threshold_ns);
        let sites = SiteNames::recorded(&manifest.tool, &manifest.config.node);
        let polls = SlowPolls {
            site: options.judged_site(&sites),
            // With a threshold above all bands, no poll is known to be slow.
            from_ns: slow_from_ns.unwrap_or(u64::MAX),
        };
        let loaded = LoadedExplanation::read(sweep, polls).map_err(bad_input)?;
        Ok(loaded.map(|loaded| Explanation {
            variants: variants(&loaded.file, &manifest.config),
            site: polls.site,
            slow_from_ns,
            findings: all_findings(&loaded.cells, &manifest.config, &sites),
            sites,
            cells: loaded.cells,
            flaws: loaded.flaws,
        }))
    }

    pub(crate) fn has_subjects(&self) -> bool {
        self.variants
            .iter()
            .any(|explained| explained.key.subject > 0)
    }

    pub(crate) fn launches(&self) -> impl Iterator<Item = &CellEvidence> {
        let cells = self.cells.iter();
        cells.flat_map(|cell| cell.launches.values())
    }

    /// The place of a variant in `variants`.
    pub(crate) fn position(&self, key: VariantKey) -> Option<usize> {
        let mut variants = self.variants.iter();
        variants.position(|explained| explained.key == key)
    }

    pub(crate) fn label(&self, key: VariantKey) -> &str {
        let position = self.position(key);
        position.map_or("", |index| &self.variants[index].label)
    }
}

/// The explained variants: those of the only subject, or the baseline variant of each subject.
fn variants(file: &ExplainFile, config: &SweepConfig) -> Vec<ExplainedVariant> {
    let explained = |subject: usize, variant: usize| {
        let label = subject_label(config, subject).unwrap_or(&config.variants[variant].label);
        ExplainedVariant {
            key: VariantKey { subject, variant },
            label: label.clone(),
        }
    };
    if file.subjects.is_empty() {
        let variants = file.variants.iter();
        return variants.map(|variant| explained(0, *variant)).collect();
    }
    let subjects = file.subjects.iter();
    subjects
        .map(|subject| explained(*subject, BASELINE))
        .collect()
}

fn subject_label(config: &SweepConfig, subject: usize) -> Option<&String> {
    Some(&config.subjects.get(subject)?.label)
}

/// The findings of all launches, the most severe first. If there are subjects, each finding names its own.
fn all_findings(
    cells: &[CellExplained],
    config: &SweepConfig,
    sites: &SiteNames,
) -> Vec<WorkFinding> {
    let mut all = Vec::new();
    for (subject, evidence) in cells.iter().flat_map(|cell| &cell.launches) {
        let label = subject_label(config, *subject);
        let prefix = label.map_or_else(String::new, |label| format!("`{label}`: "));
        let found = findings::find(evidence, sites).into_iter();
        all.extend(found.map(|finding| WorkFinding {
            sentence: format!("{prefix}{}", finding.sentence),
            ..finding
        }));
    }
    findings::sorted(all)
}

impl CellExplained {
    pub(crate) fn id(&self) -> &str {
        &self.chosen.id
    }

    pub(crate) fn evidence(&self) -> &CellEvidence {
        &self.launches[&0]
    }
}

impl CellEvidence {
    /// The share of slow polls of the baseline in slices that collect no evidence.
    pub(crate) fn slow_percent(&self) -> Option<f64> {
        let SlowPolls { site, from_ns } = self.polls;
        let sums = PassSums::new(self, Pass::Normal, BASELINE);
        let [slow, all] = [from_ns, 0].map(|from_ns| sums.polls(site, from_ns).count as f64);
        percent(slow, all)
    }

    /// The kinds of evidence of which so much is lost that the rest may not be representative, with the lost percentage.
    pub(crate) fn lost(&self) -> Vec<(&'static str, f64)> {
        let sites = || self.sites.iter();
        let samples = counted(&self.stacks);
        let polls: u64 = sites().map(|site| site.polls).sum();
        let child_polls: u64 = self.children.iter().map(|child| child.polls).sum();
        let children_lost = sites().map(|site| site.children_lost).sum();
        let seen = &self.seen;
        let lost = [
            ("sampled stacks", samples, seen.stacks_lost.unwrap_or(0)),
            ("polls", polls, sites().map(|site| site.lost).sum()),
            ("polls of children", child_polls, children_lost),
        ];
        let with_percent = |(what, kept, lost): (_, u64, u64)| {
            let (kept, lost) = (kept as f64, lost as f64);
            let lost_percent = percent(lost, kept + lost)?;
            (lost_percent > LOST_PERCENT).then_some((what, lost_percent))
        };
        lost.into_iter().filter_map(with_percent).collect()
    }
}

pub(crate) const FOLDER: &str = "explain";

/// Makes the flamegraphs, traces and tables about explained cells.
pub(crate) fn files(explanation: &Explanation) -> Result<Vec<NewFile>> {
    let mut files = vec![NewFile {
        name: format!("{FOLDER}/findings.csv"),
        content: findings::csv(&explanation.findings)?,
    }];
    for cell in &explanation.cells {
        let mut add = |suffix: &str, content: Vec<u8>| {
            let name = format!("{FOLDER}/{}.{suffix}", cell.id());
            files.push(NewFile { name, content });
        };
        for flamegraph in flamegraphs(explanation, cell) {
            add(&flamegraph.name, flamegraph.svg()?);
        }
        let launches = cell.launches.iter();
        let worst: Vec<_> = launches
            .flat_map(|(subject, evidence)| worst::polls(evidence, *subject))
            .collect();
        if !worst.is_empty() {
            add("trace.json", worst::trace(cell.id(), &worst, explanation)?);
            add("worst.csv", worst::csv(&worst, explanation)?);
        }
    }
    Ok(files)
}
