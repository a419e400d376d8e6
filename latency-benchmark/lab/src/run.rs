//! Any command inside a lab, so that people can try their own tools on its links.

use std::{
    io::{self, Write},
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus},
};

use nix::unistd::Pid;

use crate::{
    Inside, Lab, LabError, LabSpec, Reaped, RttReport, Where,
    signals::{Event, Signals},
};

/// Why a command did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no lab for it, or not any more.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A link is not what was asked for.
    #[error("the lab is invalid: {0}")]
    Invalid(crate::InvalidLink),
    /// The command is not there, for example.
    #[error("{program:?} did not start")]
    Command {
        /// The command's first word.
        program: String,
        /// What the system said.
        source: LabError,
    },
    /// Signals or standard output cannot be used.
    #[error("waiting for the command failed")]
    Io(#[from] io::Error),
}

/// Wires a lab, shows its links on standard error, and runs `command` in central's namespace with
/// the peers' addresses in `LAB_PEER_1` and so on. Meanwhile `peer_command`, if there is one, runs
/// in a shell in every peer's namespace, with the peer's number in `LAB_PEER`. Returns the status to
/// exit with, which is that of `command`.
///
/// SIGINT and SIGTERM go to the command. Has to be called before any other thread exists.
pub fn run(
    inside: Inside,
    spec: LabSpec,
    command: Command,
    peer_command: Option<&str>,
) -> Result<u8, RunError> {
    let signals = Signals::block().map_err(io::Error::from)?;
    let mut lab = Lab::wire(inside, spec)?;
    let report = lab.measure_rtt()?;
    show(&lab, &report)?;
    if let Some(invalid) = report.invalid() {
        return Err(RunError::Invalid(invalid));
    }
    let _peers = start_peers(&lab, peer_command)?;
    let child = start_central(&lab, command)?;
    let status = wait(&signals, &mut lab, child)?;
    if let Some(report) = lab.finish()? {
        show_delay_line(&report)?;
    }
    Ok(exit_code(status))
}

fn start_peers(lab: &Lab, command: Option<&str>) -> Result<Vec<Reaped>, RunError> {
    let Some(text) = command else {
        return Ok(Vec::new());
    };
    let start = |peer: usize| {
        let mut command = Command::new("sh");
        command.args(["-c", text]);
        command.env("LAB_PEER", (peer + 1).to_string());
        start(lab, Where::Peer(peer), command)
    };
    (0..lab.facts().peers).map(start).collect()
}

fn start_central(lab: &Lab, mut command: Command) -> Result<Reaped, RunError> {
    for peer in 0..lab.facts().peers {
        let address = lab.peer_address(peer).to_string();
        command.env(format!("LAB_PEER_{}", peer + 1), address);
    }
    start(lab, Where::Central, command)
}

fn start(lab: &Lab, place: Where, command: Command) -> Result<Reaped, RunError> {
    let program = command.get_program().to_string_lossy().into_owned();
    lab.spawn_placed(place, command)
        .map_err(|source| RunError::Command { program, source })
}

/// The command may end, the delay line may, or someone may want both to.
fn wait(signals: &Signals, lab: &mut Lab, mut child: Reaped) -> Result<ExitStatus, RunError> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        lab.check()?;
        if let Event::End(signal) = signals.next().map_err(io::Error::from)? {
            let pid = i32::try_from(child.id()).expect("a process id is an int");
            // It may have ended in the meantime.
            let _ = nix::sys::signal::kill(Pid::from_raw(pid), signal);
        }
    }
}

/// As a shell has it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

fn show(lab: &Lab, report: &RttReport) -> io::Result<()> {
    let facts = lab.facts();
    let mut out = io::stderr().lock();
    writeln!(
        out,
        "{} peers wired in {:.0} ms, delay by {}, {}",
        facts.peers,
        facts.wiring_ms,
        facts.backend.map_or("nothing", crate::DelayBackend::name),
        facts.placement,
    )?;
    writeln!(
        out,
        "congestion control {}, tcp_rmem {:?}, tcp_wmem {:?}",
        report
            .congestion_control_central
            .as_deref()
            .unwrap_or("unknown"),
        facts.tcp_buffers.receive_bytes,
        facts.tcp_buffers.send_bytes,
    )?;
    writeln!(
        out,
        "links, measured by TCP connects in {:.0} ms:\n{:>5} {:<13} {:>8} {:>9} {:>9}",
        report.took_ms, "peer", "address", "asked ms", "least ms", "most ms"
    )?;
    for (peer, link) in report.links.iter().enumerate() {
        writeln!(
            out,
            "{:>5} {:<13} {:>8} {:>9} {:>9}{}",
            peer + 1,
            lab.peer_address(peer).to_string(),
            report.asked_ms,
            ms(link.min_ms()),
            ms(link.max_ms()),
            if report.is_valid(peer) {
                ""
            } else {
                "  out of tolerance"
            },
        )?;
    }
    Ok(())
}

fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.3}"))
}

fn show_delay_line(report: &crate::DelayLineReport) -> io::Result<()> {
    let packets: u64 = report.queues.iter().map(|queue| queue.packets).sum();
    let dropped: Option<u64> = report.queues.iter().map(|queue| queue.dropped).sum();
    let max_late_us = report
        .queues
        .iter()
        .map(|queue| queue.max_late_us)
        .fold(0.0, f64::max);
    writeln!(
        io::stderr().lock(),
        "delay line: {packets} packets, {} dropped, at most {max_late_us:.0} us late, \
         {:.2} s of CPU time (user {:.2}, system {:.2})",
        dropped.map_or_else(
            || "an unknown number".to_owned(),
            |dropped| dropped.to_string()
        ),
        report.user_cpu_s + report.system_cpu_s,
        report.user_cpu_s,
        report.system_cpu_s,
    )
}
