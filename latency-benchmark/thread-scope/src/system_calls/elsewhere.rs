//! Replaces the recorder on processors for which it is not written.

use std::convert::Infallible;

use super::call::{SystemCall, WHAT};
use crate::Unobservable;

/// Records the system calls of one thread. Not available on this processor.
pub struct SystemCallRecorder(Infallible);

impl SystemCallRecorder {
    /// Always fails on this processor.
    pub fn arm_this_thread(
        _capacity: usize,
        _clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<SystemCallRecorder, Unobservable> {
        let why = "they can be recorded on x86-64 only, and this is another processor";
        Err(Unobservable::new(WHAT, why))
    }

    /// Never called.
    pub fn set_recording(&self, _recording: bool) {
        match self.0 {}
    }

    /// Never called.
    pub fn drain(&mut self, _each: impl FnMut(&SystemCall)) {
        match self.0 {}
    }

    /// Never called.
    pub fn lost(&self) -> u64 {
        match self.0 {}
    }

    /// Never called.
    pub fn overhead_ns(&self) -> u64 {
        match self.0 {}
    }
}
