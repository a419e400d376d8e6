//! The typed errors of a lab, as a sweep prints them. `cargo test -p lab --test failure_lines -- --nocapture` shows
//! them all.

use std::io;

use lab::{Backend, Cores, LabSpec, Placement, PlacementError, Sharing, check_congestion_control};
use nix::errno::Errno;

fn placement_errors() -> Vec<anyhow::Error> {
    let full = io::Error::from_raw_os_error(Errno::ENOSPC as i32);
    vec![
        PlacementError::Unavailable {
            option: "--central-core",
            core: 9,
            available: Cores::one(0),
        }
        .into(),
        PlacementError::Unreadable(full).into(),
    ]
}

fn spec_errors() -> Vec<anyhow::Error> {
    let placement = Placement {
        central: 0,
        workers: None,
        peers: Cores::one(0),
        sharing: Sharing::Core,
    };
    let jitter = "30ms".parse().ok();
    let refused = [
        LabSpec::new(300, placement.clone()),
        LabSpec {
            jitter,
            backend: Backend::Nfqueue,
            ..LabSpec::new(1, placement.clone())
        },
        LabSpec {
            jitter,
            ..LabSpec::new(1, placement)
        },
    ];
    let refused = refused.map(|spec| spec.check().expect_err("there is no such lab").into());
    let unknown = check_congestion_control("x").expect_err("no kernel has it");
    refused.into_iter().chain([unknown]).collect()
}

#[test]
fn every_failure_is_one_plain_line() {
    for error in placement_errors().into_iter().chain(spec_errors()) {
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
