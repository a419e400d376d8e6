//! A meter of the caller's, read where an invocation and its children begin and end.
//!
//! All of this is apart from the buffers for records and spans, and is entered in
//! [`Mode::Metered`](crate::Mode::Metered) only.

use rtrb::Producer;

use crate::{
    Site,
    record::{NO_CHILD, RawReading},
    ring::with_filling,
};

/// The most counts that a meter has.
pub const METERS: usize = 10;

/// The counts of a meter.
pub type Counts = [u64; METERS];

/// Writes counts of the current thread that only ever grow, such as of allocated bytes. They come as
/// zeros, and what is not written stays zero.
///
/// It is read inside poll functions, so it must not enter one, and what it costs itself is part of
/// what it counts.
pub type Meter = fn(&mut Counts);

/// Where an invocation keeps what it has to remember of the meter: invocations end in the reverse of
/// the order in which they began, so this is a place in a stack, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameId(u8);

impl FrameId {
    pub(crate) const NONE: FrameId = FrameId(0);

    fn index(self) -> Option<usize> {
        usize::from(self.0).checked_sub(1)
    }
}

/// Something ended: the poll of a child, or the whole invocation, or code between children.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) site: Site,
    pub(crate) invocation: u64,
    pub(crate) at: u64,
    pub(crate) child: Option<u8>,
    pub(crate) is_last: bool,
}

/// The metering of one thread.
pub(crate) struct Metering {
    meter: Meter,
    readings: Producer<RawReading>,
    open: Vec<Frame>,
}

struct Frame {
    /// By site and start, as soon as it is known.
    invocation: Option<(Site, u64)>,
    begun: Counts,
    /// At the mark before.
    passed: Counts,
    in_children: Counts,
}

impl Metering {
    /// No more invocations than this nest.
    const NESTED: usize = 64;

    pub(crate) fn new(meter: Meter, readings: Producer<RawReading>) -> Metering {
        Metering {
            meter,
            readings,
            open: Vec::with_capacity(Self::NESTED),
        }
    }

    fn begin(&mut self, now: Counts) -> Option<FrameId> {
        if self.open.len() == Self::NESTED {
            return None;
        }
        self.open.push(Frame {
            invocation: None,
            begun: now,
            passed: now,
            in_children: Counts::default(),
        });
        u8::try_from(self.open.len()).ok().map(FrameId)
    }

    /// None if the frame is not, or no longer, that of this invocation.
    fn pass(&mut self, frame: FrameId, now: Counts, mark: Mark) -> Option<()> {
        let invocation = (mark.site, mark.invocation);
        let index = frame.index()?;
        let open = self.open.get_mut(index)?;
        if *open.invocation.get_or_insert(invocation) != invocation {
            return None;
        }
        let reading = |child, counts| RawReading {
            invocation: mark.invocation,
            at: mark.at,
            counts,
            site: mark.site,
            child,
        };
        // A reading for which there is no room is missed when the record is handed out.
        if let Some(child) = mark.child {
            let counts = difference(&now, &open.passed);
            open.in_children = std::array::from_fn(|meter| open.in_children[meter] + counts[meter]);
            let _ = self.readings.push(reading(child, counts));
        }
        open.passed = now;
        if mark.is_last {
            let own = difference(&difference(&now, &open.begun), &open.in_children);
            let _ = self.readings.push(reading(NO_CHILD, own));
            self.open.truncate(index);
        }
        Some(())
    }
}

fn difference(after: &Counts, before: &Counts) -> Counts {
    std::array::from_fn(|meter| after[meter].saturating_sub(before[meter]))
}

/// The counts now; none without a meter. The buffers are not held meanwhile.
fn read() -> Option<Counts> {
    let meter = with_filling(|filling| filling.metering.as_ref().map(|metering| metering.meter));
    let mut counts = Counts::default();
    meter.flatten()?(&mut counts);
    Some(counts)
}

fn with_metering<T>(f: impl FnOnce(&mut Metering) -> Option<T>) -> Option<T> {
    with_filling(|filling| filling.metering.as_mut().and_then(f)).flatten()
}

/// An invocation is about to begin. None if it is not metered.
pub(crate) fn begin() -> Option<FrameId> {
    let now = read()?;
    with_metering(|metering| metering.begin(now))
}

/// False if the invocation is not metered.
pub(crate) fn pass(frame: FrameId, mark: Mark) -> bool {
    if frame == FrameId::NONE {
        return false;
    }
    read().is_some_and(|now| with_metering(|metering| metering.pass(frame, now, mark)).is_some())
}

/// An invocation ended without a record.
pub(crate) fn give_up(frame: FrameId) {
    if let Some(index) = frame.index() {
        with_metering(|metering| {
            metering.open.truncate(index);
            Some(())
        });
    }
}
