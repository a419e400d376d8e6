//! The report of a soak: what drifts, how it was measured, and what can have been missed.

use run_format::{DelayBackend, RunOutcome, SoakConfig, Stop, Tool};

use super::markdown::{self, Frame, details, list};
use super::{caveats, disturbances, method};
use crate::drift::Drifts;
use crate::load::Soak;
use crate::prose::{self, prose};
use crate::report_kind::ReportKind;
use crate::site::SiteNames;
use crate::summary::{node_words, real_network_words, tool_words, upstream_words};
use crate::text::date;

pub(crate) fn identity(soak: &Soak) -> String {
    let end = soak.file.end.as_ref();
    let lab = end.and_then(|end| end.network.lab.as_ref());
    prose::text(&prose!('a "soak_identity.txt" {
        soak: &'a Soak = soak,
        config: &'a SoakConfig = &soak.file.config,
        backend: Option<DelayBackend> = lab.and_then(|lab| lab.backend),
    }))
}

pub(crate) fn text(title: &str, soak: &Soak, drifts: &Drifts, frame: Frame) -> String {
    let (file, config) = (&soak.file, &soak.file.config);
    let sites = SiteNames::recorded(&file.tool, &config.node);
    let networks = file.end.iter().map(|end| &end.network);
    let program = format!("{}soak", method::BENCHMARK);
    let text = prose::text(&prose!('a "soak.txt" {
        config: &'a SoakConfig = config,
        drifts: &'a Drifts = drifts,
        restarts: Option<u64> = soak.rows.last().and_then(|row| row.restarts),
        identity: String = identity(soak),
        real_network: Option<String> = real_network_words(&config.lab, networks),
        command: String = method::typed(&file.command, &file.tool, config.seed, &program),
    }));
    let caveats = details("Caveats of this soak", [Some(list(caveats(soak, drifts)))]);
    markdown::report(
        ReportKind::Soak,
        title,
        &sites,
        frame,
        [text, caveats].map(Some),
    )
}

pub(crate) fn caveats(soak: &Soak, drifts: &Drifts) -> Vec<String> {
    let (file, config) = (&soak.file, &soak.file.config);
    let peers = config.cell.peers as u64;
    let incomplete = soak.rows.iter().filter(|row| row.peers_connected < peers);
    prose::sentences(&prose!('a "soak_caveats.txt" {
        end: Option<&'a RunOutcome> = file.end.as_ref().map(|end| &end.outcome),
        last_s: f64 = drifts.last_s,
        disturbed: String = disturbances::set_aside_words(&soak.set_aside, drifts.rows, "row"),
        lost: u64 = soak.rows.iter().map(|row| row.lost_records).sum(),
        incomplete: usize = incomplete.count(),
        config: &'a SoakConfig = config,
        machine: Vec<String> = caveats::machine(&config.lab, &file.machine),
        tool: &'a Tool = &file.tool,
    }))
}
