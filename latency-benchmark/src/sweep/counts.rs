//! How the runs of a sweep ended.

use run_format::run_row::End;

use crate::progress::{INTERRUPTED, MEASURED, SOME_FAILED};

#[derive(Default)]
pub(super) struct RunCounts {
    measured: usize,
    invalid: usize,
    failed: usize,
    /// Runs whose rows could not be written.
    pub(super) unkept: usize,
    pub(super) interrupted: bool,
}

impl RunCounts {
    pub(super) fn add(&mut self, end: &End) {
        match end {
            // It is measured again.
            &End::INTERRUPTED => {}
            End::Ok { .. } => self.measured += 1,
            End::Invalid { .. } => self.invalid += 1,
            End::Failed { .. } => self.failed += 1,
        }
    }

    pub(super) fn summary(&self) -> String {
        let unkept = match self.unkept {
            0 => String::new(),
            count => format!(", {count} not kept"),
        };
        let interrupted = if self.interrupted {
            "; interrupted"
        } else {
            ""
        };
        format!(
            "{} runs measured, {} invalid, {} failed{unkept}{interrupted}",
            self.measured, self.invalid, self.failed
        )
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self.invalid + self.failed + self.unkept {
            _ if self.interrupted => INTERRUPTED,
            0 => MEASURED,
            _ => SOME_FAILED,
        }
    }
}
