//! Markdown as GitHub renders it.

use std::fmt::Display;

use super::terms::{SITES, Term};
pub(crate) use crate::text::{joined, or_dash, quoted};
use crate::{explain::files, options::Options, site::SiteNames, text::count, views::Entry};

pub(crate) const CHARTS: &str = "charts";

#[derive(Clone)]
pub(crate) struct ReportLinks {
    /// Address of the report's folder: empty, or with a slash at its end.
    base: String,
}

impl ReportLinks {
    pub(super) fn new(options: &Options) -> ReportLinks {
        let base = options.pictures.link_base.as_deref();
        let with_slash = |base: &str| format!("{}/", base.trim_end_matches('/'));
        ReportLinks {
            base: base.map_or_else(String::new, with_slash),
        }
    }

    pub(super) fn chart(&self, file: &str) -> String {
        format!("{}{CHARTS}/{file}", self.base)
    }

    pub(crate) fn explain(&self, file: &str) -> String {
        format!("{}{}/{file}", self.base, files::FOLDER)
    }
}

/// Of the verdict. The others are folded away.
pub(crate) const MOST_SENTENCES: usize = 15;

pub(crate) fn more_sentences(more: &[String]) -> String {
    format!("{} of the verdict", count(more.len(), "more sentence"))
}

pub(crate) struct Document {
    text: String,
    pub(crate) links: ReportLinks,
}

impl Document {
    pub(crate) fn new(
        title: &str,
        verdict: &[String],
        pictures: &[Entry],
        terms: &[Term],
        sites: &SiteNames,
        options: &Options,
    ) -> Document {
        let mut document = Document {
            text: format!("# {title}\n"),
            links: ReportLinks::new(options),
        };
        if let Some((first, others)) = verdict.split_first() {
            document.paragraph(format!("**Verdict.** {first}"));
            let (shown, more) = others.split_at(others.len().min(MOST_SENTENCES));
            document.list(shown);
            if !more.is_empty() {
                document.details(&more_sentences(more), |document| document.list(more));
            }
        }
        let first = pictures.iter().filter(|picture| picture.is_first);
        first.for_each(|picture| document.picture(picture));
        document.details("Terms", |document| {
            document.list(terms.iter().map(|(term, meaning)| {
                format!("**{term}**: {}", meaning.replace(SITES, &sites.in_words()))
            }));
        });
        document
    }

    pub(crate) fn paragraph(&mut self, text: impl Display) {
        self.text += &format!("\n{text}\n");
    }

    pub(crate) fn heading(&mut self, text: &str) {
        self.paragraph(format!("### {text}"));
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

    /// The names of the columns have " | " between them.
    pub(crate) fn table(&mut self, head: &str, rows: impl IntoIterator<Item = Vec<String>>) {
        let columns = head.split(" | ").count();
        self.text += &format!("\n| {head} |\n|{}\n", "---|".repeat(columns));
        for row in rows {
            let fields = joined(row.iter().map(|field| field.replace('|', "\\|")), " | ");
            self.text += &format!("| {fields} |\n");
        }
    }

    pub(crate) fn details(&mut self, summary: &str, write: impl FnOnce(&mut Document)) {
        self.text += &format!("\n<details><summary>{summary}</summary>\n");
        write(self);
        self.text += "\n</details>\n";
    }

    fn picture(&mut self, picture: &Entry) {
        if let Some(file) = picture.files().first() {
            let link = self.links.chart(file);
            self.paragraph(format!("![{}]({link})", picture.title()));
        }
    }

    pub(crate) fn finish(mut self, pictures: &[Entry]) -> String {
        let others: Vec<&Entry> = pictures
            .iter()
            .filter(|picture| !picture.is_first)
            .collect();
        if !others.is_empty() {
            self.details("More pictures", |document| {
                others.iter().for_each(|picture| document.picture(picture));
            });
        }
        self.text
    }
}
