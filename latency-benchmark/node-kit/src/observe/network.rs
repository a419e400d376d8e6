//! Reads the kernel's counts of network namespaces.

use std::fs;

use super::process::Observee;

/// The sum of a count over the network namespaces of the observees. It is absent if the count of one is, or if there are none.
pub(crate) fn sum_over_namespaces(
    observees: &[Observee],
    count: fn(&str) -> Option<u64>,
) -> Option<u64> {
    let folders = observees.iter().map(|observee| observee.folder() + "/net");
    let sum: Option<u64> = folders.map(|folder| count(&folder)).sum();
    sum.filter(|_| !observees.is_empty())
}

pub(crate) fn retransmits(folder: &str) -> Option<u64> {
    let snmp = fs::read_to_string(format!("{folder}/snmp")).ok()?;
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let [mut names, mut values] = [lines.next()?, lines.next()?].map(str::split_whitespace);
    let column = names.position(|name| name == "RetransSegs")?;
    values.nth(column)?.parse().ok()
}

/// The number of packets that found a queue of the delay line full. Absent if there is no such queue. Each line of the file is
/// a queue, and its sixth and seventh numbers are the drops by the kernel and by the listener's socket.
pub(crate) fn queue_drops(folder: &str) -> Option<u64> {
    let queues = fs::read_to_string(format!("{folder}/netfilter/nfnetlink_queue")).ok()?;
    let drops = queues.lines().map(|queue| {
        let mut numbers = queue.split_whitespace().map(str::parse::<u64>).skip(5);
        Some(numbers.next()?.ok()? + numbers.next()?.ok()?)
    });
    (!queues.is_empty()).then(|| drops.sum())?
}
