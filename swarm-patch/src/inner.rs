//! The inner level of a site: its iterations and children.

use crate::error::Refused;
use crate::insertion::Insertion;
use crate::locate::{FoundFunction, InFile};

/// The name of the inserted variable.
pub(crate) const PROBE: &str = "probe";

/// The marks of the iterations and children of a function.
#[derive(Default)]
pub(crate) struct Marks<'a> {
    pub(crate) insertions: Vec<InFile<'a>>,
    /// The names of the children. A child's index is its number in the marks.
    pub(crate) children: Vec<String>,
    /// The reason if the crate's remedies could not be added.
    pub(crate) lacks_remedies: Option<Refused>,
    /// The reason if a budget can end none of the loops.
    pub(crate) cannot_be_left: Option<Refused>,
}

impl<'a> Marks<'a> {
    /// The number of a child. A new child gets the next number.
    pub(crate) fn number(&mut self, child: &str) -> usize {
        let known = self.children.iter().position(|known| known == child);
        known.unwrap_or_else(|| {
            self.children.push(child.to_owned());
            self.children.len() - 1
        })
    }

    /// Adds the code that begins the time of a child.
    pub(crate) fn begin_child(
        &mut self,
        function: &FoundFunction<'a>,
        byte: usize,
        child: String,
        code: String,
    ) {
        let (file, insertion) = function.within(byte, "child", code);
        let child = Some(child);
        self.insertions
            .push((file, Insertion { child, ..insertion }));
    }
}
