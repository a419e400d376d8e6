//! The budgets to compare.

use program::{Failure, reject};
use run_format::{Budgets, Ends, NodeConfig, Remedy, Site, Transport, VariantConfig};
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
    for (index, value) in values.iter().enumerate() {
        if values[..index].contains(value) {
            reject!("{argument}: {value} is given twice");
        }
    }
    Ok(())
}

/// Refuses budgets at both ends where peers cannot change budgets in step with central.
pub(crate) fn refuse_both_ends(budgets: &[Budgets], why: &str) -> Result<(), Failure> {
    let Some(both) = budgets.iter().find(|budgets| budgets.ends == Ends::Both) else {
        return Ok(());
    };
    reject!(
        "--budget {both}: {why}, so peers cannot change budgets in step with central (accepted: budgets without @both)"
    )
}

fn sites_with_budgets(stack: &Stack, node: &NodeConfig) -> Vec<Site> {
    let has = |site: &Site| stack.sites.iter().any(|known| known.name == site.name());
    let mut sites = Site::BUDGETED.to_vec();
    sites.retain(|site| has(site) && node.has_site(*site));
    sites
}

pub(crate) fn unknown_site(stack: &Stack, node: &NodeConfig, budgets: &Budgets) -> Option<Site> {
    let known = sites_with_budgets(stack, node);
    let all = Site::BUDGETED.into_iter();
    let bounded = all.filter(|site| budgets.at(*site).is_some());
    let mut asked = bounded.chain(budgets.remedies().map(Remedy::site));
    asked.find(|site| !known.contains(site))
}

pub(crate) fn refuse_unknown_sites(
    stack: &Stack,
    node: &NodeConfig,
    budgets: &Budgets,
) -> Result<(), Failure> {
    let Some(site) = unknown_site(stack, node, budgets) else {
        return Ok(());
    };
    let known = sites_with_budgets(stack, node).into_iter().map(Site::name);
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

pub(crate) fn variants(
    stack: &Stack,
    node: &NodeConfig,
    given: &[Budgets],
    default: &[Budgets],
    has_control: bool,
) -> Result<Vec<VariantConfig>, Failure> {
    let budgets = given_or(given, default.to_vec());
    refuse_twice("--budget", &budgets)?;
    for budgets in &budgets {
        refuse_unknown_sites(stack, node, budgets)?;
    }
    Ok(VariantConfig::from_budgets(budgets, has_control))
}
