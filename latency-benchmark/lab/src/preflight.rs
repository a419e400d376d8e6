//! Checks what this machine supports and reports all problems at once, each with its remedy. What the lab needs is checked by
//! trying it.

mod finding;
mod machine;

use std::fs;

use anyhow::{Context, Result, bail};

use self::finding::PreflightStatus::{Degraded, Missing};
use self::finding::Seen;
pub use self::finding::{Preflight, PreflightFinding, PreflightStatus};
pub use self::machine::busy_cores;
use crate::tool::{MissingTool, SystemTool, install};
use crate::wiring::AVAILABLE_CONGESTION_CONTROLS;
use crate::{EnterError, Inside, Lab, LabSpec, Topology, netem, nfqueue};

const NO_CELL: &str = "no cell can run, but `./sweep.sh --gate` can, which needs no namespace";
const NO_DELAYED_CELL: &str = "cells with a delay cannot run, but those without (`--rtt 0`) can";
const NFQUEUE_REMEDY: &str = "use a kernel with CONFIG_NETFILTER_XT_TARGET_NFQUEUE, CONFIG_NETFILTER_NETLINK_QUEUE and CONFIG_IP_NF_MANGLE; \
     as root, `modprobe -a xt_NFQUEUE nfnetlink_queue iptable_mangle`";
const NO_NETEM: &str = "netem cannot be used, so there is no loss and no jitter";

/// Runs all checks. `entered` is the result of [`enter`](crate::enter()), which is one of them.
pub fn preflight(entered: &Result<Inside, EnterError>) -> Preflight {
    let mut findings = vec![
        namespaces(entered),
        tool("ip", NO_CELL),
        tool("tc", NO_NETEM),
    ];
    let (mut can_run_rtt_zero, mut can_delay) = (false, false);
    if let Ok(inside) = *entered {
        let link = try_link(inside);
        let netem = netem::probe(inside);
        let nfqueue = nfqueue::probe(inside).map(drop);
        can_run_rtt_zero = link.is_ok();
        can_delay = netem.is_ok() || nfqueue.is_ok();
        // One way to delay packets is enough.
        let without = |has_other: bool, consequence| match (has_other, can_run_rtt_zero) {
            (true, _) => (Degraded, consequence),
            (false, true) => (Missing, NO_DELAYED_CELL),
            (false, false) => (Missing, NO_CELL),
        };
        let by_delay_line = "the delay line delays packets instead; there is no loss and no jitter";
        let no_netem = without(nfqueue.is_ok(), by_delay_line);
        let no_nfqueue = without(netem.is_ok(), "only netem can delay packets");
        let veth = "use a kernel with veth (CONFIG_VETH); as root, `modprobe veth`";
        let error = nfqueue.as_ref().err();
        let missing: Option<&MissingTool> = error.and_then(anyhow::Error::downcast_ref);
        let remedy = missing.map_or(NFQUEUE_REMEDY, |tool| install(tool.name));
        let seen = |()| "tested in a temporary namespace";
        findings.extend([
            PreflightFinding::tried("links", link, (Missing, NO_CELL), veth),
            PreflightFinding::tried("netem", netem.map(seen), no_netem, netem::REMEDY),
            PreflightFinding::tried("iptables, NFQUEUE", nfqueue.map(seen), no_nfqueue, remedy),
        ]);
    } else {
        // There is no namespace to try the program in, so only its presence is checked.
        findings.push(tool("iptables", "the delay line cannot be used"));
    }
    findings.push(congestion_controls());
    findings.extend(machine::findings());
    Preflight {
        findings,
        can_run_rtt_zero,
        can_run_delayed: can_run_rtt_zero && can_delay,
    }
}

fn namespaces(entered: &Result<Inside, EnterError>) -> PreflightFinding {
    let (seen, remedy) = match entered {
        Ok(inside) => {
            let how = match inside.is_rootless() {
                true => "entered as an ordinary user, with a user namespace",
                false => "entered as root, without a user namespace",
            };
            (Seen::Fine(how.to_owned()), "")
        }
        Err(EnterError { why, remedy }) => (Seen::Problem(why.clone()), &**remedy),
    };
    PreflightFinding::new("namespaces", seen, (Missing, NO_CELL), remedy)
}

fn tool(name: &'static str, consequence: &str) -> PreflightFinding {
    let path = SystemTool::find(name).map(|tool| tool.path.display().to_string());
    let found = path.map_err(anyhow::Error::from);
    PreflightFinding::tried(name, found, (Missing, consequence), install(name))
}

fn try_link(inside: Inside) -> Result<String> {
    let placement = Topology::for_this_process()?.place(1, None)?;
    let report = Lab::wire(inside, LabSpec::new(1, placement))?.measure_rtt()?;
    if let Some(invalid) = report.invalid() {
        bail!("{invalid}");
    }
    let min_ms = report.links[0].min_ms().context("no connect returned")?;
    Ok(format!("a link without delay has an RTT of {min_ms:.3} ms"))
}

fn congestion_controls() -> PreflightFinding {
    let available = fs::read_to_string(AVAILABLE_CONGESTION_CONTROLS).unwrap_or_default();
    let has_default = available.split_whitespace().any(|name| name == "cubic");
    let seen = Seen::fine_if(has_default, format!("available: {}", available.trim()));
    let consequence = "the default, cubic, does not work; specify another one";
    let remedy = "as root, `modprobe tcp_cubic`";
    PreflightFinding::new("congestion control", seen, (Degraded, consequence), remedy)
}
