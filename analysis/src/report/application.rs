//! What a report says of an application that compared budgets in itself.

use run_format::application::Ended;

use super::markdown::{Document, joined, quoted};
use crate::load::application::Application;
use crate::summary::Summary;
use crate::summary::of_hosts;
use crate::text::{count, date, lasting};

/// How it ended, unless that was as planned. Empty of a sweep.
pub(super) fn sentences(summary: &Summary) -> Vec<String> {
    let Some(Application { run, .. }) = &summary.identity.application else {
        return Vec::new();
    };
    let ended = match run.as_ref().map(|run| &run.ended) {
        Some(Ended::TimeUp | Ended::Stopped) => None,
        Some(Ended::Guardrail { reason }) => Some(format!(
            "**A guardrail ended the comparison**, and `none` is in force since. Reason: {reason}. What was measured \
             before counts."
        )),
        Some(Ended::Failed { reason }) => Some(format!(
            "The comparison failed, and `none` is in force since. Reason: {reason}. What was measured before counts."
        )),
        None => Some(
            "The application goes on with its comparison, or was killed. The blocks that are complete count."
                .to_owned(),
        ),
    };
    let once = "This is one run of one application under the load that it had. Another day may have another load.";
    ended.into_iter().chain([once.to_owned()]).collect()
}

pub(super) fn method(
    document: &mut Document,
    summary: &Summary,
    Application { file, .. }: &Application,
) {
    document.heading("How it was measured");
    let labels = summary.variants.iter().map(|it| quoted(&it.label));
    let blocks: usize = summary.measured().map(|cell| cell.measured.blocks).sum();
    document.list([
        format!(
            "The application {} compared budgets in itself, by node-ab {}, on a tokio runtime with {}. Its network and its \
             load were those that it had, and are not recorded.",
            quoted(&file.program),
            file.version,
            count(file.runtime.workers, "worker"),
        ),
        format!(
            "Budgets took turns of {} ms in the process, in {} of random order: {}. After each change, {} ms were not \
             measured. Intervals are computed from blocks, never from single polls.",
            file.turn_ms,
            count(blocks, "block"),
            joined(labels, ", "),
            file.washout_ms,
        ),
        format!(
            "The comparison was to end after {}, or if the 99th percentile of a timer's lateness in a turn exceeded {} ms, \
             records were lost in ten turns one after another, or a check of the application failed.",
            lasting(file.limit_ms as f64 / 1000.0),
            file.timer_limit_ms,
        ),
        format!(
            "{}, on {}.",
            date(file.created_unix_s),
            of_hosts(&summary.identity.hosts)
        ),
    ]);
    document.paragraph(format!(
        "To repeat this measurement: start the application with `NODE_AB={}s`.",
        file.limit_ms as f64 / 1000.0
    ));
}

pub(super) fn caveats(Application { file, run, .. }: &Application) -> Vec<String> {
    let mut caveats = Vec::new();
    if file.debug_assertions {
        caveats
            .push("**Measured with debug assertions. Real nodes are release builds.**".to_owned());
    }
    caveats.push(String::from(
        "CPU time is that of the whole process without the recording thread. CPU time of the probe, and what the \
         hypervisor and other processes took, are not recorded.",
    ));
    if let Some(run) = run.as_ref().filter(|run| run.refused_slices > 0) {
        caveats.push(format!(
            "{} lost records and do not count, nor do their blocks.",
            count(run.refused_slices as usize, "turn")
        ));
    }
    caveats
}
