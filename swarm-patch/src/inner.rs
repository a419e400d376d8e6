//! The inner level of a site: its iterations and children.

use crate::error::Refused;
use crate::locate::InFile;

/// The inserted variable.
pub(crate) const PROBE: &str = "probe";

/// The marks of the iterations and children of a function.
#[derive(Default)]
pub(crate) struct Marks<'a> {
    pub(crate) insertions: Vec<InFile<'a>>,
    /// The names of the children, by their numbers in the marks.
    pub(crate) children: Vec<String>,
    /// Why its crate's remedies are not there, if so.
    pub(crate) lacks_remedies: Option<Refused>,
    /// Why a budget can end none of its loops, if so.
    pub(crate) cannot_be_left: Option<Refused>,
}

impl Marks<'_> {
    /// The number of a child, which gets one if it has none.
    pub(crate) fn number(&mut self, child: &str) -> usize {
        let known = self.children.iter().position(|known| known == child);
        known.unwrap_or_else(|| {
            self.children.push(child.to_owned());
            self.children.len() - 1
        })
    }
}
