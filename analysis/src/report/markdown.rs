//! Markdown as GitHub renders it.

use super::folder::CHARTS;
use crate::{explain::files, views::Entry};

/// Where pictures are linked to.
pub(crate) struct Links {
    /// Of the report's folder; empty, or with a slash at its end.
    base: String,
}

impl Links {
    /// Beside the report, or below `base`.
    pub(crate) fn new(base: Option<&str>) -> Links {
        let base = base.map_or_else(String::new, |base| {
            format!("{}/", base.trim_end_matches('/'))
        });
        Links { base }
    }

    fn to(&self, file: &str) -> String {
        format!("{}{CHARTS}/{file}", self.base)
    }

    /// To what there is of the cells that were explained.
    pub(crate) fn explain(&self, file: &str) -> String {
        format!("{}{}/{file}", self.base, files::FOLDER)
    }
}

/// A text in the making.
pub(crate) struct Document(String);

impl Document {
    pub(crate) fn new(title: &str) -> Document {
        Document(format!("# {title}\n"))
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.0 += &format!("\n{text}\n");
    }

    pub(crate) fn heading(&mut self, text: &str) {
        self.paragraph(&format!("### {text}"));
    }

    pub(crate) fn list(&mut self, items: impl IntoIterator<Item = String>) {
        self.0 += "\n";
        for item in items {
            self.0 += &format!("- {item}\n");
        }
    }

    pub(crate) fn code(&mut self, text: &str) {
        self.paragraph(&format!("```\n{text}\n```"));
    }

    pub(crate) fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        self.0 += &format!(
            "\n| {} |\n|{}\n",
            head.join(" | "),
            "---|".repeat(head.len())
        );
        for row in rows {
            let fields: Vec<String> = row.iter().map(|field| field.replace('|', "\\|")).collect();
            self.0 += &format!("| {} |\n", fields.join(" | "));
        }
    }

    /// Folded away.
    pub(crate) fn details(&mut self, summary: &str, write: impl FnOnce(&mut Document)) {
        self.0 += &format!("\n<details><summary>{summary}</summary>\n");
        write(self);
        self.0 += "\n</details>\n";
    }

    pub(crate) fn picture(&mut self, links: &Links, entry: &Entry) {
        if let Some(file) = entry.files().first() {
            self.paragraph(&format!("![{}]({})", entry.title, links.to(file)));
        }
    }

    /// Links to all pictures, by what they show.
    pub(crate) fn pictures(&mut self, links: &Links, entries: &[Entry]) {
        let mut groups: Vec<&str> = Vec::new();
        for entry in entries {
            if !groups.contains(&entry.group) {
                groups.push(entry.group);
            }
        }
        for group in groups {
            let of_group = entries.iter().filter(|entry| entry.group == group);
            let items = of_group.map(|entry| {
                let files = entry.files().into_iter().map(|file| {
                    let extension = file.rsplit('.').next().unwrap_or_default();
                    format!("[{extension}]({})", links.to(&file))
                });
                format!("{}: {}", entry.label, files.collect::<Vec<_>>().join(", "))
            });
            self.paragraph(&format!("**{group}**"));
            self.list(items);
        }
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}
