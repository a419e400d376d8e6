//! Every way in which a lab fails, as a sweep prints it. `cargo test -p lab --test failure_lines -- --nocapture` shows
//! them all.
#![allow(missing_docs)]

use std::io;

use lab::{Cores, EnterError, LabError, LabSpecError, PlacementError, ToolError};
use nix::errno::Errno;

fn full() -> io::Error {
    io::Error::from_raw_os_error(Errno::ENOSPC as i32)
}

fn enter_errors() -> Vec<anyhow::Error> {
    vec![
        EnterError::Threads(3).into(),
        EnterError::UserNamespacesOff {
            sysctl: "user.max_user_namespaces",
            value: "0".to_owned(),
            remedy: "10000",
        }
        .into(),
        EnterError::Refused {
            attempt: "a user namespace",
            errno: Errno::EPERM,
        }
        .into(),
        EnterError::Processes.into(),
        EnterError::Status(full()).into(),
        PlacementError::Unavailable {
            option: "--central-core",
            core: 9,
            available: Cores::one(0),
        }
        .into(),
        PlacementError::Unreadable(full()).into(),
    ]
}

fn tool_errors() -> [LabError; 3] {
    let name = "iptables";
    [
        LabError::Tool(ToolError::Missing {
            name,
            searched: "/usr/sbin:/usr/bin".to_owned(),
        }),
        LabError::Tool(ToolError::Run {
            name,
            source: full(),
        }),
        LabError::Tool(ToolError::Failed {
            name,
            said: "unknown option".to_owned(),
        }),
    ]
}

fn lab_errors() -> Vec<LabError> {
    let time = |text: &str| text.parse().expect("a time");
    let [missing, run, failed] = tool_errors();
    let [missing_too, _, failed_too] = tool_errors();
    vec![
        LabError::Spec(LabSpecError::Peers(300)),
        LabError::Spec(LabSpecError::NetemOnly("loss of 1 %".to_owned())),
        LabError::Spec(LabSpecError::Jitter {
            jitter: "30".parse().expect("a time"),
            one_way_ms: 25.0,
        }),
        missing,
        run,
        failed,
        LabError::Namespaces(full()),
        LabError::CongestionControl {
            asked: "x".to_owned(),
            available: "reno cubic".to_owned(),
        },
        LabError::ReceiveOn(full()),
        LabError::Queue(full()),
        LabError::NoNetem(Box::new(failed_too)),
        LabError::NoDelay {
            rtt: time("50"),
            netem: Box::new(LabError::Queue(full())),
            nfqueue: Box::new(missing_too),
        },
        LabError::DelayLine("it ended with exit code 1: a queue is full".to_owned()),
        LabError::DelayLineDied("was killed by signal 9".to_owned()),
        LabError::Measurement(full()),
        LabError::Spawn(full()),
    ]
}

#[test]
fn every_failure_is_one_plain_line() {
    let errors = enter_errors().into_iter();
    for error in errors.chain(lab_errors().into_iter().map(anyhow::Error::from)) {
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
