//! The inner level of a site: its iterations and children.

use crate::{error::Refused, insertion::Insertion, locate::ParsedFile};

/// The inserted variable.
pub(crate) const PROBE: &str = "probe";

/// What marks the iterations and children of a function.
pub(crate) struct Marks<'a> {
    pub(crate) insertions: Vec<(&'a ParsedFile, Insertion)>,
    /// The names of the children, by their numbers in the marks.
    pub(crate) children: Vec<String>,
    /// Why a budget can end none of its loops, if so.
    pub(crate) cannot_be_left: Option<Refused>,
}

/// The number of a child, which gets one if it has none.
pub(crate) fn number(children: &mut Vec<String>, child: &str) -> usize {
    let known = children.iter().position(|known| known == child);
    known.unwrap_or_else(|| {
        children.push(child.to_owned());
        children.len() - 1
    })
}

impl Marks<'_> {
    /// The names of the children as Rust has them.
    pub(crate) fn quoted_children(&self) -> String {
        let names = self.children.iter().map(|name| format!("{name:?}"));
        names.collect::<Vec<_>>().join(", ")
    }
}
