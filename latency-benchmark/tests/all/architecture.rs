//! The rules of ARCHITECTURE.md: which package may depend on which, and that no modules use each other in a circle. Of the
//! modules in one folder, each with all that is in it, none may use itself by way of others. What is not seen: use between a
//! module and those in it, paths in braces after `crate::{`, and methods of a type that is not named.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use crate::bench::text;
use program::system_tool_or_usr_bin;

fn packages() -> Vec<serde_json::Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version=1"]);
    let metadata: serde_json::Value =
        serde_json::from_slice(&cargo.output().unwrap().stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn packages_depend_on_what_the_document_allows() {
    let document = fs::read_to_string("../ARCHITECTURE.md").unwrap();
    let (_, table) = document.split_once("## What may depend on what").unwrap();
    let mut allowed = BTreeMap::new();
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let names = |column| row.split('|').nth(column).unwrap().split('`');
        let may: BTreeSet<&str> = names(2).skip(1).step_by(2).collect();
        allowed.extend(names(1).skip(1).step_by(2).map(|name| (name, may.clone())));
    }
    let packages = packages();
    assert_eq!(allowed.len(), packages.len());
    for package in &packages {
        let all = package["dependencies"].as_array().unwrap().iter();
        let linked = all.filter(|dependency| dependency["kind"] != "dev");
        let names = linked.map(|dependency| dependency["name"].as_str().unwrap());
        let found: BTreeSet<&str> = names.filter(|name| allowed.contains_key(name)).collect();
        let name = package["name"].as_str().unwrap();
        assert_eq!(found, allowed[name], "the dependencies of {name}");
    }
}

#[test]
fn modules_do_not_use_each_other_in_a_circle() {
    for package in packages() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let folder = manifest.replace("Cargo.toml", "src/");
        let mut find = Command::new(system_tool_or_usr_bin("find"));
        let files = find.args([&folder, "-name", "*.rs"]).output().unwrap();
        let mut uses = BTreeSet::new();
        for file in text(&files.stdout).lines() {
            let module = file[folder.len()..].replace(".rs", "").replace("/mod", "");
            let module = module.replace('/', "::");
            let parent = module.rfind("::").map_or("", |end| &module[..end + 2]);
            let source = fs::read_to_string(file).unwrap();
            let code = source.split("#[cfg(test)]\nmod ").next().unwrap().lines();
            let code = code.filter(|line| !line.starts_with("pub") || !line.contains("use "));
            let code = code.filter(|line| !line.trim_start().starts_with("//"));
            let code = code.collect::<Vec<_>>().join("\n");
            let code = code.replace("super::", &format!("crate::{parent}"));
            let is_end = |letter: char| !letter.is_alphanumeric() && !"_:".contains(letter);
            for path in code.split("crate::").skip(1) {
                let path = path.split(is_end).next().unwrap();
                let mut above = String::new();
                for (from, to) in module.split("::").zip(path.split("::")) {
                    if from != to {
                        uses.insert([from, to].map(|name| format!("{above}{name}")));
                        break;
                    }
                    above += &format!("{from}::");
                }
            }
        }
        // What uses nothing that is left is in no circle.
        for _ in 0..uses.len() {
            let left: BTreeSet<String> = uses.iter().map(|[from, _]| from.clone()).collect();
            uses.retain(|[_, to]| left.contains(to));
        }
        assert!(uses.is_empty(), "in a circle, or using one: {uses:#?}");
    }
}
