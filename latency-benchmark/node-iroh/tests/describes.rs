//! The program describes itself.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use program::ChildLimits;
use run_format::{NodeDescription, Site};

#[test]
fn it_names_its_stack_its_sites_and_what_is_inserted() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_iroh-node"));
    let described = ChildLimits::SHORT_ANSWER.output(program.arg("describe"));
    let output = described.unwrap();
    assert!(output.status.success());
    let said: NodeDescription = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said.program.stack, "iroh");
    let sites: Vec<Site> = said.program.sites.iter().map(|site| site.site).collect();
    let all = [Site::QuicConnection, Site::QuicEndpoint, Site::GossipActor];
    assert_eq!(sites, all);
    let upstream = said
        .upstream
        .iter()
        .map(|source| (&*source.name, source.sha256.len()));
    assert!(upstream.eq([("noq", 64), ("iroh-gossip", 64)]));
    assert!(said.edits.contains("poll_probe::with_delegated_bounds("));
    assert!(
        said.edits
            .contains("poll_probe::SiteId::new(6 /* gossip-actor */)")
    );
}
