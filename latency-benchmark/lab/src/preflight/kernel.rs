//! What the lab needs: everything here is really tried.

use std::fs;

use super::Finding;
use crate::{
    EnterError, Inside, Lab, LabError, LabSpec, Placement, RttReport, Topology, netem, nfqueue,
    tool::{Tool, ToolError, install},
};

pub(super) struct Kernel {
    pub(super) findings: Vec<Finding>,
    pub(super) can_run_rtt_zero: bool,
    pub(super) can_run_delayed: bool,
}

const NO_CELL: &str = "no cell can run";
const NO_DELAYED_CELL: &str = "no cell with a delay can run";

pub(super) fn look(entered: &Result<Inside, EnterError>) -> Kernel {
    let mut findings = vec![namespaces(entered), tool("ip", NO_CELL)];
    findings.push(tool("tc", "delay, loss and jitter by netem cannot be had"));
    let Ok(inside) = *entered else {
        findings.push(iptables_alone());
        findings.push(congestion_controls());
        return Kernel {
            findings,
            can_run_rtt_zero: false,
            can_run_delayed: false,
        };
    };
    let link = try_link(inside);
    let netem = netem::probe(inside);
    let nfqueue = nfqueue::probe(inside).map(drop);
    let can_run_rtt_zero = link.is_ok();
    let can_delay = netem.is_ok() || nfqueue.is_ok();
    findings.push(match link {
        Ok(seen) => Finding::ok("links", seen),
        Err(problem) => Finding::missing(
            "links",
            problem,
            NO_CELL,
            "a kernel with veth (CONFIG_VETH); as root, `modprobe veth`",
        ),
    });
    findings.push(netem_finding(netem, nfqueue.is_ok()));
    findings.push(nfqueue_finding(nfqueue, can_delay));
    findings.push(congestion_controls());
    Kernel {
        findings,
        can_run_rtt_zero,
        can_run_delayed: can_run_rtt_zero && can_delay,
    }
}

fn namespaces(entered: &Result<Inside, EnterError>) -> Finding {
    const NAME: &str = "namespaces";
    match entered {
        Ok(inside) if inside.is_rootless() => {
            Finding::ok(NAME, "entered as an ordinary user, by a user namespace")
        }
        Ok(_) => Finding::ok(NAME, "entered as root; no user namespace needed"),
        Err(error) => {
            let remedy = match error {
                EnterError::UserNamespacesOff { sysctl, remedy, .. } => {
                    format!("as root: `sysctl -w {sysctl}={remedy}`; or run with `sudo`")
                }
                _ => "run with `sudo`, outside of a container".to_owned(),
            };
            Finding::missing(NAME, error.to_string(), NO_CELL, &remedy)
        }
    }
}

fn tool(name: &'static str, consequence: &str) -> Finding {
    match Tool::find(name) {
        Ok(tool) => Finding::ok(name, tool.path().display().to_string()),
        Err(error) => Finding::missing(name, error.to_string(), consequence, install(name)),
    }
}

/// Wires one link and measures it.
fn try_link(inside: Inside) -> Result<String, String> {
    let report = measured_link(inside)?;
    match (report.links[0].min_ms(), report.invalid()) {
        (_, Some(invalid)) => Err(invalid.to_string()),
        (Some(min_ms), None) => Ok(format!("a link without delay has an RTT of {min_ms:.3} ms")),
        (None, None) => Err("no connect came back".to_owned()),
    }
}

fn measured_link(inside: Inside) -> Result<RttReport, String> {
    let topology = Topology::of_this_process().map_err(|error| describe(&error))?;
    let placement = Placement::choose(&topology, None, None).map_err(|error| describe(&error))?;
    let lab = Lab::wire(inside, LabSpec::new(1, placement)).map_err(|error| describe(&error))?;
    lab.measure_rtt().map_err(|error| describe(&error))
}

fn netem_finding(probed: Result<(), LabError>, nfqueue_works: bool) -> Finding {
    const NAME: &str = "netem";
    match probed {
        Ok(()) => Finding::ok(NAME, "works, tried in a namespace made for it"),
        Err(error) if nfqueue_works => Finding::degraded(
            NAME,
            describe(&error),
            "delay is made by the delay line; loss and jitter cannot be had",
            netem::REMEDY,
        ),
        Err(error) => Finding::missing(NAME, describe(&error), NO_DELAYED_CELL, netem::REMEDY),
    }
}

fn nfqueue_finding(probed: Result<(), LabError>, can_delay: bool) -> Finding {
    const NAME: &str = "iptables, NFQUEUE";
    let error = match probed {
        Ok(()) => return Finding::ok(NAME, "work, tried in a namespace made for it"),
        Err(error) => error,
    };
    let remedy = match error {
        LabError::Tool(ToolError::Missing { name, .. }) => install(name),
        _ => {
            "a kernel with CONFIG_NETFILTER_XT_TARGET_NFQUEUE and CONFIG_IP_NF_MANGLE; \
             as root, `modprobe -a xt_NFQUEUE nfnetlink_queue iptable_mangle`"
        }
    };
    if can_delay {
        let consequence = "delay is made by netem alone";
        Finding::degraded(NAME, describe(&error), consequence, remedy)
    } else {
        Finding::missing(NAME, describe(&error), NO_DELAYED_CELL, remedy)
    }
}

/// Without a namespace to try it in, only its presence can be seen.
fn iptables_alone() -> Finding {
    tool("iptables", "delay by the delay line cannot be had")
}

fn congestion_controls() -> Finding {
    const NAME: &str = "congestion control";
    const PATH: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let available = fs::read_to_string(PATH).unwrap_or_default();
    let seen = format!("available: {}", available.trim());
    if available.split_whitespace().any(|name| name == "cubic") {
        return Finding::ok(NAME, seen);
    }
    Finding::degraded(
        NAME,
        seen,
        "the default, cubic, cannot be had; name another one",
        "as root, `modprobe tcp_cubic`",
    )
}

fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}
