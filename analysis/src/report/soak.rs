//! The report of a soak: what drifts, how it was measured, and what can have been missed.

use run_format::run_row::End;
use run_format::soak::SoakEnd;

use super::disturbed::in_words;
use super::markdown::{Document, Frame, Row, quoted};
use super::{caveats, method};
use crate::drift::Drifts;
use crate::load::Soak;
use crate::site::SiteNames;
use crate::summary::{of_node, of_real_network, of_tool, of_upstream};
use crate::text::{self, count, date, lasting, number};

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
    let sites = SiteNames::of(Some((&soak.file.tool, &soak.file.config.node)));
    let mut document = Document::new("soak", title, &sites, frame);
    table(&mut document, drifts);
    method(&mut document, soak, drifts);
    document.details("Caveats of this soak", |document| {
        document.list(caveats(soak, drifts));
    });
    document.finish()
}

fn table(document: &mut Document, drifts: &Drifts) {
    document.table(drifts.all.iter().map(|drift| {
        let drifts = match drift.in_a_word() {
            Some(_) if drift.is_drifting() => "**yes**",
            word => word.unwrap_or("unknown"),
        };
        Row::of("series", drift.series.words)
            .with("median", drift.median())
            .with_any("slope", drift.slope())
            .with("drifts", drifts)
    }));
    document.paragraph(
        "A series drifts if the interval of its slope excludes zero. These intervals hold together with 95 % for all \
         series.",
    );
}

fn method(document: &mut Document, soak: &Soak, drifts: &Drifts) {
    let config = &soak.file.config;
    let restarts = soak.rows.last().and_then(|row| row.restarts);
    let restarts = restarts.map_or_else(|| "unknown".to_owned(), |it| it.to_string());
    let requested = lasting(config.duration_ms as f64 / 1e3);
    let interval_s = config.interval_ms as f64 / 1e3;
    let [took, warm_up] = [drifts.last_s, drifts.warm_up_s].map(lasting);
    let (rows, judged) = (count(drifts.rows, "row"), drifts.judged_rows);
    let (cell, budgets, churn, seed) = (&config.cell, &config.budgets, &config.churn, config.seed);
    document.heading("How it was measured");
    document.list([
        format!(
            "{cell} for {took} of the requested {requested}, with a row every {interval_s} s. Of {rows}, {judged} are judged: \
             those after a warm-up of {warm_up}, which is a tenth of the soak and at most half an hour."
        ),
        format!(
            "Budget {budgets}; churn {churn}. Number of peer restarts: {restarts}. Seed {seed}."
        ),
        "A slope is the median of the slopes between all pairs of rows (Sen's slope). Its interval is the wider, the more \
         neighbouring rows resemble each other. Slow and late mean over 50 µs."
            .to_owned(),
        identity(soak),
    ]);
    let networks = soak.file.end.iter().map(|end| &end.network);
    document.list(of_real_network(&config.lab, networks));
    let (command, tool) = (&soak.file.command, &soak.file.tool);
    let program = format!("{}soak", method::BENCHMARK);
    document.command(&method::typed(command, tool, config.seed, &program));
}

pub(crate) fn caveats(soak: &Soak, drifts: &Drifts) -> Vec<String> {
    const SHORT_S: f64 = 3600.0;
    let mut caveats = Vec::from_iter(ended(soak.file.end.as_ref()));
    if drifts.last_s < SHORT_S {
        let (time, hours) = (lasting(drifts.last_s), number(drifts.last_s / SHORT_S));
        caveats.push(format!(
            "The soak is only {time} ({hours} h) long. Slopes per hour are extrapolated, and changes that take hours do not \
             show."
        ));
    }
    let disturbed = (&soak.set_aside, &soak.kept);
    let disturbed = in_words(disturbed, (drifts.rows, "row"), |_| true);
    caveats.extend((!disturbed.is_empty()).then(|| disturbed.trim().to_owned()));
    if let lost @ 1.. = soak.rows.iter().map(|row| row.lost_records).sum::<u64>() {
        caveats.push(format!(
            "{lost} polls, requests or wake-ups are not counted, because a buffer was full."
        ));
    }
    let config = &soak.file.config;
    let peers = config.cell.peers;
    let rows = soak.rows.iter();
    let incomplete = rows.filter(|row| row.peers_connected < peers as u64);
    if let incomplete @ 1.. = incomplete.count() {
        caveats.push(format!(
            "At the end of {}, not all of {peers} peers were connected. Values that depend on the number of peers are \
             lower there.",
            count(incomplete, "row")
        ));
    }
    caveats.extend(caveats::machine(&config.lab, &soak.file.machine));
    caveats::build(&mut caveats, &soak.file.tool);
    caveats.push(String::from(
        "This is one launch; another may drift differently. Other load on the machine appears as drift, too. Resident memory \
         includes the measuring code, and freed memory may stay resident. What grows and is released again, or grows in the \
         last minutes only, may show in the page's pictures and not in its slope.",
    ));
    caveats
}

fn ended(end: Option<&SoakEnd>) -> Option<String> {
    const OPEN: &str =
        "The soak is still running, or it was killed. The report covers the rows so far.";
    let failed = |stage: String, reason: &String| {
        format!(
            "**The soak failed before its end**{stage}: {}.",
            quoted(reason)
        )
    };
    match end.map(|end| &end.end) {
        None => Some(OPEN.to_owned()),
        Some(&End::INTERRUPTED) => Some("The soak was interrupted before its end.".to_owned()),
        Some(End::Ok { .. }) => None,
        Some(End::Invalid { reason }) => Some(failed(String::new(), reason)),
        Some(End::Failed { stage, reason }) => {
            Some(failed(format!(", in the stage {stage}"), reason))
        }
    }
}
