//! `comment.md`: what a maintainer reads in an issue before the report, in at most 350 words.

use super::{ReportLinks, method};
use crate::{options::Options, summary::Summary, text::count, views::Entry};

pub(crate) const COMMENT: &str = "comment.md";

const MOST_WORDS: usize = 350;

/// As many sentences of the verdict as fit, a picture, and how it was measured.
pub(crate) fn text(
    in_short: &[String],
    summary: &Summary,
    pictures: &[Entry],
    options: &Options,
) -> String {
    let links = ReportLinks::new(options);
    let mut end = String::new();
    let file = |it| Some((it, Entry::files(it).into_iter().next()?));
    if let Some((entry, file)) = pictures.iter().find_map(file) {
        end += &format!("\n![{}]({})\n", entry.title(), links.chart(&file));
    }
    if let Some(manifest) = &summary.identity.manifest {
        end += &format!(
            "\nMeasured in {}: {} Intervals are in square brackets. To repeat it:\n\n```\n{}\n```\n",
            count(summary.measured().count(), "cell"),
            method::place(manifest, &summary.identity.machines()),
            method::command(manifest)
        );
    }
    let words = |text: &str| text.split_whitespace().count();
    let mut left = MOST_WORDS.saturating_sub(words(&end));
    let mut text = String::new();
    for sentence in in_short {
        let Some(rest) = left.checked_sub(words(sentence) + 1) else {
            break;
        };
        left = rest;
        text += &format!("- {sentence}\n");
    }
    text + &end
}
