//! The inner level of a site: its iterations and children.

use crate::insertion::{Insertion, Mark};
use crate::locate::{FoundFunction, InFile};
use crate::sites::Level;

/// The name of the inserted variable.
pub(crate) const PROBE: &str = "probe";

/// The marks of the iterations and children of a function.
#[derive(Default)]
pub(crate) struct Marks<'a> {
    pub(crate) insertions: Vec<InFile<'a>>,
    /// The names of the children. A child's index is its number in the marks.
    pub(crate) children: Vec<String>,
    /// Missing if no budget can end polls of the function.
    pub(crate) budget: Level,
    /// None if the site has no counts.
    pub(crate) counts: Option<Level>,
    /// None if the site has no remedies.
    pub(crate) remedies: Option<Level>,
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
        let (file, insertion) = function.within(byte, Mark::Child, code);
        let child = Some(child);
        self.insertions
            .push((file, Insertion { child, ..insertion }));
    }
}
