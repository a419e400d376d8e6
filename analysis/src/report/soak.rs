//! The report of a soak: what drifts, how it was measured, and what can have been missed.

use run_format::manifest::Tool;
use run_format::run_row::{End, Stop};
use run_format::soak::SoakConfig;

use super::disturbed::in_words;
use super::markdown::{Document, Frame};
use super::{caveats, method};
use crate::drift::Drifts;
use crate::load::Soak;
use crate::prose::{self, prose};
use crate::site::SiteNames;
use crate::summary::{of_node, of_real_network, of_tool, of_upstream};
use crate::text::{self, date};

pub(crate) fn identity(soak: &Soak) -> String {
    let file = &soak.file;
    let config = &file.config;
    let node = &config.node;
    let end = file.end.as_ref();
    let lab = end.and_then(|end| end.network.lab.as_ref());
    let delay = match lab.and_then(|lab| lab.backend) {
        _ if config.lab.peer_hosts.is_some() => "a real network".to_owned(),
        Some(backend) => format!("delay by {backend}"),
        None if config.cell.rtt_ms.is_zero() => "no delay".to_owned(),
        None => "delay by an unknown means".to_owned(),
    };
    [
        format!("soak {} of {}", soak.name(), date(file.created_unix_s)),
        config.cell.to_string(),
        format!("budget {}, churn {}", config.budgets, config.churn),
        of_upstream(&file.tool),
        of_node(node),
        text::machine(&file.machine),
        delay,
        of_tool(&file.tool),
    ]
    .join(" · ")
}

pub(crate) fn text(title: &str, soak: &Soak, drifts: &Drifts, frame: Frame) -> String {
    let (file, config) = (&soak.file, &soak.file.config);
    let sites = SiteNames::of(Some((&file.tool, &config.node)));
    let mut document = Document::new("soak", title, &sites, frame);
    let networks = file.end.iter().map(|end| &end.network);
    document.prose(&prose!('a "soak.txt" {
        config: &'a SoakConfig = config,
        drifts: &'a Drifts = drifts,
        requested_s: f64 = config.duration_ms as f64 / 1e3,
        interval_s: f64 = config.interval_ms as f64 / 1e3,
        restarts: Option<u64> = soak.rows.last().and_then(|row| row.restarts),
        identity: String = identity(soak),
        real_network: Option<String> = of_real_network(&config.lab, networks),
    }));
    let program = format!("{}soak", method::BENCHMARK);
    document.command(&method::typed(
        &file.command,
        &file.tool,
        config.seed,
        &program,
    ));
    document.details("Caveats of this soak", |document| {
        document.list(caveats(soak, drifts));
    });
    document.finish()
}

pub(crate) fn caveats(soak: &Soak, drifts: &Drifts) -> Vec<String> {
    let (file, config) = (&soak.file, &soak.file.config);
    let peers = config.cell.peers as u64;
    let disturbed = (&soak.set_aside, &soak.kept);
    let incomplete = soak.rows.iter().filter(|row| row.peers_connected < peers);
    prose::sentences(&prose!('a "soak_caveats.txt" {
        end: Option<&'a End> = file.end.as_ref().map(|end| &end.end),
        last_s: f64 = drifts.last_s,
        disturbed: String = in_words(disturbed, (drifts.rows, "row"), |_| true),
        lost: u64 = soak.rows.iter().map(|row| row.lost_records).sum(),
        incomplete: usize = incomplete.count(),
        config: &'a SoakConfig = config,
        machine: Vec<String> = caveats::machine(&config.lab, &file.machine),
        tool: &'a Tool = &file.tool,
    }))
}
