//! The program describes itself.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use program::ChildLimits;
use run_format::{NodeDescription, Site};

#[test]
fn it_names_its_stack_its_site_and_what_is_inserted() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_h2-node"));
    let described = ChildLimits::SHORT_ANSWER.output(program.arg("describe"));
    let output = described.unwrap();
    assert!(output.status.success());
    let said: NodeDescription = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said.program.stack, "h2");
    let sites: Vec<Site> = said.program.sites.iter().map(|site| site.site).collect();
    assert_eq!(sites, [Site::Connection]);
    assert_eq!(
        said.program.sites[0].symbol,
        "proto::connection::Connection::poll"
    );
    assert_eq!((said.upstream.len(), &*said.upstream[0].name), (1, "h2"));
    assert_eq!(said.upstream[0].sha256.len(), 64);
    assert!(said.edits.contains("probe.iterate(cx)"));
}
