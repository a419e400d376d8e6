//! Reads back how slow a run was.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use run_format::Site;
use run_format::config::SLOW_NS;
use run_format::files::{BANDS, SITES, SLICES};
use run_format::table::read_table;
use run_format::tables::{BandRow, Pass, SiteRow, SliceRow};

use crate::sums::SliceSums;

/// Polls of connections by variant, over the slices of the run in the folder `run` that compare variants.
pub fn read(run: &Path, variants: usize) -> Result<Vec<SliceSums>> {
    let nothing = SliceSums {
        cpu_ns: Some(0),
        ..SliceSums::default()
    };
    let mut of = vec![nothing; variants];
    let mut compared = BTreeMap::new();
    for row in read_table::<SliceRow>(&run.join(SLICES), false)? {
        if row.pass == Pass::Compare && row.variant < variants {
            of[row.variant] = of[row.variant].plus(SliceSums {
                requests: row.requests.unwrap_or(0),
                seconds: row.duration_ms / 1e3,
                cpu_ns: row.central_cpu_ns,
                ..SliceSums::default()
            });
            compared.insert(row.slice, row.variant);
        }
    }
    let sites: Vec<SiteRow> = read_table(&run.join(SITES), false)?;
    let connections = Site::of_connections(sites.iter().map(|row| row.site));
    for row in sites {
        if let Some(&variant) = compared.get(&row.slice)
            && row.site == connections
        {
            of[variant].polls += row.polls;
        }
    }
    for row in read_table::<BandRow>(&run.join(BANDS), false)? {
        if let Some(&variant) = compared.get(&row.slice)
            && row.site == connections
            && row.from_ns >= SLOW_NS
        {
            of[variant].slow += row.polls;
            of[variant].slow_ns += row.ns;
        }
    }
    Ok(of)
}
