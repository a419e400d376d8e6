//! A subject: where its crates come from, what changes them, and which have sites.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use run_format::{Budgets, PatchRecord, SourceRecord};
use toml_edit::{DocumentMut, Item};

use super::source::{Source, copy, packages};
use super::spec::{LayerSpec, Spec};
use crate::checkout::{self, Edits};
use crate::crate_source::CrateSource;
use crate::stacks::{LIBP2P, Stack};

/// A version of a stack under test: the sources to build the benchmark against.
#[derive(Clone, Debug)]
pub struct Subject {
    pub source: Source,
    /// Crates that come from elsewhere.
    pub layers: BTreeMap<String, Source>,
    /// The budget whose patch its crates get before the graft.
    pub budgets: Option<Budgets>,
    pub is_plain: bool,
}

impl Subject {
    /// Finds the sources that the spec names, and refuses sources that have no crate of the stack, or that a patch does not fit.
    pub fn find(stack: &Stack, spec: &Spec) -> Result<Subject> {
        let subject = Subject::resolve(stack, spec)?;
        if subject.source.checkout.is_some()
            || subject.budgets.is_some()
            || !subject.layers.is_empty()
        {
            let copies = tempfile::tempdir().context("cannot make a temporary folder")?;
            sources(stack, &subject, copies.path()).with_context(|| format!("--subject {spec}"))?;
        }
        Ok(subject)
    }

    pub fn resolve(stack: &Stack, spec: &Spec) -> Result<Subject> {
        let resolved = Subject::try_resolve(stack, spec);
        resolved.with_context(|| format!("--subject {spec}"))
    }

    fn try_resolve(stack: &Stack, spec: &Spec) -> Result<Subject> {
        let mut source = Source::resolve(&spec.stack)?;
        let is_of_libp2p = spec.budgets.is_some() || source.release().is_some();
        if stack.name != LIBP2P.name && is_of_libp2p {
            bail!(
                "released@VERSION and +BUDGET are for libp2p only (accepted with --stack {}: \
                 released, PATH or PATH@REV; then +FILE for a diff, and +CRATE=SOURCE)",
                stack.name
            );
        }
        source.versions()?;
        let of_crate = |it: &LayerSpec| Ok((it.name.clone(), Source::of_layer(stack, it)?));
        let all = spec.layers.iter().map(of_crate);
        let mut all = all.collect::<Result<Vec<_>>>()?;
        if source.checkout.is_none() {
            all.extend(source.changed_crates(stack)?);
            source.diffs.clear();
        }
        let mut layers = BTreeMap::new();
        for (name, source) in all {
            if layers.insert(name.clone(), source).is_some() {
                bail!("{name} has two sources");
            }
        }
        Ok(Subject {
            source,
            layers,
            budgets: spec.budgets,
            is_plain: false,
        })
    }

    /// Copies its checkout, and the crates that come from elsewhere, to folders in `to`, and applies the diffs. Returns the
    /// checkout's crates with sites, and the crates from elsewhere.
    pub(super) fn lay_out(
        &self,
        stack: &Stack,
        to: &Path,
        edits: &mut Edits,
    ) -> Result<(Vec<CrateSource>, Vec<CrateSource>)> {
        let mut of_checkout = Vec::new();
        if self.source.checkout.is_some() {
            let copy = to.join(UPSTREAM);
            self.source.copy(stack.name, &copy, edits)?;
            of_checkout = with_sites(&copy, stack, stack.subjects)?;
        }
        let layers = self.layers.iter().map(|(name, source)| {
            let to = to.join(format!("{LAYER}{name}"));
            source.copy(name, &to, edits)?;
            let mut packages = packages(&to)?.into_iter();
            let found = packages.find(|package| package.name == *name);
            found.with_context(|| format!("there is no package {name} in it"))
        });
        Ok((of_checkout, layers.collect::<Result<_>>()?))
    }

    /// The patches that its sources get before the graft.
    pub fn patches(&self) -> Vec<PatchRecord> {
        let budget = self.budgets.map(|budgets| PatchRecord {
            patch: budgets.to_string(),
            sha256: None,
        });
        let diffs = std::iter::once(&self.source).chain(self.layers.values());
        let diffs = diffs.flat_map(|source| source.diffs.clone());
        budget.into_iter().chain(diffs).collect()
    }

    /// The origins, for files, of the crates that come from elsewhere.
    pub fn layer_records(&self) -> BTreeMap<String, SourceRecord> {
        let layers = self.layers.iter();
        let record = |(name, of): (&String, &Source)| (name.clone(), of.record.clone());
        layers.map(record).collect()
    }
}

pub(super) const UPSTREAM: &str = "upstream";
pub(super) const LAYER: &str = "layer-";

/// The crates with sites in the checkout in `dir`, which has one of those expected.
fn with_sites(dir: &Path, stack: &Stack, expected: &[&str]) -> Result<Vec<CrateSource>> {
    let names = [expected, stack.packages].concat();
    let mut sources = checkout::find(dir, &names).map_err(|error| {
        // Whoever named a checkout knows nothing of its copy.
        let (error, copy) = (format!("{error:#}"), dir.display().to_string());
        let relative = error.replace(&format!("{copy}: "), "");
        anyhow!(relative.replace(&format!("{copy}/"), ""))
    })?;
    if !sources
        .iter()
        .any(|source| expected.contains(&&*source.name))
    {
        bail!("there is no package {} in it", expected.join(" or "));
    }
    sources.retain(|source| stack.packages.contains(&&*source.name));
    Ok(sources)
}

/// The sources that a graft of the subject would edit. It copies what is none of cargo's to the empty folder `to`.
pub fn sources(stack: &Stack, subject: &Subject, to: &Path) -> Result<Vec<CrateSource>> {
    let mut edits = Edits::default();
    let mut sources = subject.source.of_registry(stack)?;
    let (of_checkout, layers) = subject.lay_out(stack, to, &mut edits)?;
    sources.extend(of_checkout);
    sources.retain(|source| layers.iter().all(|layer| layer.name != source.name));
    sources.extend(layers);
    sources.retain(|source| stack.packages.contains(&&*source.name));
    if let Some(budgets) = &subject.budgets {
        for source in &mut sources {
            if source.checksum.is_some() {
                *source = copy(source, &to.join(&source.name))?;
            }
        }
        checkout::patch(&sources, budgets, &mut edits)?;
    }
    Ok(sources)
}

/// Removes from a manifest the dependencies that are only for wasm. Some of those have exact versions, which
/// would decide the versions of other crates too. They stay where a feature names one of them.
pub(super) fn remove_wasm(manifest: &mut DocumentMut) {
    let features = manifest.get("features").map(ToString::to_string);
    let features = features.unwrap_or_default();
    if let Some(targets) = manifest.get_mut("target").and_then(Item::as_table_mut) {
        targets.retain(|target, table| {
            let is_of_wasm = target.contains("wasm") && !target.contains("not(");
            let dependencies = table.get("dependencies").and_then(Item::as_table_like);
            let mut names = dependencies.into_iter().flat_map(|table| table.iter());
            !is_of_wasm || names.any(|(name, _)| features.contains(name))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_wasm_needs_goes_unless_a_feature_names_it() {
        let native = "[target.'cfg(not(target_family = \"wasm\"))'.dependencies]\ntokio = \"1\"\n";
        let wasm = "[target.'cfg(target_family=\"wasm\")'.dependencies]\njs = \"=1.0.0\"\n";
        let without = |manifest: &str| {
            let mut manifest: DocumentMut = manifest.parse().expect("a manifest");
            remove_wasm(&mut manifest);
            manifest.to_string()
        };
        assert_eq!(without(&format!("{native}{wasm}")), native);
        let named = format!("{native}{wasm}[features]\nwasm = [\"dep:js\"]\n");
        assert_eq!(without(&named), named);
        assert_eq!(without("[package]\n"), "[package]\n");
    }
}
