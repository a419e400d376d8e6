//! A page of memory through which peers change budgets together with central. The tool makes one for each cell, and the
//! processes of central and of its peers inherit it. Central writes the number of the variant in force, and every poll of a
//! peer reads it when it begins. So no message passes over the measured links, and no thread has to be woken.
#![allow(
    unsafe_code,
    reason = "memory that other processes change is reached by a pointer; the page has atomics alone"
)]

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use anyhow::{Context, Result};
use memmap2::MmapOptions;
use poll_probe::{Mode, ProcessBudgets, Variant, count_yields, follow};

#[repr(C)]
struct Page {
    /// The number of the variant in force.
    variant: AtomicU32,
    /// The number of polls of peers that a budget has ended.
    yields: AtomicU64,
}

#[derive(Clone, Copy)]
pub(crate) struct SharedPage(&'static Page);

impl SharedPage {
    /// Maps the file that the tool has made. `file` is the descriptor that this process has inherited.
    pub(crate) fn map(file: RawFd) -> Result<SharedPage> {
        let mapping = MmapOptions::new().len(size_of::<Page>()).map_raw(file);
        let mapping = Box::leak(Box::new(mapping.context("cannot map the shared page")?));
        // SAFETY: the mapping is never undone, it begins at a page and is as long as this type, and every value of the
        // bytes is one of an atomic.
        Ok(SharedPage(unsafe { &*mapping.as_ptr().cast::<Page>() }))
    }

    /// Puts a variant in force at the peers.
    pub(crate) fn switch(self, variant: usize) -> Result<()> {
        let variant = u32::try_from(variant)?;
        self.0.variant.store(variant, Ordering::Release);
        Ok(())
    }

    pub(crate) fn yields(self) -> u64 {
        self.0.yields.load(Ordering::Relaxed)
    }

    /// Makes this peer follow central. `budgets` has the budgets of peers in each variant.
    pub(crate) fn follow(self, budgets: impl Iterator<Item = ProcessBudgets>) {
        count_yields(&self.0.yields);
        let mode = Mode::Off;
        follow(
            &self.0.variant,
            budgets.map(|budgets| Variant { budgets, mode }),
        );
    }
}
