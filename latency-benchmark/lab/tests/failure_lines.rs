//! The typed errors of a lab, as a sweep prints them. `cargo test -p lab --test failure_lines -- --nocapture` shows
//! them all.
#![allow(missing_docs)]

use std::io;

use lab::{Cores, LabSpecError, PlacementError};
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
    vec![
        LabSpecError::Peers(300).into(),
        LabSpecError::NetemOnly("loss of 1 %".to_owned()).into(),
        LabSpecError::Jitter {
            jitter: "30".parse().expect("a time"),
            one_way_ms: 25.0,
        }
        .into(),
        LabSpecError::CongestionControl {
            asked: "x".to_owned(),
            available: "reno cubic".to_owned(),
        }
        .into(),
    ]
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
