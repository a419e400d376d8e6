//! The budgets to compare.

use program::{Failure, reject};
use run_format::{
    Budgets, Site,
    variant::{Role, VariantConfig},
};
use swarm_patch::{sites::SiteSpec, stacks::Stack};

/// What was given, or else the default.
pub(crate) fn or<T: Clone>(given: &[T], default: Vec<T>) -> Vec<T> {
    if given.is_empty() {
        default
    } else {
        given.to_vec()
    }
}

pub(crate) fn refuse_twice<T: PartialEq + std::fmt::Display>(
    argument: &str,
    values: &[T],
) -> Result<(), Failure> {
    for (at, value) in values.iter().enumerate() {
        if values[..at].contains(value) {
            reject!("{argument}: {value} is given twice");
        }
    }
    Ok(())
}

/// Refuses a budget at a site that the stack does not have.
pub(crate) fn refuse_unknown_sites(stack: &Stack, budgets: &Budgets) -> Result<(), Failure> {
    let has = |site: &Site| stack.sites.iter().any(|it| it.name() == site.name());
    let mut bounded = Site::BUDGETED
        .into_iter()
        .filter(|site| budgets.at(*site).is_some());
    if let Some(site) = bounded.find(|site| !has(site)) {
        let known = stack.sites.iter().filter(|it| it.takes_budget);
        let known: Vec<String> = known.map(SiteSpec::name).collect();
        reject!(
            "--budget {budgets}: {} has no site {site} (accepted: {})",
            stack.name,
            known.join(", ")
        );
    }
    Ok(())
}

/// The budgets to compare, with an A/A control of the first if wanted.
pub(crate) fn variants(
    stack: &Stack,
    given: &[Budgets],
    default: &[Budgets],
    control: bool,
) -> Result<Vec<VariantConfig>, Failure> {
    let budgets = or(given, default.to_vec());
    refuse_twice("--budget", &budgets)?;
    budgets
        .iter()
        .try_for_each(|it| refuse_unknown_sites(stack, it))?;
    let mut variants: Vec<VariantConfig> = budgets
        .iter()
        .enumerate()
        .map(|(at, budgets)| VariantConfig {
            label: budgets.to_string(),
            role: if at == 0 {
                Role::Baseline
            } else {
                Role::Candidate
            },
            budgets: *budgets,
        })
        .collect();
    if control {
        let baseline = variants[0].clone();
        variants.insert(
            1,
            VariantConfig {
                label: format!("{} (A/A)", baseline.label),
                role: Role::Control,
                ..baseline
            },
        );
    }
    Ok(variants)
}
