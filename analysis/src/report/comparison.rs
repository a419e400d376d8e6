//! The report of two sweeps.

use super::{
    markdown::{Document, Links},
    method,
};
use crate::{
    measure::metric::{Metric, What},
    options::Options,
    summary::{
        Resolved, Summary,
        identity::{Identity, machine, tool, upstream},
        sweeps::Side,
    },
    text::number,
    verdict::Verdict,
    views::Entry,
};

/// One budget in two sweeps.
pub(crate) struct Compared {
    pub(crate) budget: String,
    pub(crate) verdict: Verdict,
    pub(crate) summary: Summary,
}

/// Pictures of one budget among those of others.
pub(crate) fn of_budget(entries: Vec<Entry>, budget: &str) -> Vec<Entry> {
    let name = crate::views::slug(budget);
    let named = entries.into_iter().map(|entry| Entry {
        stem: format!("{name}.{}", entry.stem),
        label: format!("budget {budget}: {}", entry.label),
        ..entry
    });
    named.collect()
}

pub(crate) fn sentence(compared: &[Compared]) -> String {
    let parts = compared.iter().filter_map(|it| {
        let judged = it.verdict.candidates.first()?;
        let effect = judged.effect(Metric::SlowPercent)?;
        Some(format!(
            "with budget `{}`, slow polls of `{}` are {} in {} cells",
            it.budget,
            it.verdict.site.function(),
            effect.tally(),
            it.summary.measured().count(),
        ))
    });
    let parts: Vec<String> = parts.collect();
    format!("After against before: {}.", parts.join("; "))
}

pub(crate) fn text(
    before: &Side,
    after: &Side,
    compared: &[Compared],
    entries: &[Entry],
    warnings: &[String],
    options: &Options,
) -> String {
    let links = Links::new(options.link_base.as_deref());
    let mut document = Document::new(&format!(
        "Poll latency, {} against {}",
        after.identity.name, before.identity.name
    ));
    document.paragraph(&format!("**Verdict.** {}", sentence(compared)));
    if let Some(picture) = entries.iter().find(|it| it.is_first) {
        document.picture(&links, picture);
    }
    table(&mut document, compared);
    document.list([
        format!("Before: {}", before.identity.line()),
        format!("After: {}", after.identity.line()),
        format!("Cells in both: {}", before.shared_cells(after)),
    ]);
    if launches_unknown(compared) {
        document.paragraph(
            "**Nothing can be resolved in cells that were launched once on either side**: launches of one \
             configuration differ by up to ±30 %, and one launch does not show by how much. Differences there are \
             grey, however large. `./sweep.sh --repeat 3` on both sides resolves them.",
        );
    }
    if !warnings.is_empty() {
        document.paragraph("The two differ in more than what is compared, perhaps:");
        document.list(warnings.iter().cloned());
    }
    let commands = [before, after].map(|side| {
        let manifest = side.identity.manifest.as_ref();
        manifest.map_or_else(
            || format!("# {}: published", side.identity.name),
            method::command,
        )
    });
    document.paragraph("To do it again:");
    document.code(&commands.join("\n"));
    document.details("All pictures", |document| {
        document.pictures(&links, entries)
    });
    document.finish()
}

fn launches_unknown(compared: &[Compared]) -> bool {
    compared
        .iter()
        .flat_map(|it| it.summary.measured())
        .any(|cell| cell.runs < 2)
}

/// Means over the cells that both have, before and after; how many cells are resolved to differ.
fn table(document: &mut Document, compared: &[Compared]) {
    const MOST_ROWS: usize = 8;
    const METRICS: [Metric; 5] = [
        Metric::SlowPercent,
        Metric::SlowMsPerS,
        Metric::CotenantLatePercent,
        Metric::RequestsPerS,
        Metric::LatencyP50Ms,
    ];
    let rows = compared.iter().take(MOST_ROWS).map(|it| {
        let fields = METRICS.iter().map(|metric| field(it, *metric));
        std::iter::once(format!("`{}`", it.budget))
            .chain(fields)
            .collect()
    });
    let heads = METRICS.map(|metric| format!("{}, {}", metric.words(), metric.unit()));
    let mut head = vec!["budget"];
    head.extend(heads.iter().map(String::as_str));
    document.table(&head, &rows.collect::<Vec<Vec<String>>>());
    document.paragraph(
        "Means over the shared cells, before → after; then cells resolved to be lower and higher.",
    );
}

fn field(compared: &Compared, metric: Metric) -> String {
    let what = What::of(compared.verdict.site, metric);
    let pairs: Vec<(f64, f64)> = compared
        .summary
        .measured()
        .filter_map(|cell| Some((cell.value(what, 0)?, cell.value(what, 1)?)))
        .collect();
    if pairs.is_empty() {
        return "not measured".to_owned();
    }
    let mean = |side: fn(&(f64, f64)) -> f64| {
        number(pairs.iter().map(side).sum::<f64>() / pairs.len() as f64)
    };
    let changes = compared
        .summary
        .measured()
        .filter_map(|cell| cell.change(what, 1));
    let (mut lower, mut higher) = (0, 0);
    for change in changes {
        lower += usize::from(change.resolved == Resolved::Lower);
        higher += usize::from(change.resolved == Resolved::Higher);
    }
    format!(
        "{} → {}; {lower} lower, {higher} higher",
        mean(|it| it.0),
        mean(|it| it.1)
    )
}

/// What the manifests have different that may be the reason of what is found.
pub(crate) fn warnings(before: &Identity, after: &Identity) -> Vec<String> {
    let (Some(was), Some(is)) = (&before.manifest, &after.manifest) else {
        return vec![
            "one side is a published table: another machine, tool and time, and one run per cell"
                .to_owned(),
        ];
    };
    let text = |value: &dyn std::fmt::Debug| format!("{value:?}").replace('"', "");
    let pairs = [
        ("machine", machine(was), machine(is)),
        ("upstream", upstream(was), upstream(is)),
        ("tool", tool(was), tool(is)),
        ("compiler", was.tool.rustc.clone(), is.tool.rustc.clone()),
        ("profile", was.tool.profile.clone(), is.tool.profile.clone()),
        ("nodes", text(&was.config.node), text(&is.config.node)),
        (
            "load",
            was.config.pace.to_string(),
            is.config.pace.to_string(),
        ),
        (
            "runtime",
            text(&was.config.runtime),
            text(&is.config.runtime),
        ),
        ("lab", text(&was.config.lab), text(&is.config.lab)),
        ("delay", before.delay(), after.delay()),
    ];
    let differing = pairs.into_iter().filter(|(_, was, is)| was != is);
    differing
        .map(|(what, was, is)| format!("{what}: {was} before, {is} after"))
        .collect()
}
