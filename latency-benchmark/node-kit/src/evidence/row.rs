//! The row that most tables of evidence have.

use run_format::{EvidenceRow, Text};
use slices::PollPlace;

/// Something happened `count` times and, of some things, was together so much.
pub(super) fn row(
    slice: u32,
    place: PollPlace,
    what: impl Into<Text>,
    count: u64,
    amount: Option<u64>,
) -> EvidenceRow {
    EvidenceRow {
        slice,
        site: place.site,
        child: place.child.map(Into::into),
        from_ns: place.from_ns,
        what: what.into(),
        count,
        amount,
    }
}
