//! The links to peers on other hosts, before a sweep has a folder.

use std::path::Path;

use anyhow::{Context, Error, Result};
use program::{Failure, bad_input};
use run_format::{
    config::RunConfig,
    network::{LinkRtt, Rtt},
};

use super::peers::Peers;
use crate::cell_task::CellTask;

/// Starts the peers of a run, and times the links to them. The longest round trip is that of the cells, by which the
/// lengths of turns are planned.
pub(crate) fn round_trip(config: &RunConfig, peer: &Path) -> Result<Rtt, Failure> {
    let dir = tempfile::tempdir().context("cannot make a temporary folder")?;
    let peer = peer.canonicalize()?;
    let task = CellTask {
        config: config.clone(),
        central: peer.clone(),
        peer,
        dir: dir.path().to_owned(),
    };
    let time = || -> Result<Rtt> {
        let report = Peers::start(None, &task)?.time_links()?;
        let least = report.links.iter().filter_map(LinkRtt::min_ms);
        // To a whole µs, and never as if there were no link.
        let longest_us = (1e3 * least.fold(1e-3, f64::max)).round();
        Rtt::from_ms(longest_us / 1e3).map_err(Error::msg)
    };
    time().context("--peer-hosts").map_err(bad_input)
}
