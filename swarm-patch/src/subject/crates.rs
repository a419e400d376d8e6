//! A subject: where its crates come from, what changes them, and which have sites.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};
use cargo_metadata::MetadataCommand;
use fs_err as fs;
use run_format::Budgets;
use run_format::subject::{PatchRecord, SourceRecord};
use toml_edit::{DocumentMut, Item};

use super::checkout::Checkout;
use super::spec::{CheckoutSpec, PatchSpec, Spec};
use super::{compiler, ours};
use crate::crate_source::CrateSource;
use crate::package::upstream_manifest;
use crate::stacks::{LIBP2P, Stack};
use crate::{pristine, sync};

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
    /// Finds the sources that the specs name, and refuses sources that have no crate of the stack, or that a patch does not fit.
    pub fn find(stack: &Stack, spec: &Spec, yamux: Option<&CheckoutSpec>) -> Result<Subject> {
        let subject = Subject::resolve(stack, spec, yamux)?;
        let is_checkout = matches!(subject.source, StackSource::Checkout(_));
        if is_checkout || !subject.patches().is_empty() {
            let copies = tempfile::tempdir().context("cannot make a temporary folder")?;
            sources(stack, &subject, copies.path()).with_context(|| format!("--subject {spec}"))?;
        }
        Ok(subject)
    }

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
        let source = match spec {
            Spec::Released(_) => StackSource::Released,
            Spec::Release(version, _) => {
                ours::stream_release(version).with_context(|| format!("--subject {spec}"))?;
                StackSource::Release(version.clone())
            }
            Spec::Checkout(checkout) => StackSource::Checkout(Box::new(
                Checkout::resolve(checkout).with_context(|| format!("--subject {spec}"))?,
            )),
        };
        Ok(Subject {
            source,
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
            StackSource::Checkout(checkout) => checkout.diff.clone(),
            _ => None,
        };
        let yamux = self.yamux.as_ref().and_then(|yamux| yamux.diff.clone());
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
    /// Its description for files.
    pub fn record(&self) -> SourceRecord {
        match self {
            StackSource::Released => SourceRecord::Released,
            StackSource::Release(version) => SourceRecord::Release {
                version: version.clone(),
            },
            StackSource::Checkout(checkout) => checkout.record.clone(),
        }
    }
}

pub(super) const UPSTREAM: &str = "upstream";
pub(super) const YAMUX: &str = "yamux";

/// All packages of the crate or workspace in `dir`.
pub(super) fn packages(dir: &Path) -> Result<Vec<CrateSource>> {
    let manifest = dir.join("Cargo.toml");
    if !manifest.is_file() {
        bail!("there is no Cargo.toml in it");
    }
    let metadata = MetadataCommand::new()
        .cargo_path(compiler::cargo_path())
        // Not in `dir`, since a toolchain file there would take effect.
        .current_dir(ours::root()?)
        .manifest_path(manifest)
        .no_deps()
        .exec()
        .map_err(|error| compiler::in_short(&error))?;
    let packages = metadata.packages.iter().map(CrateSource::of_package);
    let packages = packages.collect::<Result<Vec<_>>>()?;
    refuse_other_patches(&fs::read_to_string(dir.join("Cargo.toml"))?, &packages)?;
    Ok(packages)
}

/// A workspace may replace crates of the registry by `[patch]`. Cargo applies that only in the workspace
/// that it builds, which is ours. The workspace's own packages are replaced in any case.
fn refuse_other_patches(manifest: &str, packages: &[CrateSource]) -> Result<()> {
    let manifest: DocumentMut = manifest.parse().context("not a manifest")?;
    let registries = manifest.get("patch").and_then(Item::as_table_like);
    let patches = registries
        .into_iter()
        .flat_map(|registries| registries.iter())
        .filter_map(|(_, patches)| patches.as_table_like())
        .flat_map(|patches| patches.iter());
    for (name, _) in patches {
        if !packages.iter().any(|package| package.name == name) {
            bail!(
                "its [patch] of {name} would have no effect, since {name} is not one of its packages"
            );
        }
    }
    Ok(())
}

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

/// The sources that a graft of the subject would edit. It copies checkouts to the empty folder `to`.
pub fn sources(stack: &Stack, subject: &Subject, to: &Path) -> Result<Vec<CrateSource>> {
    let mut sources = match &subject.source {
        StackSource::Released => pristine::find(&upstream_manifest(), stack.packages)?,
        StackSource::Release(version) => of_release(version, to)?,
        StackSource::Checkout(checkout) => {
            let copy = to.join(UPSTREAM);
            // The edits are those of the build.
            let _ = checkout.export(&copy)?;
            with_sites(&copy, stack, stack.subjects)?
        }
    };
    if let Some(yamux) = &subject.yamux {
        let copy = to.join(YAMUX);
        let _ = yamux.export(&copy)?;
        sources.retain(|source| source.name != "yamux");
        sources
            .extend(with_sites(&copy, stack, &["yamux"]).with_context(|| yamux.spec.to_string())?);
    }
    if let Some(budgets) = &subject.budgets {
        for source in &mut sources {
            if source.checksum.is_some() {
                *source = self::copy(source, &to.join(&source.name))?;
            }
        }
        crate::checkout::patch(&sources, budgets)?;
    }
    Ok(sources)
}

pub(crate) fn copy(source: &CrateSource, to: &Path) -> Result<CrateSource> {
    sync::folder(&source.dir, to)?;
    // This file says that cargo unpacked the crate there, which is not so.
    let _ = fs::remove_file(to.join(".cargo-ok"));
    CrateSource::new(&source.name, &source.version, to.to_owned())
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

/// The crates with sites of another release. Cargo resolves it in the folder `to`.
pub(super) fn of_release(version: &str, to: &Path) -> Result<Vec<CrateSource>> {
    let manifest = to.join("Cargo.toml");
    let text = format!(
        "[workspace]\n[package]\nname = \"release\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [lib]\npath = \"nothing-is-built-here.rs\"\n\
         [dependencies]\nlibp2p = {{ version = \"{version}\", features = [\"macros\", \"quic\", \"tokio\", \"yamux\"] }}\n"
    );
    fs::write(&manifest, text)?;
    let locked = Command::new(compiler::cargo_path())
        .args(["generate-lockfile", "--quiet", "--manifest-path"])
        .arg(&manifest)
        .output()
        .context("cannot run cargo")?;
    if !locked.status.success() {
        let said = String::from_utf8_lossy(&locked.stderr);
        bail!("released@{version}: {}", compiler::first_error(&said));
    }
    Ok(newest(pristine::find(&manifest, LIBP2P.packages)?))
}

/// Keeps only the newest version of each crate, which is the one that a stack uses by default.
pub(super) fn newest(mut sources: Vec<CrateSource>) -> Vec<CrateSource> {
    let number = |source: &CrateSource| -> Vec<u64> {
        let parts = source.version.split(['.', '-', '+']);
        parts.map_while(|part| part.parse().ok()).collect()
    };
    sources.sort_by_key(|source| (source.name.clone(), std::cmp::Reverse(number(source))));
    sources.dedup_by(|later, first| later.name == first.name);
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_that_would_be_lost_is_refused() {
        let own = CrateSource {
            name: "libp2p-identity".to_owned(),
            version: String::new(),
            dir: Default::default(),
            checksum: None,
        };
        let packages = [own];
        let own = "[patch.crates-io]\nlibp2p-identity = { path = \"identity\" }\n";
        assert!(refuse_other_patches(own, &packages).is_ok());
        assert!(refuse_other_patches("[workspace]\n", &packages).is_ok());
        let other = format!("{own}yamux = {{ git = \"https://example.org\" }}\n");
        let refusal = refuse_other_patches(&other, &packages).expect_err("it is another");
        assert!(
            refusal
                .to_string()
                .starts_with("its [patch] of yamux would have no effect")
        );
    }

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
