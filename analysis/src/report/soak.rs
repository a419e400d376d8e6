//! The report of a soak: what drifts, how it was measured, and what could have been missed.

use super::markdown::{Document, Links};
use crate::{
    drift::{
        Drift, Drifts,
        words::{lasting, p_text},
    },
    grid::payload,
    load::soak::Soak,
    options::Options,
    stats::Trend,
    summary::identity::{date, of_machine, of_tool, of_upstream},
    text::{change, count, number},
    views::Entry,
};

/// Which soak it is, in one line.
pub(crate) fn identity(soak: &Soak) -> String {
    let file = &soak.file;
    let node = &file.config.node;
    [
        format!("soak {} of {}", soak.name(), date(file.created_unix_s)),
        cell(soak),
        format!(
            "budget {}, churn {}",
            file.config.budgets, file.config.churn
        ),
        of_upstream(&file.tool),
        format!(
            "{} over {}, {}",
            node.workload, node.transport, node.security
        ),
        of_machine(&file.machine),
        delay(soak),
        of_tool(&file.tool),
    ]
    .join(" · ")
}

fn cell(soak: &Soak) -> String {
    let cell = &soak.file.config.cell;
    format!(
        "N={} RTT={} ms {}",
        cell.peers,
        cell.rtt_ms,
        payload(cell.payload_bytes)
    )
}

fn delay(soak: &Soak) -> String {
    let network = soak.file.end.as_ref().map(|end| &end.network);
    let lab = network.and_then(|network| network.lab.as_ref());
    match lab.and_then(|lab| lab.backend.as_deref()) {
        Some(backend) => format!("delay by {backend}"),
        None if soak.file.config.cell.rtt_ms == 0.0 => "no delay".to_owned(),
        None => "delay by an unknown means".to_owned(),
    }
}

/// The whole report.
pub(crate) fn text(soak: &Soak, drifts: &Drifts, pictures: &[Entry], options: &Options) -> String {
    let links = Links::new(options.link_base.as_deref());
    let mut document = Document::new(&format!("What drifts in a soak: {}", soak.name()));
    document.paragraph(&format!("**Verdict.** {}", drifts.sentences().join(" ")));
    if let Some(picture) = pictures.iter().find(|it| it.is_first) {
        document.picture(&links, picture);
    }
    table(&mut document, drifts);
    method(&mut document, soak, drifts);
    document.details("Caveats of this soak", |document| {
        document.list(caveats(soak, drifts));
    });
    document.details("All pictures", |document| {
        document.pictures(&links, pictures);
    });
    document.finish()
}

fn table(document: &mut Document, drifts: &Drifts) {
    let or_absent = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let row = |drift: &Drift| {
        let drifting = match (drift.trend.is_some(), drift.is_drifting()) {
            (false, _) => "cannot be told",
            (true, false) => "no",
            (true, true) if drift.has_settled() => "**yes**, then settled",
            (true, true) => "**yes**",
        };
        vec![
            drift.series.words.to_owned(),
            or_absent(drift.level()),
            or_absent(drift.slope()),
            or_absent(drift.adjusted_p_value.map(p_text)),
            or_absent(drift.late_trend.as_ref().map(|it| late(drift, it))),
            or_absent(drift.least()),
            drifting.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = drifts.all.iter().map(row).collect();
    document.table(
        &[
            "series",
            "median",
            "trend",
            "chance, of all series",
            "trend in the second half",
            "least slope that is found",
            "drifts",
        ],
        &rows,
    );
    document.paragraph(
        "Trends are Sen's slopes with 95 % intervals. A slope of the size in the last column but one is found in \
         four of five soaks of this length and noise; of smaller ones nothing can be said, and where it is absent, \
         either nothing ever changed or no slope could be told.",
    );
}

fn late(drift: &Drift, trend: &Trend) -> String {
    let interval = (trend.interval.low, trend.interval.high);
    change(trend.slope, &drift.per_hour(), interval)
}

fn method(document: &mut Document, soak: &Soak, drifts: &Drifts) {
    let config = &soak.file.config;
    document.heading("How it was measured");
    document.list([
        format!(
            "{} for {} of {} asked for, a row every {} s: {}, of which the {} after a warm-up of {} (a tenth, and no \
             more than half an hour) are tested.",
            cell(soak),
            lasting(drifts.last_s),
            lasting(config.duration_ms as f64 / 1e3),
            config.interval_ms as f64 / 1e3,
            count(drifts.rows, "row"),
            drifts.tested_rows,
            lasting(drifts.warm_up_s)
        ),
        format!(
            "Budget {}; churn {}: {}. Seed {}.",
            config.budgets,
            config.churn,
            restarts(soak),
            config.seed
        ),
        "Each series is tested by Mann and Kendall's test for a trend, whose variance is widened by as much as \
         neighbouring values resemble each other; of the series called drifting, at most 5 % are expected not to \
         (Benjamini and Yekutieli). Slow and late: over 50 µs."
            .to_owned(),
        identity(soak),
    ]);
    document.paragraph("To do it again:");
    document.code(&soak.file.command.join(" "));
}

fn restarts(soak: &Soak) -> String {
    let last = soak.rows.column("restarts").last().copied().flatten();
    last.map_or_else(
        || "how many peers were restarted is not known".to_owned(),
        |restarts| format!("peers were restarted {restarts} times"),
    )
}

/// Only what applies.
fn caveats(soak: &Soak, drifts: &Drifts) -> Vec<String> {
    let mut caveats = Vec::new();
    ended(&mut caveats, soak);
    too_short(&mut caveats, drifts);
    let lost: f64 = soak.rows.column("lost_records").iter().flatten().sum();
    if lost > 0.0 {
        caveats.push(format!(
            "{lost} polls, requests or delays found a buffer full and are not counted."
        ));
    }
    let config = &soak.file.config;
    let missing = missing(soak);
    if missing > 0 {
        caveats.push(format!(
            "In {} not all of {} peers were connected at the end: what depends on how many there are is lower there.",
            count(missing, "row"),
            config.cell.peers
        ));
    }
    if config.lab.placement.sharing != "nothing" {
        caveats.push(format!(
            "Central's core shares {} with the peers'.",
            config.lab.placement.sharing
        ));
    }
    if soak.file.tool.profile != "release" {
        caveats.push(format!(
            "**Measured with a {} build, which is not how nodes are built.**",
            soak.file.tool.profile
        ));
    }
    caveats.push(
        "One launch: another may drift otherwise. Other work on the machine that comes or goes meanwhile is a drift, \
         too. Resident memory includes what measures, and memory that was freed may stay resident."
            .to_owned(),
    );
    caveats.push(
        "A trend is what goes up or down all in all: what grows and is freed again, or grows in the last minutes \
         only, is in the pictures and need not be in the test."
            .to_owned(),
    );
    caveats
}

fn missing(soak: &Soak) -> usize {
    let peers = f64::from(soak.file.config.cell.peers);
    let connected = soak.rows.column("peers_connected").iter().flatten();
    connected.filter(|connected| **connected < peers).count()
}

fn ended(caveats: &mut Vec<String>, soak: &Soak) {
    let Some(end) = &soak.file.end else {
        caveats.push("The soak goes on, or was killed: the rows so far.".to_owned());
        return;
    };
    let said = |text: &Option<String>| text.clone().unwrap_or_default().replace('`', " ");
    match (end.status.as_str(), end.stop.as_deref()) {
        ("ok", Some("interrupted")) => {
            caveats.push("It was interrupted before its time was up.".to_owned());
        }
        ("ok", _) => {}
        _ => caveats.push(format!(
            "**It ended before its time was up**, while {}: `{}`.",
            said(&end.stage),
            said(&end.reason)
        )),
    }
}

fn too_short(caveats: &mut Vec<String>, drifts: &Drifts) {
    const SHORT_S: f64 = 3600.0;
    if drifts.last_s < SHORT_S {
        let least = drifts
            .all
            .iter()
            .filter(|it| ["resident_mib", "tasks"].contains(&it.series.name))
            .filter_map(|it| Some(format!("{} of {}", it.least()?, it.series.words)));
        let least: Vec<String> = least.collect();
        let least = if least.is_empty() {
            String::new()
        } else {
            format!(": less than {} may be missed", least.join(" or "))
        };
        caveats.push(format!(
            "Only {} long, which is {} h; slopes per hour are extrapolated, and what needs hours is not seen{least}.",
            lasting(drifts.last_s),
            number(drifts.last_s / SHORT_S)
        ));
    }
}
