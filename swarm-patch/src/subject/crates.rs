//! A subject: where its crates come from, which patches they get, and which crates have sites.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use run_format::{Budgets, PatchRecord, SourceRecord};
use toml_edit::{DocumentMut, Item};

use super::source::{ResolvedSource, copy_crate, packages_in};
use super::spec::SubjectSpec;
use crate::crate_dir::CrateDir;
use crate::edits::Edits;
use crate::source_tree;
use crate::stacks::{LIBP2P, Stack};

/// A version of a stack under test: the sources to build the benchmark against.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The source of the stack's crates.
    pub source: ResolvedSource,
    /// The crates that come from elsewhere.
    pub layers: BTreeMap<String, ResolvedSource>,
    /// The budget whose patch the crates get before the graft.
    pub budgets: Option<Budgets>,
    /// Whether the crates are not grafted.
    pub is_plain: bool,
}

impl Subject {
    /// Finds the sources that the spec names, and refuses sources that have no crate of the stack, or that a patch does not
    /// fit.
    pub fn find(stack: &Stack, spec: &SubjectSpec) -> Result<Subject> {
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

    /// Finds the sources that the spec names.
    pub fn resolve(stack: &Stack, spec: &SubjectSpec) -> Result<Subject> {
        let resolved = Subject::try_resolve(stack, spec);
        resolved.with_context(|| format!("--subject {spec}"))
    }

    fn try_resolve(stack: &Stack, spec: &SubjectSpec) -> Result<Subject> {
        let mut source = ResolvedSource::resolve(&spec.stack)?;
        let is_for_libp2p = spec.budgets.is_some() || source.release().is_some();
        if stack.name != LIBP2P.name && is_for_libp2p {
            bail!(
                "released@VERSION and +BUDGET are for libp2p only (accepted with --stack {}: \
                 released, PATH or PATH@REV; then +FILE for a diff, and +CRATE=SOURCE)",
                stack.name
            );
        }
        source.versions()?;
        let mut named = Vec::new();
        for layer in &spec.layers {
            named.push((
                layer.name.clone(),
                ResolvedSource::resolve_layer(stack, layer)?,
            ));
        }
        if source.checkout.is_none() {
            named.extend(source.changed_crates(stack)?);
            source.diffs.clear();
        }
        let mut layers = BTreeMap::new();
        for (name, source) in named {
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

    /// Copies the checkout, and the crates that come from elsewhere, to folders in `to`, and applies the diffs. Returns the
    /// checkout's crates with sites, and the crates from elsewhere.
    pub(super) fn copy_sources(
        &self,
        stack: &Stack,
        to: &Path,
        edits: &mut Edits,
    ) -> Result<(Vec<CrateDir>, Vec<CrateDir>)> {
        let mut checkout_crates = Vec::new();
        if self.source.checkout.is_some() {
            let copy = to.join(UPSTREAM);
            self.source.copy(stack.name, &copy, edits)?;
            checkout_crates = with_sites(&copy, stack)?;
        }
        let mut layers = Vec::new();
        for (name, source) in &self.layers {
            let copy = to.join(format!("{LAYER}{name}"));
            source.copy(name, &copy, edits)?;
            let mut packages = packages_in(&copy)?.into_iter();
            let found = packages.find(|package| package.name == *name);
            layers.push(found.with_context(|| format!("there is no package {name} in it"))?);
        }
        Ok((checkout_crates, layers))
    }

    /// The patches that the sources get before the graft.
    pub fn patches(&self) -> Vec<PatchRecord> {
        let budget = self.budgets.map(|budgets| PatchRecord {
            patch: budgets.to_string(),
            sha256: None,
        });
        let sources = std::iter::once(&self.source).chain(self.layers.values());
        let diffs = sources.flat_map(|source| source.diffs.clone());
        budget.into_iter().chain(diffs).collect()
    }

    /// The origins, for files, of the crates that come from elsewhere.
    pub fn layer_records(&self) -> BTreeMap<String, SourceRecord> {
        self.layers
            .iter()
            .map(|(name, source)| (name.clone(), source.record.clone()))
            .collect()
    }
}

/// The folder of the checkout's copy in a build.
pub(super) const UPSTREAM: &str = "upstream";
/// The folders of the crates from elsewhere begin with this.
pub(super) const LAYER: &str = "layer-";

/// Finds the crates with sites in the checkout in `dir`, which must be a subject of the stack.
fn with_sites(dir: &Path, stack: &Stack) -> Result<Vec<CrateDir>> {
    let expected = stack.checkout_crates;
    let names = [expected, stack.packages].concat();
    let mut sources = source_tree::find(dir, &names).map_err(|error| {
        // The user named a checkout, so the error does not name the folder of its copy.
        let copy = dir.display();
        let relative = format!("{error:#}").replace(&format!("{copy}: "), "");
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

/// The sources that a graft of the subject would edit. Those of a checkout, and patched ones, are copied to the empty folder
/// `to`.
pub fn sources(stack: &Stack, subject: &Subject, to: &Path) -> Result<Vec<CrateDir>> {
    let mut edits = Edits::default();
    let mut sources = subject.source.registry_crates(stack)?;
    let (checkout_crates, layers) = subject.copy_sources(stack, to, &mut edits)?;
    sources.extend(checkout_crates);
    sources.retain(|source| layers.iter().all(|layer| layer.name != source.name));
    sources.extend(layers);
    sources.retain(|source| stack.packages.contains(&&*source.name));
    if let Some(budgets) = &subject.budgets {
        for source in &mut sources {
            if source.checksum.is_some() {
                *source = copy_crate(source, &to.join(&source.name))?;
            }
        }
        source_tree::patch(&sources, budgets, &mut edits)?;
    }
    Ok(sources)
}

/// Removes from a manifest the dependencies that are only for wasm. Some of them have exact versions, which would decide the
/// versions of other crates, too. If a feature names one of them, they stay.
pub(super) fn remove_wasm(manifest: &mut DocumentMut) {
    let features = match manifest.get("features") {
        Some(table) => table.to_string(),
        None => String::new(),
    };
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
        let without = |text: &str| {
            let mut manifest: DocumentMut = text.parse().expect("a manifest");
            remove_wasm(&mut manifest);
            manifest.to_string()
        };
        assert_eq!(without(&format!("{native}{wasm}")), native);
        let named = format!("{native}{wasm}[features]\nwasm = [\"dep:js\"]\n");
        assert_eq!(without(&named), named);
        assert_eq!(without("[package]\n"), "[package]\n");
    }
}
