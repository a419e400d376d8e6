//! Markdown as GitHub renders it.

use std::fmt::Display;

use crate::options::Options;
use crate::report_kind::ReportKind;
use crate::site::SiteNames;
use crate::text::{count, joined};
use crate::views::ReportPicture;

pub(crate) const CHARTS: &str = "charts";

/// The number of sentences of a verdict after the first that are not folded away.
pub(crate) const MOST_SENTENCES: usize = 8;
/// The first sentence of a verdict begins with this.
pub(crate) const VERDICT: &str = "**Verdict.** ";

/// The terms that a report explains before it uses them. A line has the term, the reports that use it, and its meaning.
/// `SITES` stands for the names of a stack's sites.
const TERMS: &str = include_str!("terms.txt");

pub(crate) fn terms(kind: ReportKind, sites: &SiteNames) -> impl Iterator<Item = String> {
    TERMS.lines().filter_map(move |line| {
        let (term, rest) = line.split_once(" (")?;
        let (reports, meaning) = rest.split_once("): ")?;
        let is_used = reports.split(' ').any(|report| report == kind.name());
        let meaning = meaning.replace("SITES", &sites.in_words());
        is_used.then(|| format!("**{term}**: {meaning}"))
    })
}

/// A row of a table. Each row has the titles of all columns.
pub(crate) struct Row {
    pub(crate) fields: Vec<Field>,
}

pub(crate) struct Field {
    /// The title of the column.
    pub(crate) title: String,
    pub(crate) text: String,
}

impl Row {
    pub(super) fn new(title: impl Display, text: impl Display) -> Row {
        let row = Row { fields: Vec::new() };
        row.with(title, text)
    }

    pub(super) fn with(mut self, title: impl Display, text: impl Display) -> Row {
        self.fields.push(Field {
            title: title.to_string(),
            text: text.to_string(),
        });
        self
    }

    pub(super) fn with_optional(self, title: impl Display, text: Option<impl Display>) -> Row {
        let text = text.map(|text| text.to_string());
        self.with(title, text.as_deref().unwrap_or("–"))
    }
}

/// All rows have the columns of the first one.
pub(crate) fn table(rows: impl IntoIterator<Item = Row>) -> String {
    let mut lines = Vec::new();
    for Row { fields } in rows {
        if lines.is_empty() {
            let titles = joined(fields.iter().map(|field| &field.title), " | ");
            lines.push(format!("| {titles} |"));
            lines.push(format!("|{}", "---|".repeat(fields.len())));
        }
        let texts = fields.iter().map(|field| field.text.replace('|', "\\|"));
        lines.push(format!("| {} |", joined(texts, " | ")));
    }
    lines.join("\n")
}

/// The parts that all reports have.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) in_short: &'a [String],
    /// The tables of what the best candidates do, if variants are compared.
    pub(crate) tables: &'a [String],
    pub(crate) pictures: &'a [ReportPicture],
    pub(crate) options: &'a Options,
}

impl<'a> Frame<'a> {
    pub(crate) fn new(
        in_short: &'a [String],
        pictures: &'a [ReportPicture],
        options: &'a Options,
    ) -> Self {
        Frame {
            in_short,
            tables: &[],
            pictures,
            options,
        }
    }
}

/// Writes a whole report. Pictures that it does not open with come last.
pub(super) fn report(
    kind: ReportKind,
    title: &str,
    sites: &SiteNames,
    frame: Frame,
    parts: impl IntoIterator<Item = Option<String>>,
) -> String {
    let picture = |drawn: &ReportPicture| {
        let (title, base) = (&drawn.picture.title, frame.options.link_base());
        let files = drawn.files();
        Some(format!("![{title}]({base}{CHARTS}/{})", files.first()?))
    };
    let (opening, others): (Vec<_>, Vec<_>) = frame
        .pictures
        .iter()
        .partition(|picture| picture.is_opening);
    let mut all = vec![Some(format!("# {title}"))];
    if let Some((first, others)) = frame.in_short.split_first() {
        let (shown, more) = others.split_at(others.len().min(MOST_SENTENCES));
        all.extend([Some(format!("{VERDICT}{first}")), Some(list(shown))]);
        if !more.is_empty() {
            let title = format!("{} of the verdict", count(more.len(), "more sentence"));
            all.push(Some(details(&title, [Some(list(more))])));
        }
    }
    all.extend(frame.tables.iter().cloned().map(Some));
    all.extend(opening.into_iter().map(picture));
    all.push(Some(details("Terms", [Some(list(terms(kind, sites)))])));
    all.extend(parts);
    if !others.is_empty() {
        all.push(Some(details(
            "More pictures",
            others.into_iter().map(picture),
        )));
    }
    paragraphs(all) + "\n"
}

/// Joins the parts that are not empty, with an empty line between them.
pub(super) fn paragraphs(parts: impl IntoIterator<Item = Option<String>>) -> String {
    let parts = parts.into_iter().flatten();
    joined(parts.filter(|part| !part.is_empty()), "\n\n")
}

pub(super) fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    joined(items.into_iter().map(|item| format!("- {item}")), "\n")
}

pub(super) fn details(summary: &str, parts: impl IntoIterator<Item = Option<String>>) -> String {
    let begin = [Some(format!("<details><summary>{summary}</summary>"))].into_iter();
    paragraphs(begin.chain(parts).chain([Some("</details>".to_owned())]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_term_is_of_known_kinds_of_reports_and_every_kind_has_terms() {
        let lines = TERMS.lines().map(|line| {
            let (_, rest) = line.split_once(" (").expect("a term");
            let (reports, _) = rest.split_once("): ").expect("a meaning");
            reports
        });
        let named: BTreeSet<&str> = lines.flat_map(|reports| reports.split(' ')).collect();
        assert_eq!(named, ReportKind::ALL.map(ReportKind::name).into());
    }
}
