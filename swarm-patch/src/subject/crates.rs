//! A subject: where its crates come from, what changes them, and which have sites.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use run_format::{Budgets, PatchRecord, SourceRecord};
use toml_edit::{DocumentMut, Item};

use super::layer::{Layer, apply, copy, diff};
use super::ours;
use super::source::StackSource;
use super::source_spec::SourceSpec;
use super::spec::Spec;
use crate::crate_source::CrateSource;
use crate::stacks::{LIBP2P, Stack};

/// A version of a stack under test: the sources to build the benchmark against.
#[derive(Clone, Debug)]
pub struct Subject {
    pub source: StackSource,
    /// The diff that is applied to a copy of its checkout.
    pub(super) diff: Option<PatchRecord>,
    /// Crates that come from elsewhere.
    pub layers: Vec<Layer>,
    /// The budget whose patch its crates get before the graft.
    pub budgets: Option<Budgets>,
    pub is_plain: bool,
}

impl Subject {
    /// Finds the sources that the spec names, and refuses sources that have no crate of the stack, or that a patch does not fit.
    pub fn find(stack: &Stack, spec: &Spec) -> Result<Subject> {
        let subject = Subject::resolve(stack, spec)?;
        let is_checkout = matches!(subject.source, StackSource::Checkout(_));
        if is_checkout || subject.budgets.is_some() || !subject.layers.is_empty() {
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
        let budgets = spec.sources().filter_map(SourceSpec::budgets);
        let budgets: Vec<Budgets> = budgets.collect();
        let source = StackSource::resolve(&spec.stack.origin)?;
        let is_of_libp2p = !budgets.is_empty() || matches!(source, StackSource::Registry(Some(_)));
        if stack.name != LIBP2P.name && is_of_libp2p {
            bail!(
                "released@VERSION and +BUDGET are for libp2p only (accepted with --stack {}: \
                 released, PATH or PATH@REV; then +FILE for a diff)",
                stack.name
            );
        }
        if budgets.len() > 1 {
            bail!("a budget changes several crates, so only one may be given");
        }
        if let StackSource::Registry(Some(version)) = &source {
            ours::stream_release(version)?;
        }
        let layers = spec.layers.iter().map(|layer| Layer::resolve(stack, layer));
        let mut layers = layers.collect::<Result<Vec<Layer>>>()?;
        let mut diff = diff(spec.stack.patch.as_ref())?;
        if !matches!(source, StackSource::Checkout(_))
            && let Some(diff) = diff.take()
        {
            layers.push(Layer::of_diff(stack, &source, diff)?);
        }
        for (at, layer) in layers.iter().enumerate() {
            if layers[..at].iter().any(|other| other.name == layer.name) {
                bail!("{} has two sources", layer.name);
            }
        }
        Ok(Subject {
            source,
            diff,
            layers,
            budgets: budgets.first().copied(),
            is_plain: false,
        })
    }

    /// What changes its sources before the graft.
    pub fn patches(&self) -> Vec<PatchRecord> {
        let budget = self.budgets.map(|budgets| PatchRecord {
            patch: budgets.to_string(),
            sha256: None,
        });
        let layers = self.layers.iter().flat_map(|layer| &layer.diff);
        let diffs = self.diff.iter().chain(layers).cloned();
        budget.into_iter().chain(diffs).collect()
    }

    /// Where the crates come from that come from elsewhere, for files.
    pub fn layer_records(&self) -> BTreeMap<String, SourceRecord> {
        let layers = self.layers.iter();
        let record = |layer: &Layer| (layer.name.clone(), layer.source.record());
        layers.map(record).collect()
    }
}

pub(super) const UPSTREAM: &str = "upstream";

/// The crates with sites in the checkout in `dir`, which has one of those expected.
pub(super) fn with_sites(dir: &Path, stack: &Stack, expected: &[&str]) -> Result<Vec<CrateSource>> {
    let names = [expected, stack.packages].concat();
    let mut sources = crate::checkout::find(dir, &names).map_err(|error| {
        // Whoever named a checkout knows nothing of its copy.
        let (error, copy) = (format!("{error:#}"), dir.display().to_string());
        let relative = error.replace(&format!("{copy}: "), "");
        anyhow!(relative.replace(&format!("{copy}/"), ""))
    })?;
    if !sources.iter().any(|it| expected.contains(&&*it.name)) {
        bail!("there is no package {} in it", expected.join(" or "));
    }
    sources.retain(|it| stack.packages.contains(&&*it.name));
    Ok(sources)
}

/// The sources that a graft of the subject would edit. It copies what is none of cargo's to the empty folder `to`.
pub fn sources(stack: &Stack, subject: &Subject, to: &Path) -> Result<Vec<CrateSource>> {
    let mut sources = match &subject.source {
        StackSource::Checkout(checkout) => {
            let copy = to.join(UPSTREAM);
            checkout.export(&copy)?;
            // The edits are those of the build.
            let _ = apply(&copy, subject.diff.as_ref())?;
            with_sites(&copy, stack, stack.subjects)?
        }
        source => source.of_registry(stack)?,
    };
    for layer in &subject.layers {
        sources.retain(|source| source.name != layer.name);
        let (source, _) = layer.copy(&to.join(&layer.name))?;
        sources.extend(Some(source).filter(|it| stack.packages.contains(&&*it.name)));
    }
    if let Some(budgets) = &subject.budgets {
        for source in &mut sources {
            if source.checksum.is_some() {
                *source = copy(source, &to.join(&source.name))?;
            }
        }
        crate::checkout::patch(&sources, budgets)?;
    }
    Ok(sources)
}

/// A manifest without the dependencies that are only for wasm. Some of those have exact versions, which
/// would decide the versions of other crates too. They stay where a feature names one of them.
pub(super) fn without_wasm(manifest: &str) -> Result<String> {
    let mut manifest: DocumentMut = manifest.parse().context("not a manifest")?;
    let features = manifest.get("features").map(ToString::to_string);
    let features = features.unwrap_or_default();
    if let Some(targets) = manifest.get_mut("target").and_then(Item::as_table_like_mut) {
        let is_superfluous = |(target, table): &(&str, &Item)| {
            let dependencies = table.get("dependencies").and_then(Item::as_table_like);
            let mut names = dependencies.into_iter().flat_map(|table| table.iter());
            target.contains("wasm")
                && !target.contains("not(")
                && names.all(|(name, _)| !features.contains(name))
        };
        let superfluous: Vec<String> = targets
            .iter()
            .filter(is_superfluous)
            .map(|(target, _)| target.to_owned())
            .collect();
        for target in superfluous {
            targets.remove(&target);
        }
    }
    Ok(manifest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_wasm_needs_goes_unless_a_feature_names_it() {
        let native = "[target.'cfg(not(target_family = \"wasm\"))'.dependencies]\ntokio = \"1\"\n";
        let wasm = "[target.'cfg(target_family=\"wasm\")'.dependencies]\njs = \"=1.0.0\"\n";
        let without = |manifest: &str| without_wasm(manifest).expect("a manifest");
        assert_eq!(without(&format!("{native}{wasm}")), native);
        let named = format!("{native}{wasm}[features]\nwasm = [\"dep:js\"]\n");
        assert_eq!(without(&named), named);
        assert_eq!(without("[package]\n"), "[package]\n");
    }
}
