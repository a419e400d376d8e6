//! What is shown while cells are explained: a bar on a terminal, else a line per cell.

use std::{
    io::{IsTerminal, stderr},
    path::Path,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::{args::Asked, worst::Chosen};
use crate::duration::in_words;

pub(super) struct Progress {
    bar: Option<ProgressBar>,
    blocks_of_a_cell: u32,
    blocks: u32,
    blocks_done: u32,
    /// Of them, those of this cell.
    blocks_here: u32,
    began: Instant,
    current: String,
}

impl Progress {
    pub(super) fn new(asked: &Asked) -> Progress {
        let cells = u32::try_from(asked.cells.len()).unwrap_or(u32::MAX);
        let blocks = cells.saturating_mul(asked.explain.blocks);
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(blocks.into());
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}");
            bar.set_style(style.expect("the template is a constant"));
            bar
        });
        Progress {
            bar,
            blocks_of_a_cell: asked.explain.blocks,
            blocks,
            blocks_done: 0,
            blocks_here: 0,
            began: Instant::now(),
            current: String::new(),
        }
    }

    pub(super) fn begin(&mut self, chosen: &Chosen) {
        self.current = chosen.cell.to_string();
        self.blocks_here = 0;
        self.show();
    }

    pub(super) fn end(&mut self, chosen: &Chosen) {
        self.say(&format!("explained: {chosen}{}", self.left()));
    }

    pub(super) fn failed(&mut self, chosen: &Chosen, why: &str) {
        // Its blocks do not come any more.
        self.blocks -= self.blocks_of_a_cell - self.blocks_here;
        self.say(&format!("FAILED: {}: {why}", chosen.cell));
    }

    pub(super) fn finish(self, explained: usize, failed: usize, interrupted: bool, dir: &Path) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        let interrupted = if interrupted { "; interrupted" } else { "" };
        eprintln!(
            "{explained} cells explained, {failed} failed{interrupted} in {}",
            in_words(self.began.elapsed())
        );
        if explained > 0 {
            println!("{}", dir.display());
        }
    }

    /// One is done.
    pub(super) fn block(&mut self) {
        self.blocks_done += 1;
        self.blocks_here += 1;
        self.show();
    }

    pub(super) fn tick(&self) {
        self.show();
    }

    pub(super) fn warn(&self, text: &str) {
        self.say(&format!("warning: {text}"));
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }

    fn show(&self) {
        if let Some(bar) = &self.bar {
            bar.set_length(self.blocks.into());
            bar.set_position(self.blocks_done.into());
            bar.set_message(format!("{}{}", self.current, self.left()));
        }
    }

    /// By the mean of the blocks so far; those of long round trips take longer.
    fn left(&self) -> String {
        let each: Option<Duration> = self.began.elapsed().checked_div(self.blocks_done);
        match (each, self.blocks.saturating_sub(self.blocks_done)) {
            (None, _) | (_, 0) => String::new(),
            (Some(each), blocks) => format!("  {} left", in_words(each * blocks)),
        }
    }
}
