//! Reads back how slow a run was.

use std::path::Path;

use crate::{
    changes::SliceSums,
    config::SLOW_NS,
    files::{BANDS, SITES, SLICES},
    table::read_table,
    tables::{BandRow, Pass, SiteRow, SliceRow},
};
use anyhow::Result;

/// Polls of connections in the slices that compare variants.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlowPolls {
    pub slow: u64,
    pub polls: u64,
    pub requests: u64,
    /// In slow polls.
    pub slow_ns: u64,
    /// Of the slices.
    pub measured_ms: f64,
    /// None if it is not known of all slices.
    pub cpu_ns: Option<u64>,
}

impl From<SlowPolls> for SliceSums {
    fn from(of: SlowPolls) -> SliceSums {
        SliceSums {
            slow: of.slow,
            polls: of.polls,
            requests: of.requests,
            seconds: of.measured_ms / 1000.0,
            cpu_ns: of.cpu_ns,
        }
    }
}

/// By variant, of the run in the folder `run`.
pub fn read(run: &Path, variants: usize) -> Result<Vec<SlowPolls>> {
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
    let sites: Vec<SiteRow> = read_table(&run.join(SITES), false)?;
    // The first site of a stack is that of connections.
    let connections = sites.first().map(|it| it.site);
    for row in sites {
        if let Some(&variant) = compared.get(&row.slice)
            && Some(row.site) == connections
        {
            of[variant].polls += row.polls;
        }
    }
    for row in read_table::<BandRow>(&run.join(BANDS), false)? {
        if let Some(&variant) = compared.get(&row.slice)
            && Some(row.site) == connections
            && row.from_ns >= SLOW_NS
        {
            of[variant].slow += row.polls;
            of[variant].slow_ns += row.ns;
        }
    }
    Ok(of)
}
