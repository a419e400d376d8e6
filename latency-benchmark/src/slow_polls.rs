//! Reads back how slow a run was.

use std::path::Path;

use anyhow::Result;
use run_format::{
    Site,
    config::SLOW_NS,
    files::{BANDS, SITES, SLICES},
    table::read_table,
    tables::{BandRow, Pass, SiteRow, SliceRow},
};

/// Polls of `Connection::poll` in the slices that compare variants.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SlowPolls {
    pub(crate) slow: u64,
    pub(crate) polls: u64,
    pub(crate) requests: u64,
    /// In slow polls.
    pub(crate) slow_ns: u64,
    /// Of the slices.
    pub(crate) measured_ms: f64,
    /// None if it is not known of all slices.
    pub(crate) cpu_ns: Option<u64>,
}

/// By variant, of the run in the folder `run`.
pub(crate) fn read(run: &Path, variants: usize) -> Result<Vec<SlowPolls>> {
    const SITE: Site = Site::Connection;
    let nothing = SlowPolls {
        cpu_ns: Some(0),
        ..SlowPolls::default()
    };
    let mut of = vec![nothing; variants];
    let mut compared = std::collections::BTreeMap::new();
    for row in read_table::<SliceRow>(&run.join(SLICES), false)? {
        if row.pass == Pass::Compare && row.variant < variants {
            of[row.variant].requests += row.requests;
            of[row.variant].measured_ms += row.duration_ms;
            let cpu_ns = of[row.variant].cpu_ns.zip(row.central_cpu_ns);
            of[row.variant].cpu_ns = cpu_ns.map(|(sum, more)| sum + more);
            compared.insert(row.slice, row.variant);
        }
    }
    for row in read_table::<SiteRow>(&run.join(SITES), false)? {
        if let (SITE, Some(&variant)) = (row.site, compared.get(&row.slice)) {
            of[variant].polls += row.polls;
        }
    }
    for row in read_table::<BandRow>(&run.join(BANDS), false)? {
        if let (SITE, Some(&variant)) = (row.site, compared.get(&row.slice))
            && row.from_ns >= SLOW_NS
        {
            of[variant].slow += row.polls;
            of[variant].slow_ns += row.ns;
        }
    }
    Ok(of)
}
