//! What is compared in a sweep: variants, or the variants of every subject.

use poll_probe::Budget;
use run_format::config::SweepConfig;
use run_format::subject::SubjectConfig;
use run_format::variant::{Role, VariantConfig};
use run_format::{Budgets, Site};

/// A variant of the program under test, or of one of several subjects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComparedVariant {
    pub(crate) label: String,
    pub(crate) role: Role,
    pub(crate) budgets: Budgets,
    /// Index into the subjects; 0 without subjects.
    pub(crate) subject: usize,
}

impl ComparedVariant {
    pub(crate) fn bounds(&self) -> impl Iterator<Item = (Site, Budget)> {
        let budgets = self.budgets;
        let of_site = move |site| Some((site, budgets.at(site)?));
        Site::BUDGETED.into_iter().filter_map(of_site)
    }

    /// Whether it is the baseline's program with a budget that changes nothing unless it fires. A budget of QUIC's
    /// drivers also takes away the bound that upstream has.
    pub(crate) fn acts_by_firing(&self) -> bool {
        let mut bounds = self.bounds().peekable();
        self.subject == 0 && bounds.peek().is_some() && bounds.all(|(site, _)| !site.is_of_quic())
    }
}

/// The variants, or those of every subject, the first subject's first. The baseline is the first variant of the
/// first subject, and its A/A control is that of the subject's A/A control.
pub(super) fn compared(config: &SweepConfig) -> Vec<ComparedVariant> {
    let variant = |variant: &VariantConfig| ComparedVariant {
        label: variant.label.clone(),
        role: variant.role,
        budgets: variant.budgets,
        subject: 0,
    };
    let variants: Vec<ComparedVariant> = config.variants.iter().map(variant).collect();
    if config.subjects.is_empty() {
        return variants;
    }
    let subjects = config.subjects.iter().enumerate();
    let of_subject = subjects.flat_map(|(number, subject)| {
        let variants = variants.iter().enumerate();
        variants.map(move |(at, variant)| ComparedVariant {
            label: match config.variants.len() {
                1 => subject.label.clone(),
                _ => format!("{}, {}", subject.label, variant.label),
            },
            role: match at {
                0 => subject.role,
                _ => Role::Candidate,
            },
            subject: number,
            ..variant.clone()
        })
    });
    of_subject.collect()
}

/// "`my-fix`: 1a2b3c4d5e "Fix the loop"; its peers run it, too".
pub(crate) fn sources(subject: &SubjectConfig) -> String {
    let both = match subject.peers > 0 {
        true => "; its peers run it, too",
        false => "",
    };
    format!("`{}`: {}{both}", subject.label, subject.sources())
}

#[cfg(test)]
mod tests {
    use poll_probe::{Limit, Wake};

    use super::*;

    #[test]
    fn a_coop_budget_has_a_deferred_wake() {
        let bounds = |budgets: &str| {
            let variant = ComparedVariant {
                label: budgets.to_owned(),
                role: Role::Candidate,
                budgets: budgets.parse().expect("budgets"),
                subject: 0,
            };
            variant.bounds().collect::<Vec<_>>()
        };
        let coop = bounds("task=coop");
        let (site, Budget { limit, wake, .. }) = coop[0];
        assert_eq!(
            (coop.len(), site, limit, wake),
            (1, Site::Task, Limit::Coop, Wake::Deferred)
        );
        assert_eq!(bounds("none"), []);
    }
}
