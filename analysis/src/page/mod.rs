//! `index.html`: the report to explore. One file that asks no network for anything. A reader without JavaScript sees
//! the verdict, the main picture and a table.

pub(crate) mod data;

use serde_json::{Value, json};

use crate::report;
use crate::report::markdown::{MOST_SENTENCES, more_sentences};
use crate::text::escaped;
use crate::verdict::Verdict;
use crate::views::Entry;

pub(crate) const FILE: &str = "index.html";

const PAGE: &str = include_str!("../../page/page.html");
const STYLE: &str = include_str!("../../page/page.css");
/// One after the other they are one script.
const SCRIPTS: [&str; 8] = [
    include_str!("../../page/data.js"),
    include_str!("../../page/draw.js"),
    include_str!("../../page/grid.js"),
    include_str!("../../page/cell.js"),
    include_str!("../../page/comparisons.js"),
    include_str!("../../page/trade_off.js"),
    include_str!("../../page/soak.js"),
    include_str!("../../page/main.js"),
];

#[derive(Default)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) in_short: Vec<String>,
    /// The pictures below the first sentence, as HTML.
    pub(crate) opening: String,
    /// What a reader without JavaScript sees, as HTML.
    pub(crate) still: String,
    pub(crate) caveats: Vec<String>,
    pub(crate) terms: Vec<String>,
    pub(crate) runs: Vec<Value>,
    pub(crate) soak: Vec<Value>,
}

impl Page {
    /// Several pages as one, in which readers choose a run. It lies elsewhere, so files beside the reports are not linked.
    pub(crate) fn of_several(pages: Vec<Page>) -> Page {
        let names: Vec<String> = pages.iter().map(|page| page.title.clone()).collect();
        let mut all = Page {
            title: names.join("; "),
            ..Page::default()
        };
        for (page, name) in pages.into_iter().zip(names) {
            all.still += &format!("<h3>{}</h3>\n{}", escaped(&name), page.opening);
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

    pub(crate) fn is_one(html: &str) -> bool {
        html.contains("<meta name=\"generator\" content=\"analysis\">")
    }

    pub(crate) fn html(&self) -> String {
        let list = |items: &[String]| {
            let items = items.iter().map(|it| format!("<li>{}</li>\n", marked(it)));
            format!("<ul>\n{}</ul>\n", items.collect::<String>())
        };
        let details = |id: &str, summary: &str, items: &[String]| match items {
            [] => String::new(),
            some => {
                let list = list(some);
                format!("<details id=\"{id}\"><summary>{summary}</summary>\n{list}</details>\n")
            }
        };
        let shown = self.in_short.len().min(MOST_SENTENCES);
        let (first, more) = self.in_short.split_at(shown);
        let (decision, first) = first.split_at(first.len().min(1));
        let verdict = match first {
            [] => String::new(),
            some => list(some) + &details("more", &more_sentences(more), more),
        };
        let caveats = details("caveats", "Caveats, and what is missing", &self.caveats);
        // `<` could end the element that the data are in.
        let data = data::of_page(&self.runs, &self.soak).to_string();
        let parts = [
            ("title", escaped(&self.title)),
            ("style", STYLE.to_owned()),
            ("decision", list(decision)),
            ("opening", self.opening.clone()),
            ("verdict", verdict),
            ("still", self.still.clone()),
            ("caveats", caveats),
            ("terms", details("terms", "Terms", &self.terms)),
            ("data", data.replace('<', "\\u003c")),
            ("script", SCRIPTS.concat()),
        ];
        filled(PAGE, &parts)
    }
}

/// Puts each part in its place, without looking for places in what was put there.
fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let mut pieces = template.split("{{");
    let mut html = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        let part = parts.iter().find(|(it, _)| *it == name);
        html += part.map_or("", |(_, text)| text);
        html += rest;
    }
    html
}

pub(crate) fn opening(pictures: &[Entry]) -> String {
    let first = pictures.iter().filter(|it| it.is_first);
    match first.clone().count() {
        0 => String::new(),
        _ => format!("<div class=\"opening\">\n{}</div>\n", figures(first)),
    }
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

/// The verdict's changes, each with a link to the grid of its cells.
fn over_all_cells(verdict: &Verdict) -> String {
    const MOST_ROWS: usize = 40;
    if verdict.candidates.iter().all(|it| it.judged.is_empty()) {
        return String::new();
    }
    let candidates = verdict.candidates.iter().take(MOST_ROWS);
    let rows = report::changes("variant", verdict, candidates.clone());
    let head = rows.first().into_iter().flat_map(|row| &row.0);
    let head: Vec<String> = head.map(|(title, _)| marked(title)).collect();
    let variants = candidates.chain(&verdict.control);
    let rows = rows.iter().zip(variants).map(|(row, candidate)| {
        let field = |(at, (_, field)): (usize, &(String, String))| {
            let (field, column) = (marked(field), at.checked_sub(2));
            let quantity = column.and_then(|column| verdict.quantities.get(column));
            quantity.map_or(field.clone(), |(quantity, _)| {
                let (site, metric) = (verdict.site.name(), quantity.metric.info().name);
                let link = format!(
                    "#s={site}&amp;m={metric}&amp;v={}&amp;w=difference",
                    candidate.variant
                );
                format!("<a href=\"{link}\">{field}</a>")
            })
        };
        row.0.iter().enumerate().map(field).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    html_table("Changes over all cells", &head, &rows)
}

fn html_table(caption: &str, head: &[String], rows: &[Vec<String>]) -> String {
    let row = |tag: &str, row: &[String]| {
        let fields = row.iter().map(|field| format!("<{tag}>{field}</{tag}>"));
        format!("<tr>{}</tr>\n", fields.collect::<String>())
    };
    let body: String = rows.iter().map(|it| row("td", it)).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table><caption>{caption}</caption>\n\
         <thead>{}</thead>\n<tbody>{body}</tbody></table></div>\n",
        row("th", head)
    )
}

/// Markdown's bold and code, and all else as it is.
fn marked(text: &str) -> String {
    let (mut html, mut is_bold) = (String::new(), false);
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            html += &format!("<code>{}</code>", escaped(part));
            continue;
        }
        for (at, part) in part.split("**").enumerate() {
            if at > 0 {
                html += if is_bold { "</b>" } else { "<b>" };
                is_bold = !is_bold;
            }
            html += &escaped(part);
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_text() {
        assert_eq!(
            marked("**`<script>` helps** & `a**b`"),
            "<b><code>&lt;script&gt;</code> helps</b> &amp; <code>a**b</code>"
        );
    }

    #[test]
    fn no_name_ends_the_data_or_begins_a_script() {
        const NAME: &str = "</script><script>alert(1)</script>";
        let page = Page {
            title: NAME.to_owned(),
            in_short: vec![NAME.to_owned()],
            still: html_table("", &[], &[vec![marked(NAME)]]),
            caveats: vec![NAME.to_owned()],
            runs: vec![json!({ "name": NAME })],
            ..Page::default()
        };
        let html = page.html();
        assert_eq!(html.matches("<script").count(), 2, "the data and our own");
        assert_eq!(html.matches("</script").count(), 2);
    }

    #[test]
    fn what_is_put_in_a_place_is_no_place() {
        let parts = [("a", "{{b}}".to_owned()), ("b", "B".to_owned())];
        assert_eq!(filled("x{{a}}y{{b}}", &parts), "x{{b}}yB");
    }
}
