//! What a report says of an application that compared budgets in itself.

use run_format::application::{ApplicationFile, Ended};

use super::markdown::{Document, joined, quoted};
use crate::load::application::Application;
use crate::prose::{self, prose};
use crate::summary::{Summary, of_hosts};
use crate::text::date;

/// How it ended, unless that was as planned. Empty of a sweep.
pub(super) fn sentences(summary: &Summary) -> Vec<String> {
    let Some(Application { run, .. }) = &summary.identity.application else {
        return Vec::new();
    };
    prose::sentences(&prose!('a "application_in_short.txt" {
        ended: Option<&'a Ended> = run.as_ref().map(|run| &run.ended),
    }))
}

pub(super) fn method(
    document: &mut Document,
    summary: &Summary,
    Application { file, .. }: &Application,
) {
    let labels = summary.variants.iter().map(|it| quoted(&it.label));
    document.prose(&prose!('a "application.txt" {
        file: &'a ApplicationFile = file,
        blocks: usize = summary.measured().map(|cell| cell.measured.blocks).sum(),
        labels: String = joined(labels, ", "),
        limit_s: f64 = file.limit_ms as f64 / 1000.0,
        date: String = date(file.created_unix_s),
        hosts: String = of_hosts(&summary.identity.hosts),
    }));
}
