//! `comment.md`, which is pasted into an issue: a line for each question, a table, and the command that repeats the
//! measurement.

use run_format::{BASELINE, Cell};

use super::effects::Effects;
use super::markdown::{CHARTS, list, paragraphs};
use super::{answers, disturbances, effects, method};
use crate::metrics::{Metric, MetricKey};
use crate::prose::{self, prose};
use crate::summary::{Resolved, Summary};
use crate::verdict::{Candidate, Verdict};
use crate::views::{ReportInput, ReportPicture};

pub(crate) const COMMENT: &str = "comment.md";

/// The most words beside the table. The name of the picture and the command count, too.
const MOST_WORDS: usize = 120;

pub(crate) fn text(input: &ReportInput, pictures: &[ReportPicture]) -> String {
    let (verdict, summary) = (input.verdict, input.summary);
    let answers = list(answers(summary, verdict));
    // The first group of cells is the one without delay, if there is one.
    let tables = effects::tables(verdict);
    let table = tables.first().map(Effects::as_markdown);
    let picture = pictures.first().and_then(|drawn| picture(drawn, input));
    let manifest = summary.identity.manifest.as_ref();
    let command = manifest.map(|manifest| format!("```\n{}\n```", method::command(manifest)));
    let always = [Some(&answers), picture.as_ref(), command.as_ref()];
    let left =
        MOST_WORDS.saturating_sub(always.into_iter().flatten().map(|text| words(text)).sum());
    let others = list(within(left, lines(verdict, summary)));
    paragraphs([Some(answers), table, Some(others), picture, command]) + "\n"
}

/// Links the picture if the report has an address, else names the file that a person drags into the issue.
fn picture(drawn: &ReportPicture, input: &ReportInput) -> Option<String> {
    let file = drawn.files().into_iter().next()?;
    let link = format!("{}{CHARTS}/{file}", input.options.link_base());
    Some(match input.options.pictures.link_base {
        Some(_) => format!("![{}]({link})", drawn.picture.title),
        None => format!("(Drag the picture `{link}` here.)"),
    })
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Leaves out the lines with which there would be more than `most_words` words.
fn within(most_words: usize, lines: Vec<String>) -> impl Iterator<Item = String> {
    let mut left = most_words;
    lines.into_iter().filter_map(move |line| {
        // The mark of the list counts, too.
        left = left.checked_sub(words(&line) + 1)?;
        Some(line)
    })
}

fn lines(verdict: &Verdict, summary: &Summary) -> Vec<String> {
    let mut lines = match verdict.best() {
        // A reader of the comment alone has to know which cells get worse.
        Some(best) => best
            .worse(1)
            .into_iter()
            .chain(about_best(verdict, summary, best))
            .collect(),
        None => verdict.remarks(),
    };
    lines.extend(prose::sentences(&prose!('a "comment_end.txt" {
        is_application: bool = summary.identity.application.is_some(),
        verdict: &'a Verdict = verdict,
        confidence: String = crate::text::confidence(verdict.confidence),
    })));
    lines.extend(disturbances::sentences(summary));
    lines
}

fn about_best(verdict: &Verdict, summary: &Summary, best: &Candidate) -> Vec<String> {
    let worst = summary.by_time_beyond(verdict.site).first().copied();
    let before_after = |metric: Metric| {
        let key = MetricKey::new(verdict.site, metric);
        let is_resolved = worst?.change(key, best.variant)?.resolved != Resolved::No;
        let [before, after] = [BASELINE, best.variant].map(|variant| worst?.value(key, variant));
        is_resolved.then_some([before?, after?])
    };
    prose::sentences(&prose!('a "comment.txt" {
        verdict: &'a Verdict = verdict,
        is_application: bool = summary.identity.application.is_some(),
        function: &'a str = summary.function(verdict.site),
        worst: Option<Cell> = worst.map(|cell| cell.cell()),
        beyond_ms: Option<[f64; 2]> = before_after(Metric::BeyondMsPerS),
        late_us: Option<[f64; 2]> = before_after(Metric::CotenantP90Us),
        describes: Option<String> = effects::describes(best, summary),
    }))
}
