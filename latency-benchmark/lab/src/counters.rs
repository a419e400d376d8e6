//! What was lost on the way, counted by the kernel.

use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::{
    DelayBackend, LabError,
    netns::Netns,
    nfqueue::user_dropped,
    tool::Tool,
    wiring::{Wires, run_all},
};

/// The counters of a lab since it was wired, or between two readings. Null is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Of central's namespace.
    pub central: NamespaceCounters,
    /// Of each peer's.
    pub peers: Vec<NamespaceCounters>,
    /// CPU time of the delay line. Null also where there is none.
    pub delay_line_cpu: Option<CpuTime>,
}

/// The counters of one namespace. Null is unknown, or that there is no such thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceCounters {
    /// Packets that netem dropped, those lost on purpose included. Null without netem.
    pub qdisc_dropped: Option<u64>,
    /// Packets dropped for want of room at the delay line. Null without one.
    pub queue_dropped: Option<u64>,
    /// Packets dropped by the links' own ends.
    pub link_dropped: Option<u64>,
    /// TCP segments sent, without those sent again.
    pub tcp_segments_sent: Option<u64>,
    /// TCP segments sent again.
    pub tcp_segments_retransmitted: Option<u64>,
    /// Retransmission timers that ran out.
    pub tcp_timeouts: Option<u64>,
}

/// CPU time of a process, in the kernel's ticks of usually 10 ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuTime {
    /// In user mode.
    pub user_s: f64,
    /// In the kernel.
    pub system_s: f64,
}

impl Counters {
    /// What was counted between `before` and this.
    pub fn since(&self, before: &Counters) -> Counters {
        let peers = std::iter::zip(&self.peers, &before.peers);
        Counters {
            central: self.central.since(&before.central),
            peers: peers.map(|(after, before)| after.since(before)).collect(),
            delay_line_cpu: self.delay_line_cpu.zip(before.delay_line_cpu).map(
                |(after, before)| CpuTime {
                    user_s: after.user_s - before.user_s,
                    system_s: after.system_s - before.system_s,
                },
            ),
        }
    }

    /// The sum over all namespaces of what is known in each of them.
    pub fn total(&self) -> NamespaceCounters {
        self.peers.iter().fold(self.central, |sum, peer| {
            sum.combine(peer, u64::checked_add)
        })
    }
}

impl NamespaceCounters {
    fn since(&self, before: &NamespaceCounters) -> NamespaceCounters {
        self.combine(before, u64::checked_sub)
    }

    /// Each counter with its like; unknown if either is, or if there is no result.
    fn combine(
        &self,
        other: &NamespaceCounters,
        f: fn(u64, u64) -> Option<u64>,
    ) -> NamespaceCounters {
        let each = |of: fn(&NamespaceCounters) -> Option<u64>| f(of(self)?, of(other)?);
        NamespaceCounters {
            qdisc_dropped: each(|counters| counters.qdisc_dropped),
            queue_dropped: each(|counters| counters.queue_dropped),
            link_dropped: each(|counters| counters.link_dropped),
            tcp_segments_sent: each(|counters| counters.tcp_segments_sent),
            tcp_segments_retransmitted: each(|counters| counters.tcp_segments_retransmitted),
            tcp_timeouts: each(|counters| counters.tcp_timeouts),
        }
    }
}

pub(crate) fn read(
    wires: &Wires,
    backend: Option<DelayBackend>,
    delay_line: Option<u32>,
) -> Result<Counters, LabError> {
    let mut all =
        Netns::for_each(wires.namespaces(), |_| Ok(read_here())).map_err(LabError::Namespaces)?;
    if backend == Some(DelayBackend::Netem) {
        let tc = Tool::find("tc")?;
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

/// Those of the namespace that the calling thread is in.
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

/// A value of a table in which a line of names is followed by a line of values.
fn column(table: &str, prefix: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(prefix));
    let names = lines.next()?.split_whitespace();
    let values = lines.next()?.split_whitespace();
    std::iter::zip(names, values)
        .find_map(|(known, value)| (known == name).then(|| value.parse().ok()))?
}

/// Drops of both directions, over all interfaces but `lo`.
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

/// The 14th and 15th of the fields, of which the second is a name in brackets that may hold spaces.
fn cpu_ticks(stat: &str) -> Option<[u64; 2]> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(14 - 3);
    Some([fields.next()?.parse().ok()?, fields.next()?.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_name_not_its_place() {
        let snmp = "Ip: Forwarding\nIp: 1\nTcp: A RetransSegs B\nTcp: -1 7 9\n";
        assert_eq!(column(snmp, "Tcp:", "RetransSegs"), Some(7));
        assert_eq!(column(snmp, "Tcp:", "Absent"), None);
        assert_eq!(column(snmp, "Udp:", "RetransSegs"), None);
    }

    #[test]
    fn drops_of_links_leave_out_lo() {
        let dev = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop|bytes\n\
                   lo: 1 1 0 50 0 0 0 0 1 1 0 50 0 0 0 0\n\
                   e0: 1 1 0 3 0 0 0 0 1 1 0 4 0 0 0 0\n";
        assert_eq!(link_dropped(dev), Some(7));
    }

    #[test]
    fn only_netem_counts_among_qdiscs() {
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

    #[test]
    fn what_is_unknown_on_either_side_stays_unknown() {
        let before = NamespaceCounters {
            queue_dropped: None,
            tcp_timeouts: Some(2),
            ..NamespaceCounters::default()
        };
        let after = NamespaceCounters {
            queue_dropped: Some(1),
            tcp_timeouts: Some(5),
            ..NamespaceCounters::default()
        };
        let between = after.since(&before);
        assert_eq!(
            (between.queue_dropped, between.tcp_timeouts),
            (None, Some(3))
        );
    }
}
