//! The typed errors of a lab, as a sweep prints them. `cargo test -p lab --test failure_lines -- --nocapture` shows
//! them all.

use lab::{LabSpec, Topology, check_congestion_control};
use run_format::{Backend, Cores, Placement, Sharing};

fn placement_error() -> anyhow::Error {
    let topology = Topology::for_this_process().expect("this machine can be read");
    let placed = topology.place(1, Some(Cores::one(1023)));
    placed.expect_err("no machine of ours has so many cores")
}

fn spec_errors() -> Vec<anyhow::Error> {
    let placement = Placement {
        central: 0,
        workers: None,
        peers: Cores::one(0),
        sharing: Sharing::Core,
    };
    let mut with_jitter = LabSpec::new(1, placement.clone());
    with_jitter.network.jitter_ms = "30ms".parse().ok();
    let mut by_delay_line = with_jitter.clone();
    by_delay_line.network.backend = Backend::Nfqueue;
    let refused = [LabSpec::new(300, placement), by_delay_line, with_jitter]
        .map(|spec| spec.check().expect_err("there is no such lab"));
    let unknown = check_congestion_control("x").expect_err("no kernel has it");
    refused.into_iter().chain([unknown]).collect()
}

#[test]
fn every_failure_is_one_plain_line() {
    for error in spec_errors().into_iter().chain([placement_error()]) {
        let line = format!("FAILED while wiring the lab: {error:#}");
        println!("{line}");
        for flaw in [
            "\n", "  ", "::", ": :", ":;", "()", ": ,", "\"\"", "..", " ;",
        ] {
            assert!(!line.contains(flaw), "{flaw:?} in {line}");
        }
        assert!(!line.ends_with([':', ';', '.', ' ']), "{line}");
    }
}
