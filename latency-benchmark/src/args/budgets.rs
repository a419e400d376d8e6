//! The budgets to compare.

use program::{Failure, reject};
use run_format::config::{NodeConfig, Transport};
use run_format::variant::{Role, VariantConfig};
use run_format::{Budgets, Site};
use swarm_patch::stacks::Stack;

pub(crate) fn given_or<T: Clone>(given: &[T], default: Vec<T>) -> Vec<T> {
    match given.is_empty() {
        true => default,
        false => given.to_vec(),
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

fn bounded_sites(stack: &Stack, node: NodeConfig) -> Vec<Site> {
    let has = |site: &Site| stack.sites.iter().any(|known| known.name == site.name());
    let sites = Site::BUDGETED.into_iter();
    sites
        .filter(|site| has(site) && node.has_site(*site))
        .collect()
}

pub(crate) fn unknown_site(stack: &Stack, node: NodeConfig, budgets: &Budgets) -> Option<Site> {
    let known = bounded_sites(stack, node);
    let mut bounded = Site::BUDGETED.into_iter();
    bounded.find(|site| budgets.at(*site).is_some() && !known.contains(site))
}

pub(crate) fn refuse_unknown_sites(
    stack: &Stack,
    node: NodeConfig,
    budgets: &Budgets,
) -> Result<(), Failure> {
    let Some(site) = unknown_site(stack, node, budgets) else {
        return Ok(());
    };
    let known = bounded_sites(stack, node).into_iter().map(Site::name);
    let over = match node.transport {
        Transport::Tcp => "",
        Transport::Quic => " over QUIC",
    };
    reject!(
        "--budget {budgets}: {}{over} has no site {site} (accepted: {})",
        stack.name,
        known.collect::<Vec<_>>().join(", ")
    )
}

/// The budgets to compare, with an A/A control of the first if wanted.
pub(crate) fn variants(
    (stack, node): (&Stack, NodeConfig),
    given: &[Budgets],
    default: &[Budgets],
    control: bool,
) -> Result<Vec<VariantConfig>, Failure> {
    let budgets = given_or(given, default.to_vec());
    refuse_twice("--budget", &budgets)?;
    budgets
        .iter()
        .try_for_each(|budgets| refuse_unknown_sites(stack, node, budgets))?;
    let variant = |budgets: Budgets| VariantConfig {
        label: budgets.to_string(),
        role: Role::Candidate,
        budgets,
    };
    let mut variants: Vec<VariantConfig> = budgets.into_iter().map(variant).collect();
    variants[0].role = Role::Baseline;
    if control {
        let mut control = variants[0].clone();
        control.label += " (A/A)";
        control.role = Role::Control;
        variants.insert(1, control);
    }
    Ok(variants)
}
