//! The report of a soak: what drifts, how it was measured, and what can have been missed.

use run_format::{run_row::End, soak::SoakEnd};

use super::{
    caveats,
    disturbed::in_words,
    markdown::{Document, joined, or_dash},
    method,
    terms::{self, Term},
};
use crate::{
    drift::{Drift, Drifts},
    load::{name_in_files, soak::Soak},
    options::Options,
    site::SiteNames,
    summary::{
        identity::{of_tool, of_upstream},
        real_network,
    },
    text::{self, count, date, lasting, number},
    views::Entry,
};

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
            name_in_files(node.workload),
            name_in_files(node.transport),
            name_in_files(node.security)
        ),
        text::machine(&file.machine),
        delay(soak),
        of_tool(&file.tool),
    ]
    .join(" · ")
}

fn cell(soak: &Soak) -> String {
    let cell = &soak.file.config.cell;
    let payload = cell.payload_bytes.in_words();
    format!("N={} RTT={} ms {payload}", cell.peers, cell.rtt_ms)
}

fn delay(soak: &Soak) -> String {
    let end = soak.file.end.as_ref();
    let lab = end.and_then(|end| end.network.lab.as_ref());
    match lab.and_then(|lab| lab.backend) {
        _ if soak.file.config.lab.peer_hosts.is_some() => "a real network".to_owned(),
        Some(backend) => format!("delay by {backend}"),
        None if soak.file.config.cell.rtt_ms.is_zero() => "no delay".to_owned(),
        None => "delay by an unknown means".to_owned(),
    }
}

const TERMS: [Term; 7] = [
    terms::SOAK,
    terms::SITE,
    terms::SLOW_POLL,
    terms::BUDGET,
    terms::CENTRAL,
    terms::CO_TENANT,
    terms::INTERVAL,
];

pub(crate) fn text(
    title: &str,
    soak: &Soak,
    drifts: &Drifts,
    pictures: &[Entry],
    options: &Options,
) -> String {
    let sites = SiteNames::of(Some((&soak.file.tool, &soak.file.config.node)));
    let in_short = drifts.sentences();
    let mut document = Document::new(title, &in_short, pictures, &TERMS, &sites, options);
    table(&mut document, drifts);
    method(&mut document, soak, drifts);
    document.details("Caveats of this soak", |document| {
        document.list(caveats(soak, drifts));
    });
    document.finish(pictures)
}

fn table(document: &mut Document, drifts: &Drifts) {
    let row = |drift: &Drift| {
        let drifting = match (drift.trend.is_some(), drift.is_drifting()) {
            (false, _) => "unknown",
            (true, false) => "no",
            (true, true) if drift.has_settled() => "**yes**, then settled",
            (true, true) => "**yes**",
        };
        vec![
            drift.series.words.to_owned(),
            drift.median(),
            or_dash(drift.slope()),
            or_dash(drift.late_slope()),
            or_dash(drift.detectable_slope()),
            drifting.to_owned(),
        ]
    };
    document.table(
        "series | median | slope | slope of the second half | smallest detectable slope | drifts",
        drifts.all.iter().map(row),
    );
    document.paragraph(
        "A series drifts if the interval of its slope excludes zero. These intervals hold together with 95 % for all \
         series; that of a second half holds with 95 % by itself. Four of five soaks of this length and noise would show \
         the smallest detectable slope. It is absent if the value never changed or if the interval has no end.",
    );
}

fn method(document: &mut Document, soak: &Soak, drifts: &Drifts) {
    let config = &soak.file.config;
    let restarts = soak.rows.column("restarts").last().copied().flatten();
    document.heading("How it was measured");
    document.list([
        format!(
            "{} for {} of the requested {}, with a row every {} s. Of {}, {} are judged: those after a warm-up of {}, \
             which is a tenth of the soak and at most half an hour.",
            cell(soak),
            lasting(drifts.last_s),
            lasting(config.duration_ms as f64 / 1e3),
            config.interval_ms as f64 / 1e3,
            count(drifts.rows, "row"),
            drifts.judged_rows,
            lasting(drifts.warm_up_s)
        ),
        format!(
            "Budget {}; churn {}. Number of peer restarts: {}. Seed {}.",
            config.budgets,
            config.churn,
            restarts.map_or_else(|| "unknown".to_owned(), |restarts| restarts.to_string()),
            config.seed
        ),
        "A slope is the median of the slopes between all pairs of rows (Sen's slope). Its interval is the wider, the more \
         neighbouring rows resemble each other. Slow and late mean over 50 µs."
            .to_owned(),
        identity(soak),
    ]);
    let networks = soak.file.end.iter().map(|end| &end.network);
    document.list(real_network::sentence(&config.lab, networks));
    let (command, tool) = (&soak.file.command, &soak.file.tool);
    let program = format!("{}soak", method::BENCHMARK);
    document.command(&method::typed(command, tool, config.seed, &program));
}

pub(crate) fn caveats(soak: &Soak, drifts: &Drifts) -> Vec<String> {
    let mut caveats = Vec::new();
    caveats.extend(ended(soak.file.end.as_ref()));
    caveats.extend(too_short(drifts));
    let disturbed = (&soak.set_aside, &soak.kept);
    let disturbed = in_words(disturbed, (drifts.rows, "row"), |_| true);
    caveats.extend((!disturbed.is_empty()).then(|| disturbed.trim().to_owned()));
    let lost: f64 = soak.rows.column("lost_records").iter().flatten().sum();
    if lost > 0.0 {
        caveats.push(format!(
            "{lost} polls, requests or wake-ups are not counted, because a buffer was full."
        ));
    }
    let config = &soak.file.config;
    let connected = soak.rows.column("peers_connected").iter().flatten();
    let peers = config.cell.peers as f64;
    let incomplete = connected.filter(|connected| **connected < peers).count();
    if incomplete > 0 {
        caveats.push(format!(
            "At the end of {}, not all of {peers} peers were connected. Values that depend on the number of peers are \
             lower there.",
            count(incomplete, "row")
        ));
    }
    caveats::machine(&mut caveats, &config.lab, &soak.file.machine);
    caveats::build(&mut caveats, &soak.file.tool);
    caveats.extend(
        [
            "This is one launch; another may drift differently. Other load on the machine that starts or stops during \
             the soak appears as drift, too. Resident memory includes the measuring code, and freed memory may stay \
             resident.",
            "Slopes are those of the whole soak. A value that grows and is released again, or that grows in the last minutes \
             only, may show in the page's pictures and not in its slope.",
        ]
        .map(str::to_owned),
    );
    caveats
}

fn ended(end: Option<&SoakEnd>) -> Option<String> {
    let Some(end) = end else {
        let open =
            "The soak is still running, or it was killed. The report covers the rows so far.";
        return Some(open.to_owned());
    };
    let failed = |during: String, reason: &str| {
        let reason = reason.replace('`', " ");
        Some(format!(
            "**The soak failed before its end**{during}: `{reason}`."
        ))
    };
    match &end.end {
        &End::INTERRUPTED => Some("The soak was interrupted before its end.".to_owned()),
        End::Ok { .. } => None,
        End::Invalid { reason } => failed(String::new(), reason),
        End::Failed { stage, reason } => failed(format!(", in the stage {stage}"), reason),
    }
}

fn too_short(drifts: &Drifts) -> Option<String> {
    const SHORT_S: f64 = 3600.0;
    let important = |it: &&Drift| ["resident_mib", "tasks"].contains(&it.series.name);
    let detectable =
        |it: &Drift| Some(format!("{} of {}", it.detectable_slope()?, it.series.words));
    let smallest = drifts.all.iter().filter(important).filter_map(detectable);
    let mut smallest = joined(smallest, " or ");
    if !smallest.is_empty() {
        smallest = format!(" Drifts below {smallest} can be missed.");
    }
    (drifts.last_s < SHORT_S).then(|| {
        format!(
            "The soak is only {} ({} h) long. Slopes per hour are extrapolated, and changes that take hours do not \
             show.{smallest}",
            lasting(drifts.last_s),
            number(drifts.last_s / SHORT_S)
        )
    })
}
