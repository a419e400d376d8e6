//! The part of a report about one explained cell.

use crate::{
    explain::{CellExplained, Explanation},
    report::markdown::{ReportLinks, quoted},
};

/// The most rows of a table that is an excerpt.
pub(super) const MOST_ROWS: usize = 10;

/// A cell, and what is needed to write about it.
pub(super) struct Section<'a> {
    pub(super) explanation: &'a Explanation,
    pub(super) cell: &'a CellExplained,
    pub(super) links: ReportLinks,
}

impl Section<'_> {
    /// The address of a file about the cell.
    pub(super) fn link(&self, what: &str) -> String {
        self.links.explain(&format!("{}.{what}", self.cell.id()))
    }

    /// The values of each variant: the baseline, then the variant that is compared with it.
    pub(super) fn by_variant<T>(&self, of: impl Fn(usize) -> T) -> Vec<T> {
        let variants = self.explanation.variants.iter();
        variants.map(|(variant, _)| of(*variant)).collect()
    }

    /// The head of a table with the same columns for each variant.
    pub(super) fn head(&self, first: &[&str], of_variant: &[&str]) -> Vec<String> {
        let mut head: Vec<String> = first.iter().map(|name| (*name).to_owned()).collect();
        for (_, label) in &self.explanation.variants {
            let columns = of_variant.iter();
            head.extend(columns.map(|name| format!("{name}, {}", quoted(label))));
        }
        head
    }
}
