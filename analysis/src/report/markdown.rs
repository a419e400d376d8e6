//! Markdown as GitHub renders it.

use std::fmt::Display;

use askama::Template;

use crate::options::Options;
use crate::prose;
use crate::site::SiteNames;
use crate::text::count;
pub(crate) use crate::text::{joined, joined_any, quoted};
use crate::views::Entry;

pub(crate) const CHARTS: &str = "charts";

/// Of the verdict. The others are folded away.
pub(crate) const MOST_SENTENCES: usize = 15;
/// What the first sentence of a verdict begins with.
pub(crate) const VERDICT: &str = "**Verdict.** ";

pub(crate) fn more_sentences(more: &[String]) -> String {
    format!("{} of the verdict", count(more.len(), "more sentence"))
}

/// The terms that a report explains before it uses them, a line each: the term, the reports that use it, and what it
/// means. `SITES` stands for the names of a stack's sites.
const TERMS: &str = include_str!("terms.txt");

pub(crate) fn terms(about: &str, sites: &SiteNames) -> impl Iterator<Item = String> {
    TERMS.lines().filter_map(move |line| {
        let (term, rest) = line.split_once(" (")?;
        let (reports, meaning) = rest.split_once("): ")?;
        let is_used = reports.split(' ').any(|report| report == about);
        let meaning = meaning.replace("SITES", &sites.in_words());
        is_used.then(|| format!("**{term}**: {meaning}"))
    })
}

/// A row of a table: the title of each column, and what stands below it.
pub(crate) struct Row(pub(crate) Vec<(String, String)>);

impl Row {
    pub(super) fn of(title: impl Display, text: impl Display) -> Row {
        Row(Vec::new()).with(title, text)
    }

    pub(super) fn with(mut self, title: impl Display, text: impl Display) -> Row {
        self.0.push((title.to_string(), text.to_string()));
        self
    }

    pub(super) fn with_any(self, title: impl Display, text: Option<impl Display>) -> Row {
        let text = text.map(|text| text.to_string());
        self.with(title, text.as_deref().unwrap_or("–"))
    }
}

/// All rows have the columns of the first one.
pub(crate) fn table(rows: impl IntoIterator<Item = Row>) -> String {
    let mut lines = Vec::new();
    for Row(fields) in rows {
        if lines.is_empty() {
            let titles = joined(fields.iter().map(|(title, _)| title), " | ");
            lines.push(format!("| {titles} |"));
            lines.push(format!("|{}", "---|".repeat(fields.len())));
        }
        let texts = fields.iter().map(|(_, text)| text.replace('|', "\\|"));
        lines.push(format!("| {} |", joined(texts, " | ")));
    }
    lines.join("\n")
}

/// What any report begins and ends with: its verdict in short, its pictures, and what its options say of links.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a>(
    pub(crate) &'a [String],
    pub(crate) &'a [Entry],
    pub(crate) &'a Options,
);

pub(crate) struct Document<'a> {
    text: String,
    pictures: &'a [Entry],
    /// The address of the report's folder: empty, or with a slash at its end.
    pub(crate) link_base: String,
}

impl<'a> Document<'a> {
    pub(super) fn new(about: &str, title: &str, sites: &SiteNames, frame: Frame<'a>) -> Self {
        let Frame(verdict, pictures, options) = frame;
        let mut document = Document {
            text: format!("# {title}\n"),
            pictures,
            link_base: options.link_base(),
        };
        if let Some((first, others)) = verdict.split_first() {
            document.paragraph(format!("{VERDICT}{first}"));
            let (shown, more) = others.split_at(others.len().min(MOST_SENTENCES));
            document.list(shown);
            if !more.is_empty() {
                document.details(&more_sentences(more), |document| document.list(more));
            }
        }
        let first = pictures.iter().filter(|picture| picture.is_first);
        first.for_each(|picture| document.picture(picture));
        document.details("Terms", |document| document.list(terms(about, sites)));
        document
    }

    /// A text that has no more than its own lines.
    pub(super) fn of(text: String) -> Self {
        Document {
            text,
            pictures: &[],
            link_base: String::new(),
        }
    }

    pub(crate) fn prose(&mut self, template: &impl Template) {
        let text = prose::text(template);
        if !text.is_empty() {
            self.paragraph(text);
        }
    }

    pub(crate) fn paragraph(&mut self, text: impl Display) {
        self.text += &format!("\n{text}\n");
    }

    pub(crate) fn list(&mut self, items: impl IntoIterator<Item = impl Display>) {
        let items = joined(items.into_iter().map(|item| format!("- {item}")), "\n");
        if !items.is_empty() {
            self.paragraph(items);
        }
    }

    pub(crate) fn command(&mut self, command: &str) {
        self.paragraph(format!(
            "To repeat this measurement:\n\n```\n{command}\n```"
        ));
    }

    pub(crate) fn table(&mut self, rows: impl IntoIterator<Item = Row>) {
        let table = table(rows);
        if !table.is_empty() {
            self.paragraph(table);
        }
    }

    /// With a paragraph above it. Without rows there is neither.
    pub(crate) fn table_below(
        &mut self,
        paragraph: impl Display,
        rows: impl IntoIterator<Item = Row>,
    ) {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_some() {
            self.paragraph(paragraph);
            self.table(rows);
        }
    }

    pub(crate) fn details(&mut self, summary: &str, write: impl FnOnce(&mut Document)) {
        self.text += &format!("\n<details><summary>{summary}</summary>\n");
        write(self);
        self.text += "\n</details>\n";
    }

    fn picture(&mut self, picture: &Entry) {
        if let Some(file) = picture.files().first() {
            let (title, base) = (&picture.picture.title, &self.link_base);
            self.paragraph(format!("![{title}]({base}{CHARTS}/{file})"));
        }
    }

    pub(crate) fn finish(mut self) -> String {
        let pictures = self.pictures;
        let others = || pictures.iter().filter(|picture| !picture.is_first);
        if others().next().is_some() {
            self.details("More pictures", |document| {
                others().for_each(|picture| document.picture(picture));
            });
        }
        self.text
    }
}
