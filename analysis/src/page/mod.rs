//! `index.html`, in which a reader explores the report. It is one file, which asks no network for anything. A reader without
//! JavaScript sees the verdict, the main picture and the tables.

pub(crate) mod data;

use serde_json::{Value, json};

use crate::measure::Metric;
use crate::prose::{prose, rendered};
use crate::report;
use crate::report::effects::{Effects, is_open as is_change_open, legend};
use crate::report::markdown::Row;
use crate::text::{escaped, marked};
use crate::verdict::Verdict;
use crate::views::{Entry, Scene};

pub(crate) const FILE: &str = "index.html";

const STYLE: &str = include_str!("../../page/page.css");
/// The files of the page's script, which are put together in this order.
const SCRIPTS: [&str; 9] = [
    include_str!("../../page/data.js"),
    include_str!("../../page/draw.js"),
    include_str!("../../page/grid.js"),
    include_str!("../../page/cell.js"),
    include_str!("../../page/curve.js"),
    include_str!("../../page/comparisons.js"),
    include_str!("../../page/trade_off.js"),
    include_str!("../../page/soak.js"),
    include_str!("../../page/main.js"),
];

#[derive(Default)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) in_short: Vec<String>,
    /// The tables of what the best candidates do, as HTML.
    pub(crate) effects: String,
    /// The first pictures, as HTML.
    pub(crate) opening: String,
    /// The part that only a reader without JavaScript sees, as HTML.
    pub(crate) still: String,
    pub(crate) caveats: Vec<String>,
    pub(crate) terms: Vec<String>,
    pub(crate) runs: Vec<Value>,
    pub(crate) soak: Vec<Value>,
}

impl Page {
    /// One page of several, in which readers choose a run. The page lies elsewhere, so it links no files beside the reports.
    pub(crate) fn of_several(pages: Vec<Page>) -> Page {
        let names: Vec<String> = pages.iter().map(|page| page.title.clone()).collect();
        let mut all = Page {
            title: names.join("; "),
            ..Page::default()
        };
        for (page, name) in pages.into_iter().zip(names) {
            all.still += &format!(
                "<h3>{}</h3>\n{}{}",
                escaped(&name),
                page.effects,
                page.opening
            );
            all.terms = page.terms;
            let named = |line: String| format!("**{name}**: {line}");
            all.in_short.extend(page.in_short.into_iter().map(named));
            all.caveats.extend(page.caveats.into_iter().map(named));
            let link = format!("href=\"#r={}&amp;", all.runs.len());
            all.still += &page.still.replace("href=\"#", &link);
            all.runs.extend(page.runs);
        }
        let runs = all.runs.iter_mut();
        let cells = runs.filter_map(|run| run["cells"].as_array_mut());
        cells.flatten().for_each(|cell| cell["files"] = json!([]));
        all
    }

    /// Whether this program made the HTML.
    pub(crate) fn is_ours(html: &str) -> bool {
        html.contains("<meta name=\"generator\" content=\"analysis\">")
    }

    pub(crate) fn html(&self) -> String {
        let answers = if self.effects.is_empty() { 1 } else { 2 };
        let (decision, others) = self.in_short.split_at(answers.min(self.in_short.len()));
        let data = data::page(&self.runs, &self.soak).to_string();
        rendered(&prose!('a "page.html" {
            page: &'a Page = self,
            style: &'static str = STYLE,
            decision: &'a [String] = decision,
            others: &'a [String] = others,
            // `<` could end the element that the data are in.
            data: String = data.replace('<', "\\u003c"),
            script: String = SCRIPTS.concat(),
        }))
    }
}

pub(crate) fn opening(pictures: &[Entry]) -> String {
    let first = pictures.iter().filter(|entry| entry.is_first);
    match first.clone().count() {
        0 => String::new(),
        _ => format!("<div class=\"opening still\">\n{}</div>\n", figures(first)),
    }
}

/// A table for each candidate and group. The first one is open, the others unfold. The row of the time beyond the threshold
/// is there at each of the slider's thresholds, and the page shows one of them.
pub(crate) fn effects(effects: &[Effects], scene: &Scene) -> String {
    let thresholds_ns = data::thresholds_ns(scene.verdict, scene.options);
    let own_ns = scene.options.figures.threshold;
    let tables: Vec<Vec<Effects>> = effects
        .iter()
        .map(|group| group.of_each_candidate().collect())
        .collect();
    let candidates = tables.first().map_or(0, Vec::len);
    let mut html = String::new();
    for candidate in 0..candidates {
        for (group, of_group) in tables.iter().enumerate() {
            let is_open = candidate + group == 0;
            html += &table(&of_group[candidate], &thresholds_ns, own_ns, is_open);
        }
    }
    let legend = legend(effects, scene.summary);
    let paragraph = legend.map(|legend| format!("<p class=\"faint\">{}</p>\n", marked(&legend)));
    html + &paragraph.unwrap_or_default()
}

struct EffectsRow {
    fields: Vec<String>,
    /// The threshold, if the row is about the time beyond it. None for any other quantity.
    threshold_ns: Option<u64>,
    is_hidden: bool,
}

fn table(effects: &Effects, thresholds_ns: &[u64], own_ns: u64, is_open: bool) -> String {
    let fields = |Row(fields): Row| -> Vec<String> {
        // "149 ms per s" stays on one line.
        let unit = "\u{a0}ms\u{a0}per\u{a0}s";
        let unbroken = |(_, field): (_, String)| field.replace(" ms per s", unit);
        fields.into_iter().map(unbroken).collect()
    };
    let rows = effects.rows();
    let titles = rows.first().into_iter().flat_map(|Row(fields)| fields);
    let head: Vec<String> = titles.map(|(title, _)| title.clone()).collect();
    let mut shown = Vec::new();
    for (quantity, row) in effects.quantities().zip(rows) {
        let is_beyond = quantity.metric == Metric::BeyondMsPerS;
        shown.push(EffectsRow {
            fields: fields(row),
            threshold_ns: is_beyond.then_some(own_ns),
            is_hidden: false,
        });
        let is_other = |threshold_ns: &&u64| is_beyond && **threshold_ns != own_ns;
        let others = thresholds_ns.iter().filter(is_other);
        shown.extend(others.filter_map(|&threshold_ns| {
            Some(EffectsRow {
                fields: fields(effects.row_beyond(threshold_ns)?),
                threshold_ns: Some(threshold_ns),
                is_hidden: true,
            })
        }));
    }
    rendered(&prose!("effects.html" {
        is_open: bool = is_open,
        title: String = match &head[..] {
            [place, _, label, ..] => format!("{place}: {label}"),
            _ => String::new(),
        },
        head: Vec<String> = head.into_iter().map(breakable).collect(),
        rows: Vec<EffectsRow> = shown,
    }))
}

/// The label of a variant may be wider than its column, and should break where its parts end.
fn breakable(label: String) -> String {
    const SPACE_WITHOUT_WIDTH: char = '\u{200b}';
    label
        .replace(',', &format!(",{SPACE_WITHOUT_WIDTH}"))
        .replace('/', &format!("/{SPACE_WITHOUT_WIDTH}"))
        .replace('@', &format!("{SPACE_WITHOUT_WIDTH}@"))
}

fn figures<'a>(pictures: impl IntoIterator<Item = &'a Entry>) -> String {
    let figure = |entry: &Entry| {
        let (title, svg) = (escaped(&entry.picture.title), entry.picture.svg());
        format!("<figure role=\"img\" aria-label=\"{title}\">{svg}</figure>\n")
    };
    pictures.into_iter().map(figure).collect()
}

pub(crate) fn still(verdict: &Verdict) -> String {
    over_all_cells(verdict) + &still_pictures([])
}

pub(crate) fn still_pictures<'a>(pictures: impl IntoIterator<Item = &'a Entry>) -> String {
    format!(
        "<div class=\"still\">\n{}<p>With JavaScript this page shows every figure.</p>\n</div>\n",
        figures(pictures)
    )
}

/// A table of the verdict's changes over all cells. Each change links to the map of its cells.
fn over_all_cells(verdict: &Verdict) -> String {
    const MOST_ROWS: usize = 40;
    let mut all = verdict.candidates.iter();
    if all.all(|candidate| candidate.judged.is_empty()) {
        return String::new();
    }
    let candidates = verdict.candidates.iter().take(MOST_ROWS);
    let rows = report::changes("variant", verdict, candidates.clone());
    let head = rows.first().into_iter().flat_map(|row| &row.0);
    let variants = candidates.chain(&verdict.control);
    let fields = rows.iter().zip(variants).map(|(row, candidate)| {
        let link = |column: usize| {
            // The first two columns are the variant and its yields.
            let (quantity, _) = verdict.quantities.get(column.checked_sub(2)?)?;
            let (site, metric) = (verdict.site.name(), quantity.metric.info().name);
            let variant = candidate.variant;
            Some(format!(
                "#s={site}&amp;m={metric}&amp;v={variant}&amp;w=difference"
            ))
        };
        let fields = row.0.iter().enumerate();
        fields
            .map(|(column, (_, field))| (&**field, link(column)))
            .collect()
    });
    rendered(&prose!('a "still.html" {
        head: Vec<&'a str> = head.map(|(title, _)| &**title).collect(),
        rows: Vec<Vec<(&'a str, Option<String>)>> = fields.collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::marked;

    #[test]
    fn no_name_ends_the_data_or_begins_a_script() {
        const NAME: &str = "</script><script>alert(1)</script>";
        let page = Page {
            title: NAME.to_owned(),
            in_short: vec![NAME.to_owned()],
            still: marked(NAME),
            caveats: vec![NAME.to_owned()],
            runs: vec![json!({ "name": NAME })],
            ..Page::default()
        };
        let html = page.html();
        assert_eq!(html.matches("<script").count(), 2, "the data and our own");
        assert_eq!(html.matches("</script").count(), 2);
    }
}
