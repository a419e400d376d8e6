//! ARCHITECTURE.md says which package may depend on which, and that modules do not depend on each other in a circle.
//! Both are compared with the manifests and with the paths in the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifest(folder: &Path) -> toml::Table {
    let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    text.parse().unwrap()
}

/// The folders of all packages, by the name of the package.
fn packages() -> BTreeMap<String, PathBuf> {
    let workspace = manifest(&root());
    let members = workspace["workspace"]["members"].as_array().unwrap();
    let folders = members
        .iter()
        .map(|member| root().join(member.as_str().unwrap()));
    folders
        .map(|folder| {
            let name = manifest(&folder)["package"]["name"]
                .as_str()
                .unwrap()
                .into();
            (name, folder)
        })
        .collect()
}

/// The packages of this workspace that the program or the build script of a package links.
fn dependencies(folder: &Path, packages: &BTreeMap<String, PathBuf>) -> BTreeSet<String> {
    let manifest = manifest(folder);
    let tables = ["dependencies", "build-dependencies"]
        .iter()
        .filter_map(|kind| manifest.get(*kind)?.as_table());
    let names = tables.flat_map(|table| table.keys());
    names
        .filter(|name| packages.contains_key(*name))
        .cloned()
        .collect()
}

/// The rows of the table under the heading "What may depend on what": a package, and the packages it may depend on.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, section) = text.split_once("## What may depend on what").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let names = |cell: &str| {
        let parts = cell.split('`').skip(1).step_by(2);
        parts.map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        let may = names(cells[2]);
        names(cells[1])
            .into_iter()
            .map(move |package| (package, may.clone()))
    })
    .collect()
}

#[test]
fn packages_depend_on_what_the_document_allows() {
    let packages = packages();
    let allowed = allowed();
    let named: Vec<&String> = allowed.keys().collect();
    assert_eq!(named, packages.keys().collect::<Vec<_>>());
    for (name, folder) in &packages {
        let found = dependencies(folder, &packages);
        assert_eq!(found, allowed[name], "the dependencies of {name}");
    }
}

#[test]
fn modules_do_not_depend_on_each_other_in_a_circle() {
    let mut modules = 0;
    let mut found = Vec::new();
    for (name, folder) in packages() {
        let sources = Sources::read(&folder.join("src"));
        modules += sources.modules.len();
        let circles = without_ends(sources.arrows());
        let arrows = circles.into_iter().map(|(from, to)| {
            let [from, to] = [from, to].map(|module| format!("crate::{}", module.join("::")));
            format!("{name}: {from} uses {to}")
        });
        found.extend(arrows);
    }
    assert!(
        found.is_empty(),
        "circles, and what is between them:\n{}",
        found.join("\n")
    );
    assert!(modules > 300, "only {modules} modules were found");
}

#[test]
fn a_circle_of_modules_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("lib.rs", "mod a; mod b; pub use a::A; pub struct Own;");
    write("a.rs", "use crate::b::B; pub struct A;");
    write("b.rs", "pub struct B; pub struct C(crate::Own);");
    let arrows = |text: &str| {
        write("b.rs", text);
        without_ends(Sources::read(folder.path()).arrows())
    };
    assert!(arrows("pub struct B; pub struct C(crate::Own);").is_empty());
    // What the root re-exports is used from where it stands.
    assert_eq!(arrows("pub struct B(crate::A);").len(), 2);
    assert_eq!(arrows("use super::a::A; pub struct B(A);").len(), 2);
    write(
        "lib.rs",
        "mod a; mod b; pub use self::{a::*, b::*}; pub struct Own;",
    );
    assert_eq!(arrows("pub struct B(crate::A);").len(), 2);
    assert!(arrows("pub struct B; pub struct C(crate::Own);").is_empty());
    assert!(arrows("pub struct B; #[cfg(test)] mod tests { use crate::A; }").is_empty());
}

/// The path of a module, from the root of its package. That of the root is empty. A program beside a library is the
/// module `main`.
type Module = Vec<String>;

/// The modules of a package that are files.
struct Sources {
    modules: BTreeMap<Module, syn::File>,
}

impl Sources {
    fn read(folder: &Path) -> Sources {
        let mut modules = BTreeMap::new();
        read_folder(folder, &mut Vec::new(), &mut modules);
        Sources { modules }
    }

    /// Which module uses which other ones. A re-export alone is no use.
    fn arrows(&self) -> BTreeSet<(Module, Module)> {
        let mut arrows = BTreeSet::new();
        for (module, file) in &self.modules {
            let mut paths = Paths::default();
            paths.visit_file(file);
            let targets = paths
                .0
                .iter()
                .filter_map(|path| self.target(module, path, 0));
            let others = targets.filter(|target| target != module);
            arrows.extend(others.map(|target| (module.clone(), target)));
        }
        arrows
    }

    /// The module that defines what a path names in this module, if it is one of this package.
    fn target(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        let mut absolute: Module = match path.first()?.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => from.clone(),
            child if self.modules.contains_key(&joined(from, child)) => joined(from, child),
            _ => return None,
        };
        let mut rest = path[1..].iter();
        if path[0] == "super" {
            absolute.pop();
        }
        let mut next = rest.next();
        while let Some(name) = next {
            if name == "super" {
                absolute.pop();
            } else if self.modules.contains_key(&joined(&absolute, name)) {
                absolute.push(name.clone());
            } else {
                break;
            }
            next = rest.next();
        }
        let re_exported = next.and_then(|name| self.re_exported(&absolute, name));
        match re_exported {
            Some(path) if depth < 4 => self.target(&absolute, &path, depth + 1),
            _ => Some(absolute),
        }
    }

    /// The path under which a module re-exports a name.
    fn re_exported(&self, module: &Module, name: &str) -> Option<Vec<String>> {
        let file = self.modules.get(module)?;
        let uses = file.items.iter().filter_map(|item| match item {
            Item::Use(item) if is_re_export(item) => Some(&item.tree),
            _ => None,
        });
        let paths = uses.flat_map(|tree| {
            let mut paths = Vec::new();
            flatten(tree, &mut Vec::new(), &mut paths);
            paths
        });
        paths.into_iter().find_map(|(mut path, known_as)| {
            if known_as == "*" {
                path.pop();
                let from = path
                    .iter()
                    .filter(|part| !["self", "crate"].contains(&&***part));
                let of = module.iter().chain(from).cloned().collect();
                let has_it = self.defines(&of, name) || self.re_exported(&of, name).is_some();
                path.push(name.to_owned());
                return has_it.then_some(path);
            }
            (known_as == name).then_some(path)
        })
    }

    /// Whether a module of this package defines what has that name.
    fn defines(&self, module: &Module, name: &str) -> bool {
        let items = self.modules.get(module).map(|file| &file.items[..]);
        items.unwrap_or_default().iter().any(|item| match item {
            Item::Const(item) => item.ident == name,
            Item::Enum(item) => item.ident == name,
            Item::Fn(item) => item.sig.ident == name,
            Item::Struct(item) => item.ident == name,
            Item::Trait(item) => item.ident == name,
            Item::Type(item) => item.ident == name,
            _ => false,
        })
    }
}

fn joined(module: &Module, name: &str) -> Module {
    let mut path = module.clone();
    path.push(name.to_owned());
    path
}

fn read_folder(folder: &Path, module: &mut Module, into: &mut BTreeMap<Module, syn::File>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            module.push(stem);
            read_folder(&path, module, into);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let is_root = match stem.as_str() {
                "lib" | "mod" => true,
                "main" => !folder.join("lib.rs").exists(),
                _ => false,
            };
            let name = if is_root {
                module.clone()
            } else {
                joined(module, &stem)
            };
            let text = fs::read_to_string(&path).unwrap();
            let file = syn::parse_file(&text).unwrap();
            let double = into.insert(name, file);
            assert!(
                double.is_none(),
                "two files of one module: {}",
                path.display()
            );
        }
    }
}

fn is_re_export(item: &ItemUse) -> bool {
    !matches!(item.vis, Visibility::Inherited)
}

/// The paths that a `use` names, each with the name it has afterwards.
fn flatten(tree: &UseTree, before: &mut Vec<String>, into: &mut Vec<(Vec<String>, String)>) {
    let mut whole = |name: String, known_as: String| {
        let mut path = before.clone();
        path.push(name);
        into.push((path, known_as));
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, into);
            before.pop();
        }
        UseTree::Name(name) => whole(name.ident.to_string(), name.ident.to_string()),
        UseTree::Rename(name) => whole(name.ident.to_string(), name.rename.to_string()),
        UseTree::Glob(_) => whole("*".into(), "*".into()),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, into);
            }
        }
    }
}

/// The paths that a file names outside of its tests.
#[derive(Default)]
struct Paths(Vec<Vec<String>>);

impl Visit<'_> for Paths {
    fn visit_item_mod(&mut self, item: &ItemMod) {
        if !item.attrs.iter().any(is_for_tests) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        if is_re_export(item) || item.attrs.iter().any(is_for_tests) {
            return;
        }
        let mut paths = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut paths);
        self.0.extend(paths.into_iter().map(|(path, _)| path));
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let names = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        let names: Vec<String> = names.collect();
        if names.len() > 1 {
            self.0.push(names);
        }
        visit::visit_path(self, path);
    }
}

fn is_for_tests(attribute: &Attribute) -> bool {
    let is_cfg = attribute.path().is_ident("cfg");
    is_cfg
        && attribute
            .parse_args::<syn::Path>()
            .is_ok_and(|path| path.is_ident("test"))
}

/// The arrows that are left when modules that lead nowhere, and those that nothing leads to, are taken away again and
/// again: those of circles and between circles.
fn without_ends(mut arrows: BTreeSet<(Module, Module)>) -> BTreeSet<(Module, Module)> {
    loop {
        let before = arrows.len();
        let starts: BTreeSet<Module> = arrows.iter().map(|(from, _)| from.clone()).collect();
        let ends: BTreeSet<Module> = arrows.iter().map(|(_, to)| to.clone()).collect();
        arrows.retain(|(from, to)| starts.contains(to) && ends.contains(from));
        if arrows.len() == before {
            return arrows;
        }
    }
}
