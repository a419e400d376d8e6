//! The kernel's counts of dropped packets and repeated TCP segments.

use std::{fs, io};

use serde::Deserialize;

use crate::{
    Counters, CpuTime, DelayBackend, LabError, NamespaceCounters,
    netns::Netns,
    nfqueue::user_dropped,
    tool::SystemTool,
    wiring::{Wires, run_all},
};

pub(crate) fn read(
    wires: &Wires,
    backend: Option<DelayBackend>,
    delay_line: Option<u32>,
) -> Result<Counters, LabError> {
    let mut all =
        Netns::for_each(wires.namespaces(), |_| Ok(read_here())).map_err(LabError::Namespaces)?;
    if backend == Some(DelayBackend::Netem) {
        let tc = SystemTool::find("tc")?;
        let show = ["-s", "-j", "qdisc", "show"];
        let outputs = run_all(wires.namespaces(), |namespace| {
            tc.start(namespace, &show, "")
        })?;
        for (counters, output) in std::iter::zip(&mut all, outputs) {
            counters.qdisc_dropped = netem_dropped(&output);
        }
    }
    let peers = all.split_off(1);
    Ok(Counters {
        central: all[0],
        peers,
        delay_line_cpu: delay_line.and_then(|pid| cpu_time(pid).ok()),
    })
}

/// The counters of the calling thread's namespace.
fn read_here() -> NamespaceCounters {
    let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).ok();
    let (snmp, netstat) = (read("snmp"), read("netstat"));
    let snmp = |name| column(snmp.as_deref()?, "Tcp:", name);
    NamespaceCounters {
        qdisc_dropped: None,
        queue_dropped: user_dropped(),
        link_dropped: read("dev").as_deref().and_then(link_dropped),
        tcp_segments_sent: snmp("OutSegs"),
        tcp_segments_retransmitted: snmp("RetransSegs"),
        tcp_timeouts: netstat
            .as_deref()
            .and_then(|netstat| column(netstat, "TcpExt:", "TCPTimeouts")),
    }
}

/// A value from a table that has a line of names followed by a line of values.
fn column(table: &str, prefix: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(prefix));
    let names = lines.next()?.split_whitespace();
    let values = lines.next()?.split_whitespace();
    std::iter::zip(names, values)
        .find_map(|(known, value)| (known == name).then(|| value.parse().ok()))?
}

/// Packets dropped in both directions by all interfaces except `lo`.
fn link_dropped(table: &str) -> Option<u64> {
    const RECEIVE: usize = 3;
    const SEND: usize = 11;
    let links = table.lines().filter_map(|line| line.split_once(':'));
    let drops = links
        .filter(|(name, _)| name.trim() != "lo")
        .map(|(_, numbers)| {
            let numbers: Vec<u64> = numbers
                .split_whitespace()
                .map(|number| number.parse().ok())
                .collect::<Option<_>>()?;
            Some(numbers.get(RECEIVE)? + numbers.get(SEND)?)
        });
    drops.sum()
}

#[derive(Deserialize)]
struct Qdisc {
    kind: String,
    drops: Option<u64>,
}

fn netem_dropped(json: &str) -> Option<u64> {
    let qdiscs: Vec<Qdisc> = serde_json::from_str(json).ok()?;
    let netem = qdiscs.iter().filter(|qdisc| qdisc.kind == "netem");
    netem.map(|qdisc| qdisc.drops).sum()
}

fn cpu_time(pid: u32) -> io::Result<CpuTime> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK)?
        .ok_or_else(|| io::Error::other("the length of a tick is unknown"))?;
    cpu_ticks(&stat)
        .map(|[user, system]| CpuTime {
            user_s: user as f64 / per_second as f64,
            system_s: system as f64 / per_second as f64,
        })
        .ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat has an unknown form")))
}

/// The 14th and the 15th field. The second field is a name in brackets, which may contain spaces.
fn cpu_ticks(stat: &str) -> Option<[u64; 2]> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(14 - 3);
    Some([fields.next()?.parse().ok()?, fields.next()?.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_name() {
        let snmp = "Ip: Forwarding\nIp: 1\nTcp: A RetransSegs B\nTcp: -1 7 9\n";
        assert_eq!(column(snmp, "Tcp:", "RetransSegs"), Some(7));
        assert_eq!(column(snmp, "Tcp:", "Absent"), None);
        assert_eq!(column(snmp, "Udp:", "RetransSegs"), None);
    }

    #[test]
    fn dropped_packets_of_lo_do_not_count() {
        let dev = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop|bytes\n\
                   lo: 1 1 0 50 0 0 0 0 1 1 0 50 0 0 0 0\n\
                   e0: 1 1 0 3 0 0 0 0 1 1 0 4 0 0 0 0\n";
        assert_eq!(link_dropped(dev), Some(7));
    }

    #[test]
    fn only_the_qdisc_netem_counts() {
        let json = r#"[{"kind":"noqueue","drops":5},{"kind":"netem","drops":2},{"kind":"netem","drops":1}]"#;
        assert_eq!(netem_dropped(json), Some(3));
        assert_eq!(netem_dropped(r#"[{"kind":"netem"}]"#), None);
        assert_eq!(netem_dropped("no json"), None);
    }

    #[test]
    fn cpu_time_is_read_past_a_name_with_spaces_and_brackets() {
        let stat = "12 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 250 125 0 0";
        assert_eq!(cpu_ticks(stat), Some([250, 125]));
    }
}
