//! What the budgets did: the numbers are in [`variant`], the sentences in [`words`].

pub(crate) mod holders;
mod variant;
pub(crate) mod words;

use run_format::Site;

pub(crate) use self::variant::{
    AtRtt, Class, Effect, InCell, SiteYields, VariantVerdict, is_share,
};

use crate::{measure::metric::Metric, summary::Summary};

/// The verdict on a sweep.
pub(crate) struct Verdict {
    /// The site whose slow polls it is about.
    pub(crate) site: Site,
    /// The number of cells in which variants could be compared.
    pub(crate) cells: usize,
    pub(crate) candidates: Vec<VariantVerdict>,
    /// The A/A control, treated like a candidate.
    pub(crate) control: Option<VariantVerdict>,
    /// The candidate that helps most: an index into `candidates`.
    pub(crate) leading: Option<usize>,
    /// The candidate that intervenes least without a resolved cost: likewise.
    pub(crate) smallest: Option<usize>,
}

impl Verdict {
    pub(crate) fn of(summary: &Summary, site: Site) -> Verdict {
        let candidates = VariantVerdict::all(summary, site, summary.candidates());
        let control = VariantVerdict::all(summary, site, summary.control().into_iter());
        Verdict {
            site,
            cells: compared(&candidates),
            leading: leading(&candidates),
            smallest: smallest(&candidates),
            candidates,
            control: control.into_iter().next(),
        }
    }
}

/// The cells with enough blocks for a comparison.
fn compared(candidates: &[VariantVerdict]) -> usize {
    let effects = candidates
        .iter()
        .filter_map(|it| it.effect(Metric::SlowPercent));
    effects.map(Effect::cells).max().unwrap_or(0)
}

/// Within the best class: the fewest losses, then the largest decrease of the share of slow polls.
fn leading(candidates: &[VariantVerdict]) -> Option<usize> {
    let change = |variant: &VariantVerdict| {
        let effect = variant.effect(Metric::SlowPercent);
        effect.and_then(|it| it.mean).map_or(0.0, |mean| mean.value)
    };
    of_best_class(candidates, |variant| {
        Some((variant.losses().len(), change(variant)))
    })
}

/// Within the best class that has a candidate without losses: the fewest yields.
fn smallest(candidates: &[VariantVerdict]) -> Option<usize> {
    of_best_class(candidates, |variant| {
        let yields = variant.yields.iter().filter_map(|it| it.per_1000);
        let yields: f64 = yields.map(|(mean, _)| mean).sum();
        variant.losses().is_empty().then_some((0, yields))
    })
}

/// The candidate with the smallest rank in the best class that has any with a rank.
fn of_best_class(
    candidates: &[VariantVerdict],
    rank: impl Fn(&VariantVerdict) -> Option<(usize, f64)>,
) -> Option<usize> {
    const BEST_FIRST: [Class; 3] = [Class::Helps, Class::CotenantOnly, Class::RatioOnly];
    BEST_FIRST.into_iter().find_map(|class| {
        let of_class = candidates
            .iter()
            .enumerate()
            .filter(|(_, it)| it.class == class);
        let ranked = of_class.filter_map(|(at, it)| Some((at, rank(it)?)));
        let first = ranked.min_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        first.map(|(at, _)| at)
    })
}
