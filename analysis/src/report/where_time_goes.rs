//! The section that says where the time of polls goes.

use std::collections::BTreeMap;

use crate::metrics::OWN;
use crate::prose::{self, prose};
use crate::summary::Summary;
use crate::summary::children::{self, ChildShare, PollTimeShares};
use crate::text::{joined_any, number, quoted};
use crate::verdict::Verdict;

pub(super) fn text(summary: &Summary, verdict: &Verdict) -> String {
    let candidates = verdict.candidates.iter();
    let yields = candidates.flat_map(|candidate| &candidate.yields);
    let single = yields.filter_map(|yields| {
        let percent = yields.single_iteration_percent?;
        Some((summary.function(yields.site), percent))
    });
    let slow = PollTimeShares::add_up(summary.measured_cells(), verdict.site).slow_polls;
    prose::text(&prose!('a "where_time_goes.txt" {
        single: BTreeMap<&'a str, f64> = single.collect(),
        function: &'a str = summary.function(verdict.site),
        slow: Option<String> = large_shares(&slow),
        beyond: Option<String> = large_shares(&children::beyond(summary, verdict.site)),
    }))
}

/// Returns the shares of at least 1 %, such as "`muxing.poll_unpin` 87.6 %, own code 1.92 %". None if nothing was recorded.
fn large_shares(shares: &[ChildShare]) -> Option<String> {
    let large = shares.iter().filter(|share| share.percent >= 1.0);
    let in_words = large.map(|share| match share.child {
        OWN => format!("{OWN} {} %", number(share.percent)),
        child => format!("{} {} %", quoted(child), number(share.percent)),
    });
    joined_any(in_words, ", ")
}
