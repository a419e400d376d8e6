//! Where there is no such dispatch.

use std::convert::Infallible;

use super::{SystemCall, WHAT};
use crate::Unavailable;

/// The system calls of one thread. There are none of these here.
pub struct SystemCalls(Infallible);

impl SystemCalls {
    /// Always unavailable here.
    pub fn arm_this_thread(
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<SystemCalls, Unavailable> {
        Self::arm_this_thread_with(0, clock)
    }

    /// Always unavailable here.
    pub fn arm_this_thread_with(
        _capacity: usize,
        _clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<SystemCalls, Unavailable> {
        Err(Unavailable::new(
            WHAT,
            "they are seen on Linux on x86-64 only, and this is another system or processor",
        ))
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
    pub fn unrecorded(&self) -> u64 {
        match self.0 {}
    }

    /// Never called.
    pub fn overhead_ns(&self) -> u64 {
        match self.0 {}
    }

    /// Never called.
    pub fn idle_overhead_ns(&self) -> u64 {
        match self.0 {}
    }

    /// Numbers have no names here.
    pub fn name(_number: i64) -> &'static str {
        "unknown"
    }
}
