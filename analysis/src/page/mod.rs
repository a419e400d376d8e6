//! `index.html`, in which a reader explores the report. It is one file, which asks no network for anything. A reader without
//! JavaScript sees the verdict, its tables and the main pictures.

pub(crate) mod data;

use serde_json::{Value, json};

use crate::metrics::Metric;
use crate::prose::{prose, rendered};
use crate::report::effects::{EffectRow, Effects, legend};
use crate::text::{escaped, marked, quoted};
use crate::views::{ReportInput, ReportPicture};

pub(crate) const FILE: &str = "index.html";

const STYLE: &str = include_str!("../../page/page.css");
/// The files of the page's script, which are put together in this order.
const SCRIPTS: [&str; 8] = [
    include_str!("../../page/data.js"),
    include_str!("../../page/draw.js"),
    include_str!("../../page/grid.js"),
    include_str!("../../page/cell.js"),
    include_str!("../../page/curve.js"),
    include_str!("../../page/comparisons.js"),
    include_str!("../../page/soak.js"),
    include_str!("../../page/main.js"),
];

#[derive(Default)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) in_short: Vec<String>,
    /// The tables of what the best candidates do, as HTML.
    pub(crate) effects: String,
    /// The first pictures as HTML, for a reader without JavaScript.
    pub(crate) opening: String,
    pub(crate) caveats: Vec<String>,
    pub(crate) terms: Vec<String>,
    pub(crate) runs: Vec<Value>,
    pub(crate) soak: Vec<Value>,
}

impl Page {
    /// Makes one page of several, in which readers choose a run. The page lies in another folder, so it links no files beside
    /// the reports.
    pub(crate) fn join(pages: Vec<Page>) -> Page {
        let names: Vec<String> = pages.iter().map(|page| page.title.clone()).collect();
        let mut all = Page {
            title: names.join("; "),
            ..Page::default()
        };
        for (page, name) in pages.into_iter().zip(names) {
            all.opening += &format!(
                "<h3>{}</h3>\n{}{}",
                escaped(&name),
                page.effects,
                page.opening
            );
            all.terms = page.terms;
            let named = |line: String| format!("**{name}**: {line}");
            all.in_short.extend(page.in_short.into_iter().map(named));
            all.caveats.extend(page.caveats.into_iter().map(named));
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

/// The pictures that the report opens with, as HTML.
pub(crate) fn opening(pictures: &[ReportPicture]) -> String {
    let first = pictures.iter().filter(|picture| picture.is_opening);
    let figure = |drawn: &ReportPicture| {
        let (title, svg) = (escaped(&drawn.picture.title), drawn.picture.svg());
        format!("<figure role=\"img\" aria-label=\"{title}\">{svg}</figure>\n")
    };
    let figures: String = first.map(figure).collect();
    match figures.is_empty() {
        true => figures,
        false => format!("<div class=\"opening\">\n{figures}</div>\n"),
    }
}

/// A table for each candidate and group. The first one is open, the others unfold. The row of the time beyond the threshold
/// is there at each of the slider's thresholds, and the page shows one of them.
pub(crate) fn effects(effects: &[Effects], input: &ReportInput) -> String {
    let thresholds_ns = data::thresholds_ns(input.verdict, input.options);
    let report_threshold_ns = input.options.figures.threshold_ns;
    let tables: Vec<Vec<Effects>> = effects
        .iter()
        .map(|group| group.by_candidate().collect())
        .collect();
    let candidates = tables.first().map_or(0, Vec::len);
    let mut html = String::new();
    for candidate in 0..candidates {
        for (group, by_candidate) in tables.iter().enumerate() {
            let is_open = candidate + group == 0;
            html += &table(
                &by_candidate[candidate],
                &thresholds_ns,
                report_threshold_ns,
                is_open,
            );
        }
    }
    let paragraph = legend(effects, input.summary)
        .map(|legend| format!("<p class=\"faint\">{}</p>\n", marked(&legend)));
    html + &paragraph.unwrap_or_default()
}

/// A row with what the page needs to show or hide it.
struct PageRow {
    row: EffectRow,
    /// The threshold, if the row is about the time beyond it. None for any other quantity.
    threshold_ns: Option<u64>,
    is_hidden: bool,
}

fn table(
    effects: &Effects,
    thresholds_ns: &[u64],
    report_threshold_ns: u64,
    is_open: bool,
) -> String {
    let mut rows = Vec::new();
    for (quantity, row) in effects.quantities().zip(effects.rows()) {
        let is_beyond = quantity.metric == Metric::BeyondMsPerS;
        rows.push(PageRow {
            row,
            threshold_ns: is_beyond.then_some(report_threshold_ns),
            is_hidden: false,
        });
        let is_other = |threshold_ns: &&u64| is_beyond && **threshold_ns != report_threshold_ns;
        let others = thresholds_ns.iter().filter(is_other);
        rows.extend(others.filter_map(|&threshold_ns| {
            Some(PageRow {
                row: effects.row_beyond(threshold_ns)?,
                threshold_ns: Some(threshold_ns),
                is_hidden: true,
            })
        }));
    }
    let labels = effects.labels().map(quoted);
    rendered(&prose!("effects.html" {
        is_open: bool = is_open,
        title: String = effects.title(),
        labels: Vec<String> = labels.collect(),
        rows: Vec<PageRow> = rows,
    }))
}

/// A level, of which "149 ms per s" stays on one line, or a dash.
fn unbroken(level: Option<&String>) -> String {
    let level = level.map_or("–", String::as_str);
    level.replace(" ms per s", "\u{a0}ms\u{a0}per\u{a0}s")
}

/// The label of a variant may be wider than its column, and should break where its parts end.
fn breakable(label: &str) -> String {
    const SPACE_WITHOUT_WIDTH: char = '\u{200b}';
    label
        .replace(',', &format!(",{SPACE_WITHOUT_WIDTH}"))
        .replace('/', &format!("/{SPACE_WITHOUT_WIDTH}"))
        .replace('@', &format!("{SPACE_WITHOUT_WIDTH}@"))
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
            opening: marked(NAME),
            caveats: vec![NAME.to_owned()],
            runs: vec![json!({ "name": NAME })],
            ..Page::default()
        };
        let html = page.html();
        assert_eq!(html.matches("<script").count(), 2, "the data and our own");
        assert_eq!(html.matches("</script").count(), 2);
    }
}
