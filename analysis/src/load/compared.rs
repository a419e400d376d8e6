//! The variants that are compared in a sweep. With subjects these are the variants of every subject.

use poll_probe::Budget;
use run_format::{Budgets, Measurement, Role, Site, SweepConfig, VariantConfig};
use serde::Serialize;

/// The reason why a variant is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ComparedRole {
    Baseline,
    /// A second copy of the baseline. It shows how large noise is.
    Control,
    Candidate,
    /// Another variant of the A/A control's subject, or a further copy of a subject's first variant. A report shows it
    /// and never advises to use it.
    NotJudged,
}

impl ComparedRole {
    /// A variant has the role that the manifest gives it, with these exceptions:
    ///
    /// - A candidate without a bound, such as `none@both`, does what the baseline does, so it is a control.
    /// - If the sweep has a control already, such a candidate is shown and not judged.
    /// - Beside raw TCP, libp2p is the candidate and needs no bound.
    fn in_sweep(variant: &VariantConfig, config: &SweepConfig) -> ComparedRole {
        if config.measurement == Measurement::Libp2pAndRawTcp {
            return variant.role.into();
        }
        let has_control = || {
            let mut variants = config.variants.iter();
            variants.any(|variant| variant.role == Role::Control)
        };
        match variant.role {
            Role::Candidate if variant.budgets.is_none() && has_control() => {
                ComparedRole::NotJudged
            }
            Role::Candidate if variant.budgets.is_none() => ComparedRole::Control,
            role => role.into(),
        }
    }
}

impl From<Role> for ComparedRole {
    fn from(role: Role) -> ComparedRole {
        match role {
            Role::Baseline => ComparedRole::Baseline,
            Role::Control => ComparedRole::Control,
            Role::Candidate => ComparedRole::Candidate,
        }
    }
}

/// A variant of the only subject, or of one of several subjects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComparedVariant {
    pub(crate) label: String,
    pub(crate) role: ComparedRole,
    pub(crate) budgets: Budgets,
    /// The index of the subject. It is 0 if there are no subjects.
    pub(crate) subject: usize,
}

impl ComparedVariant {
    pub(crate) fn bounds(&self) -> impl Iterator<Item = (Site, Budget)> {
        let budgets = self.budgets;
        let bound = move |site| Some((site, budgets.at(site)?));
        Site::BUDGETED.into_iter().filter_map(bound)
    }

    /// Whether the variant is the baseline's subject with a budget that changes nothing unless it fires. A budget of QUIC's
    /// drivers changes more, because it removes upstream's own bound, and a budget at both ends may fire at a peer.
    pub(crate) fn changes_nothing_unless_it_fires(&self) -> bool {
        let mut bounds = self.bounds().peekable();
        self.subject == 0
            && self.budgets.only_ends_polls_of_central()
            && bounds.peek().is_some()
            && bounds.all(|(site, _)| !site.is_of_quic())
    }
}

/// The variants of every subject, in the order of the subjects. Without subjects these are the variants. The baseline is the
/// first variant of the first subject, and the A/A control is the first variant of the subject that is the control.
pub(super) fn compared(config: &SweepConfig) -> Vec<ComparedVariant> {
    let variant = |variant: &VariantConfig| ComparedVariant {
        label: variant.label.clone(),
        role: ComparedRole::in_sweep(variant, config),
        budgets: variant.budgets,
        subject: 0,
    };
    let variants: Vec<ComparedVariant> = config.variants.iter().map(variant).collect();
    if config.subjects.is_empty() {
        return variants;
    }
    let subjects = config.subjects.iter().enumerate();
    let compared = subjects.flat_map(|(number, subject)| {
        let variants = variants.iter();
        variants.map(move |variant| ComparedVariant {
            label: match variant.role {
                ComparedRole::Baseline => subject.label.clone(),
                _ => format!("{}, {}", subject.label, variant.label),
            },
            role: match (subject.role, variant.role) {
                (role, ComparedRole::Baseline) => role.into(),
                (Role::Control, _) | (_, ComparedRole::Control | ComparedRole::NotJudged) => {
                    ComparedRole::NotJudged
                }
                _ => ComparedRole::Candidate,
            },
            subject: number,
            ..variant.clone()
        })
    });
    compared.collect()
}

#[cfg(test)]
mod tests {
    use poll_probe::{Limit, Wake};
    use run_format::Manifest;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_coop_budget_has_a_deferred_wake() {
        let bounds = |budgets: &str| {
            let variant = ComparedVariant {
                label: budgets.to_owned(),
                role: ComparedRole::Candidate,
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

    fn fixture() -> Value {
        let manifest = include_str!("../../../latency-benchmark/tests/fixture/manifest.json");
        serde_json::from_str(manifest).expect("the manifest of a sweep")
    }

    #[test]
    fn a_variant_that_changes_nothing_is_a_control_or_another_copy() {
        let variant =
            |label: &str, role: &str| json!({ "label": label, "role": role, "budgets": label });
        let with_control =
            |label: &str| json!({ "label": label, "role": "control", "budgets": "none" });
        let roles = |variants: Value| {
            let mut manifest = fixture();
            manifest["config"]["variants"] = variants;
            let manifest: Manifest = serde_json::from_value(manifest).expect("another sweep");
            let compared = compared(&manifest.config);
            compared
                .iter()
                .map(|variant| variant.role)
                .collect::<Vec<_>>()
        };
        let [baseline, both] = [
            variant("none", "baseline"),
            variant("none@both", "candidate"),
        ];
        let alone = roles(json!([baseline, both]));
        assert_eq!(alone, [ComparedRole::Baseline, ComparedRole::Control]);
        let beside = roles(json!([baseline, with_control("none (A/A)"), both]));
        let expected = [
            ComparedRole::Baseline,
            ComparedRole::Control,
            ComparedRole::NotJudged,
        ];
        assert_eq!(beside, expected);
    }

    #[test]
    fn copies_of_subjects_and_of_budgets_are_no_candidates() {
        let subject = |label: &str, role: &str| {
            json!({
                "label": label, "role": role, "spec": label, "libp2p": {"kind": "released"}, "build": null, "peers": 0,
            })
        };
        let variant = |label: &str, role: &str, budgets: &str| json!({ "label": label, "role": role, "budgets": budgets });
        let mut manifest = fixture();
        manifest["config"]["subjects"] = json!([
            subject("released", "baseline"),
            subject("released (A/A)", "control"),
            subject("fix", "candidate"),
        ]);
        manifest["config"]["variants"] = json!([
            variant("none", "baseline", "none"),
            variant("none (A/A)", "control", "none"),
            variant("muxer=1", "candidate", "muxer=1"),
        ]);
        let manifest: Manifest = serde_json::from_value(manifest).expect("another sweep");
        let compared = compared(&manifest.config);
        let with_role = |role| {
            let variants = compared.iter().filter(|variant| variant.role == role);
            variants.map(|variant| &*variant.label).collect::<Vec<_>>()
        };
        let candidates = ["released, muxer=1", "fix", "fix, muxer=1"];
        assert_eq!(with_role(ComparedRole::Candidate), candidates);
        assert_eq!(with_role(ComparedRole::Control), ["released (A/A)"]);
        assert_eq!(with_role(ComparedRole::Baseline), ["released"]);
    }
}
