//! An application: the crates that its lock file names, and the table that gives them other sources.

use std::path::{Path, PathBuf};

use anyhow::Result;
use cargo_metadata::{Metadata, Package};
use fs_err as fs;
use toml_edit::{DocumentMut, InlineTable, Item, Table, value};

use super::folder_name;
use crate::edits::read_toml;
use crate::source_tree::{Grafted, relative};
use crate::stacks::STACKS;
use crate::subject::compiler;

/// An application with a lock file that is up to date.
pub struct Application {
    pub(super) dir: PathBuf,
    pub(super) metadata: Metadata,
}

impl Application {
    /// The application in `dir`. Cargo downloads the crates that its lock file names.
    pub fn read(dir: &Path) -> Result<Application> {
        let metadata = compiler::metadata(dir, &["--all-features", "--locked"])?;
        let dir = fs::canonicalize(dir)?;
        Ok(Application { dir, metadata })
    }

    /// The folder of its lock file.
    pub fn root(&self) -> &Path {
        self.metadata.workspace_root.as_std_path()
    }

    /// The packages with this name that the application uses.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Package> {
        let packages = self.metadata.packages.iter();
        packages.filter(move |package| package.name == name)
    }

    /// The packages that may have sites, in the order of the stacks.
    pub fn with_sites(&self) -> impl Iterator<Item = &Package> {
        let names = STACKS.iter().flat_map(|stack| stack.packages);
        names.flat_map(|name| self.named(name))
    }

    /// The application's table `[patch.crates-io]` with the copies in `out` added, and whether the application has such a
    /// table already.
    pub(super) fn table(&self, grafted: &[Grafted], out: &Path) -> Result<(String, bool)> {
        let root = fs::canonicalize(self.root())?;
        let manifest = read_toml(&root.join("Cargo.toml"))?;
        let own = manifest
            .get("patch")
            .and_then(|patch| patch.get("crates-io"));
        let entries = own.cloned().and_then(|table| table.into_table().ok());
        let text = with_copies(entries.unwrap_or_default(), grafted, &relative(&root, out));
        Ok((text, own.is_some()))
    }
}

/// The entries of a table `[patch.crates-io]` that lead to the copies in the folder `copies`.
pub(super) fn entries(grafted: &[Grafted], copies: &Path) -> impl Iterator<Item = (String, Item)> {
    grafted.iter().map(move |Grafted { source, .. }| {
        let name = &source.name;
        let same = grafted.iter().filter(|other| other.source.name == *name);
        let mut entry = InlineTable::new();
        let key = match same.count() {
            1 => name.clone(),
            // A table has each key once, so the key of another version names that version.
            _ => {
                entry.insert("package", name.into());
                format!("{name}-{}", source.version.replace(['.', '+'], "_"))
            }
        };
        let path = copies.join(folder_name(source));
        entry.insert("path", path.display().to_string().into());
        (key, value(entry))
    })
}

/// The text of a table `[patch.crates-io]`, with the path of each copy in `copies`.
fn with_copies(mut table: Table, grafted: &[Grafted], copies: &Path) -> String {
    for (key, entry) in entries(grafted, copies) {
        table[&key] = entry;
    }
    table.set_implicit(false);
    let mut patch = Table::new();
    patch.set_implicit(true);
    patch.insert("crates-io", Item::Table(table));
    let mut document = DocumentMut::new();
    document["patch"] = Item::Table(patch);
    document.to_string().trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crate_dir::CrateDir;

    #[test]
    fn an_applications_own_patches_stay_in_the_table() {
        let text = "[patch.crates-io]\nbytes = { path = \"bytes\" } # ours\n[patch.crates-io.http]\npath = \"http\"\n";
        let manifest: DocumentMut = text.parse().expect("a manifest");
        let own = manifest["patch"]["crates-io"].clone().into_table();
        let crates = [
            ("yamux", "0.12.1"),
            ("quinn", "0.11.8"),
            ("yamux", "0.13.6"),
        ];
        let grafted = crates.map(|(name, version)| Grafted {
            source: CrateDir::new(name, version, ".".into()).expect("a folder"),
            files: Vec::new(),
            sites: Vec::new(),
        });
        assert_eq!(
            with_copies(own.expect("a table"), &grafted, Path::new("../b")),
            "[patch.crates-io]\n\
             bytes = { path = \"bytes\" } # ours\n\
             yamux-0_12_1 = { package = \"yamux\", path = \"../b/yamux-0.12.1\" }\n\
             quinn = { path = \"../b/quinn-0.11.8\" }\n\
             yamux-0_13_6 = { package = \"yamux\", path = \"../b/yamux-0.13.6\" }\n\
             [patch.crates-io.http]\npath = \"http\"\n"
        );
    }
}
