//! What is said of a network that is no lab's.

use std::collections::BTreeSet;

use run_format::{config::LabConfig, run_row::NetworkReport};

use crate::{
    measure::checks::round_trips,
    text::{number, quoted},
};

/// The hosts, the round trips and central's network cards. None of a lab.
pub(crate) fn sentence<'a>(
    lab: &LabConfig,
    runs: impl Iterator<Item = &'a NetworkReport> + Clone,
) -> Option<String> {
    let of = lab.peer_hosts.as_ref()?;
    let hosts: Vec<&str> = of.hosts.iter().map(|host| host.name.as_str()).collect();
    let times = match round_trips(runs.clone()) {
        None => String::new(),
        Some((shortest, median, longest)) => format!(
            " Before each run, TCP connects to them took {} to {} ms; the median is {} ms.",
            number(shortest),
            number(longest),
            number(median)
        ),
    };
    let cards: BTreeSet<String> = runs
        .flat_map(|run| run.cards.iter().map(ToString::to_string))
        .collect();
    let cards = cards
        .into_iter()
        .map(|card| format!(" Central's network card: {card}."));
    Some(format!(
        "The network is real, and nothing was added to it. The peers ran on the hosts {}, started \
         by {}.{times} Congestion control of central: {}.{}",
        hosts.join(", "),
        quoted(of.command.join(" ")),
        lab.congestion_control,
        cards.collect::<String>()
    ))
}
