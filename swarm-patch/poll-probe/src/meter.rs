//! A meter is a function of the caller that reads counters of the current thread. The probe calls it
//! where an invocation and its children begin and end.
//!
//! This is separate from the buffers for records and spans. It runs only in
//! [`Mode::Metered`](crate::Mode::Metered).

use std::num::NonZeroU8;

use rtrb::Producer;

use crate::Site;
use crate::record::{MeterCounts, NO_CHILD, Part};

/// Writes counters of the current thread that never decrease, such as the bytes allocated so far. It
/// gets zeros, and a counter that it does not write stays zero.
///
/// The probe calls it inside poll functions, so it must not enter one. Its own cost is part of the
/// counts.
pub type Meter = fn(&mut MeterCounts);

/// A position, from 1, in the stack of open frames; none if an invocation is not metered. Invocations end in the reverse of
/// the order in which they began, so a stack is enough.
pub(crate) type Frame = Option<NonZeroU8>;

/// The meter of one thread and its open frames.
pub(crate) struct ThreadMeter {
    pub(crate) meter: Meter,
    readings: Producer<Part<MeterCounts>>,
    open: Vec<MeterFrame>,
}

/// The counts of one open invocation.
struct MeterFrame {
    /// The site and start of the invocation; none until its first mark.
    invocation: Option<(Site, u64)>,
    begun: MeterCounts,
    /// The counts at the previous mark.
    passed: MeterCounts,
    in_children: MeterCounts,
}

impl ThreadMeter {
    /// The most invocations that nest.
    pub(crate) const NESTED: usize = 64;

    pub(crate) fn new(meter: Meter, readings: Producer<Part<MeterCounts>>) -> ThreadMeter {
        ThreadMeter {
            meter,
            readings,
            open: Vec::with_capacity(Self::NESTED),
        }
    }

    pub(crate) fn begin(&mut self, now: MeterCounts) -> Frame {
        if self.open.len() == Self::NESTED {
            return None;
        }
        self.open.push(MeterFrame {
            invocation: None,
            begun: now,
            passed: now,
            in_children: MeterCounts::default(),
        });
        NonZeroU8::new(self.open.len() as u8)
    }

    /// `read` is at the end of a child's poll, or of the code between two children, which has no child; or, with `is_last`,
    /// of the whole invocation. None if the frame belongs to another invocation or is closed.
    pub(crate) fn pass(
        &mut self,
        frame: Frame,
        read: Part<MeterCounts>,
        is_last: bool,
    ) -> Option<()> {
        let (now, invocation) = (read.what, (read.site, read.invocation));
        let index = usize::from(frame?.get()) - 1;
        let open = self.open.get_mut(index)?;
        if *open.invocation.get_or_insert(invocation) != invocation {
            return None;
        }
        // A full buffer drops the reading. The drain notices that it is missing.
        if read.child != NO_CHILD {
            let what = difference(&now, &open.passed);
            open.in_children = std::array::from_fn(|meter| open.in_children[meter] + what[meter]);
            let _ = self.readings.push(Part { what, ..read });
        }
        open.passed = now;
        if is_last {
            let what = difference(&difference(&now, &open.begun), &open.in_children);
            let child = NO_CHILD;
            let _ = self.readings.push(Part {
                what,
                child,
                ..read
            });
            self.open.truncate(index);
        }
        Some(())
    }

    /// Closes the frame and all frames within it, without a reading.
    pub(crate) fn close(&mut self, frame: Frame) {
        if let Some(position) = frame {
            self.open.truncate(usize::from(position.get()) - 1);
        }
    }
}

fn difference(after: &MeterCounts, before: &MeterCounts) -> MeterCounts {
    std::array::from_fn(|meter| after[meter].saturating_sub(before[meter]))
}
