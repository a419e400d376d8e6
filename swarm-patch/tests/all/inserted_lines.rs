//! Compares every line that is inserted into the releases of this workspace with a reviewed list. After a
//! deliberate change, `BLESS=1 cargo test -p swarm-patch --test all inserted_lines` writes a new list for
//! review.

use std::fs;
use std::path::Path;

use crate::scratch::sources_of_all_stacks;
use swarm_patch::graft::graft;
use swarm_patch::stacks::STACKS;

#[test]
fn the_inserted_lines_are_those_that_were_looked_over() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inserted_lines.txt");
    let lines = inserted_lines();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &lines).expect("the list can be written");
    }
    let expected = fs::read_to_string(&path).expect("the list is there");
    assert!(lines == expected, "not as in {}:\n{lines}", path.display());
}

/// Each line with the number of upstream's line after it.
fn inserted_lines() -> String {
    let mut lines = String::new();
    for source in sources_of_all_stacks() {
        for file in graft(&source).expect("it is as expected").files {
            let mut site = "";
            for (spec, insertion) in &file.insertions {
                if spec.name != site {
                    site = spec.name;
                    let id = source.id();
                    lines += &format!("{id}, {}, {}: {site}\n", file.path, spec.function);
                }
                let child = insertion.child.iter().map(|child| format!(" {child}"));
                let mark = format!("{}{}", insertion.mark, child.collect::<String>());
                let text = match insertion.text.strip_suffix('\n') {
                    Some(line) => line.trim_start(),
                    None => &insertion.text,
                };
                let line = insertion.line(&file.original);
                lines += &format!("{line:5}  {mark}: {text}\n");
            }
        }
    }
    lines
}

#[test]
fn an_inserted_number_is_that_of_the_site_which_files_call_by_the_same_name() {
    for spec in STACKS.iter().flat_map(|stack| stack.sites) {
        let site: run_format::Site = spec.name.parse().expect("files have a name for it");
        assert_eq!(poll_probe::SiteId::new(spec.number), site, "{}", spec.name);
    }
}
