//! A subject: where its crates come from, and what changes them.

use anyhow::{Context, Result, bail};
use run_format::Budgets;
use run_format::subject::{PatchRecord, SourceRecord};

use super::{
    checkout::Checkout,
    ours,
    spec::{CheckoutSpec, PatchSpec, Spec},
};
use crate::stacks::{LIBP2P, Stack};

/// A version of a stack under test: the sources to build the benchmark against.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Where the crates of the stack come from.
    pub source: StackSource,
    /// Replaces the yamux that libp2p depends on.
    pub yamux: Option<Checkout>,
    /// The budget whose patch its crates get before the graft.
    pub budgets: Option<Budgets>,
}

/// The source of a stack.
#[derive(Clone, Debug)]
pub enum StackSource {
    /// The release in our lock file.
    Released,
    /// Another release, by its version.
    Release(String),
    /// A checkout.
    Checkout(Box<Checkout>),
}

impl Subject {
    /// Finds the sources that the specs name.
    pub fn resolve(stack: &Stack, spec: &Spec, yamux: Option<&CheckoutSpec>) -> Result<Subject> {
        let is_of_libp2p = spec.budgets().is_some() || matches!(spec, Spec::Release(..));
        if stack.name != LIBP2P.name && is_of_libp2p {
            bail!(
                "--subject {spec}: released@VERSION and +BUDGET are for libp2p only (accepted with --stack {}: \
                 released, PATH or PATH@REV; after a PATH +FILE for a diff)",
                stack.name
            );
        }
        let of_yamux = yamux.and_then(CheckoutSpec::budgets);
        if spec.budgets().is_some() && of_yamux.is_some() {
            bail!(
                "--subject {spec}, --yamux: a budget changes both crates, so only one may be given"
            );
        }
        Ok(Subject {
            source: StackSource::resolve(spec)?,
            yamux: yamux
                .map(|spec| Checkout::resolve(spec).with_context(|| format!("--yamux {spec}")))
                .transpose()?,
            budgets: spec.budgets().or(of_yamux),
        })
    }

    /// What changes its sources before the graft.
    pub fn patches(&self) -> Vec<PatchRecord> {
        let budget = self.budgets.map(|budgets| PatchRecord {
            patch: budgets.to_string(),
            sha256: None,
        });
        let stack = match &self.source {
            StackSource::Checkout(checkout) => checkout.diff(),
            _ => None,
        };
        let yamux = self.yamux.as_ref().and_then(Checkout::diff);
        budget.into_iter().chain(stack).chain(yamux).collect()
    }
}

impl Spec {
    fn budgets(&self) -> Option<Budgets> {
        match self {
            Spec::Released(budgets) | Spec::Release(_, budgets) => *budgets,
            Spec::Checkout(checkout) => checkout.budgets(),
        }
    }
}

impl CheckoutSpec {
    fn budgets(&self) -> Option<Budgets> {
        match self.patch {
            Some(PatchSpec::Budget(budgets)) => Some(budgets),
            _ => None,
        }
    }
}

impl StackSource {
    fn resolve(spec: &Spec) -> Result<StackSource> {
        Ok(match spec {
            Spec::Released(_) => StackSource::Released,
            Spec::Release(version, _) => {
                ours::stream_release(version).with_context(|| format!("--subject {spec}"))?;
                StackSource::Release(version.clone())
            }
            Spec::Checkout(checkout) => StackSource::Checkout(Box::new(
                Checkout::resolve(checkout).with_context(|| format!("--subject {spec}"))?,
            )),
        })
    }

    /// Its description for files.
    pub fn record(&self) -> SourceRecord {
        match self {
            StackSource::Released => SourceRecord::Released,
            StackSource::Release(version) => SourceRecord::Release {
                version: version.clone(),
            },
            StackSource::Checkout(checkout) => checkout.record(),
        }
    }
}
