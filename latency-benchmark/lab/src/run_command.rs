//! Runs any command inside a lab, so that users can try their own tools on its links.

use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use program::{eprint_line, exit_code};

use crate::signals::SupervisorSignals;
use crate::{Inside, KillOnDrop, Lab, LabSpec, NodePlace};
use run_format::{DelayLineReport, RttReport};

/// Wires a lab, prints its links to standard error, and runs `command` in central's namespace. The variables
/// `LAB_PEER_1`, `LAB_PEER_2`, … hold the peers' addresses. At the same time a shell runs `peer_command`, if
/// there is one, in every peer's namespace, with the peer's number in `LAB_PEER`. Returns the exit code of
/// `command`.
///
/// Forwards SIGINT and SIGTERM to the command. Call it before any other thread exists.
pub fn run_in_lab(
    inside: Inside,
    spec: LabSpec,
    mut command: Command,
    peer_command: Option<&str>,
) -> Result<u8> {
    let signals = SupervisorSignals::block()?;
    let mut lab = Lab::wire(inside, spec)?;
    let report = lab.measure_rtt()?;
    show(&lab, &report);
    if let Some(invalid) = report.invalid() {
        bail!("the lab is invalid: {invalid}");
    }
    // These shells are dropped, and so killed, when the command has ended.
    let mut peers = Vec::new();
    for peer in 0..lab.facts().peers {
        let (number, address) = (peer + 1, lab.peer_address(peer));
        command.env(format!("LAB_PEER_{number}"), address.to_string());
        if let Some(text) = peer_command {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", text]).env("LAB_PEER", number.to_string());
            peers.push(start(&lab, NodePlace::Peer(peer), shell)?);
        }
    }
    let child = start(&lab, NodePlace::Central, command)?;
    let status = wait(&signals, &mut lab, child)?;
    if let Some(report) = lab.finish()? {
        show_delay_line(&report);
    }
    Ok(exit_code(status))
}

fn start(lab: &Lab, place: NodePlace, command: Command) -> Result<KillOnDrop> {
    let program = command.get_program().to_string_lossy().into_owned();
    let started = lab.spawn_placed(place, command);
    started.with_context(|| format!("{program:?} did not start"))
}

/// Waits until the command or the delay line ends. Forwards signals to the command.
fn wait(signals: &SupervisorSignals, lab: &mut Lab, mut child: KillOnDrop) -> Result<ExitStatus> {
    loop {
        if let Some(status) = child.child.try_wait()? {
            return Ok(status);
        }
        lab.check()?;
        let signal = signals.next()?;
        if signal != Signal::SIGCHLD {
            child.send(signal);
        }
    }
}

fn show(lab: &Lab, report: &RttReport) {
    let facts = lab.facts();
    let backend = facts.backend.map(|backend| backend.to_string());
    let control = report.congestion_control_central.as_deref();
    eprint_line(format!(
        "wired {} peers in {:.0} ms, delay by {}, {}",
        facts.peers,
        facts.wiring_ms,
        backend.as_deref().unwrap_or("nothing"),
        facts.placement,
    ));
    eprint_line(format!(
        "congestion control {}, tcp_rmem {:?}, tcp_wmem {:?}",
        control.unwrap_or("unknown"),
        facts.tcp_buffers.receive_bytes,
        facts.tcp_buffers.send_bytes,
    ));
    eprint_line(format!(
        "links, measured by TCP connects in {:.0} ms:\n{:>5} {:<13} {:>8} {:>9} {:>9}",
        report.took_ms, "peer", "address", "asked ms", "min ms", "max ms"
    ));
    for (peer, link) in report.links.iter().enumerate() {
        let is_valid = report.is_valid(peer);
        eprint_line(format!(
            "{:>5} {:<13} {:>8} {:>9} {:>9}{}",
            peer + 1,
            lab.peer_address(peer).to_string(),
            report.asked_ms,
            ms(link.min_ms()),
            ms(link.max_ms()),
            if is_valid { "" } else { "  out of tolerance" },
        ));
    }
}

fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.3}"))
}

fn show_delay_line(report: &DelayLineReport) {
    let packets: u64 = report.queues.iter().map(|queue| queue.packets).sum();
    let dropped: Option<u64> = report.queues.iter().map(|queue| queue.dropped).sum();
    let late_us = report.queues.iter().map(|queue| queue.max_late_us);
    let max_late_us = late_us.fold(0.0, f64::max);
    eprint_line(format!(
        "delay line: {packets} packets, {} dropped, at most {max_late_us:.0} us late, \
         {:.2} s of CPU time (user {:.2}, system {:.2})",
        dropped.map_or("an unknown number".to_owned(), |count| count.to_string()),
        report.user_cpu_s + report.system_cpu_s,
        report.user_cpu_s,
        report.system_cpu_s,
    ));
}
