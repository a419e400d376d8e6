//! Reads back how slow a run was.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, de::DeserializeOwned};

use super::{BANDS, SITES, SLICES, rows::Pass};
use crate::slices::SLOW_NS;

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
}

#[derive(Deserialize)]
struct SliceRow {
    slice: u32,
    pass: Pass,
    variant: usize,
    duration_ms: f64,
    requests: u64,
}

#[derive(Deserialize)]
struct SiteRow {
    slice: u32,
    site: String,
    polls: u64,
}

#[derive(Deserialize)]
struct BandRow {
    slice: u32,
    site: String,
    from_ns: u64,
    polls: u64,
    ns: u64,
}

/// By variant, of the run in the folder `run`.
pub(crate) fn read(run: &Path, variants: usize) -> Result<Vec<SlowPolls>> {
    const SITE: &str = "connection";
    let mut of = vec![SlowPolls::default(); variants];
    let mut compared = std::collections::BTreeMap::new();
    for row in table::<SliceRow>(&run.join(SLICES))? {
        if row.pass == Pass::Compare && row.variant < variants {
            of[row.variant].requests += row.requests;
            of[row.variant].measured_ms += row.duration_ms;
            compared.insert(row.slice, row.variant);
        }
    }
    for row in table::<SiteRow>(&run.join(SITES))? {
        if let (SITE, Some(&variant)) = (&*row.site, compared.get(&row.slice)) {
            of[variant].polls += row.polls;
        }
    }
    for row in table::<BandRow>(&run.join(BANDS))? {
        if let (SITE, Some(&variant)) = (&*row.site, compared.get(&row.slice))
            && row.from_ns >= SLOW_NS
        {
            of[variant].slow += row.polls;
            of[variant].slow_ns += row.ns;
        }
    }
    Ok(of)
}

fn table<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let read = || {
        csv::Reader::from_path(path)?
            .into_deserialize()
            .collect::<csv::Result<_>>()
    };
    read().with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_in_detail_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            (
                SLICES,
                "slice,pass,block,variant,duration_ms,requests\n1,compare,1,0,250,10\n2,compare,1,1,250,20\n3,children,1,0,250,30\n4,compare,2,0,250.5,1\n",
            ),
            (
                SITES,
                "slice,site,polls\n1,connection,100\n1,task,9\n2,connection,200\n3,connection,300\n4,connection,1\n",
            ),
            (
                BANDS,
                "slice,site,from_ns,iterations,polls,ns\n1,connection,25000,1,5,1\n1,connection,50000,1,3,180000\n1,connection,100000,2,1,120000\n2,task,50000,1,7,1\n3,connection,50000,1,9,1\n",
            ),
        ] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let baseline = SlowPolls {
            slow: 4,
            polls: 101,
            requests: 11,
            slow_ns: 300_000,
            measured_ms: 500.5,
        };
        let other = SlowPolls {
            slow: 0,
            polls: 200,
            requests: 20,
            slow_ns: 0,
            measured_ms: 250.0,
        };
        assert_eq!(read(dir.path(), 2).unwrap(), [baseline, other]);
    }
}
