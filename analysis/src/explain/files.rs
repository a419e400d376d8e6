//! Makes the files about explained cells: flamegraphs, traces and tables.

use anyhow::Result;

use super::flamegraph::flamegraphs;
use super::{Explanation, findings, worst};

pub(crate) const FOLDER: &str = "explain";

pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

pub(crate) fn files(explanation: &Explanation) -> Result<Vec<File>> {
    let mut files = vec![File {
        name: format!("{FOLDER}/findings.csv"),
        content: findings::csv(&explanation.findings)?,
    }];
    for cell in &explanation.cells {
        let mut add = |what: &str, content: Vec<u8>| {
            let name = format!("{FOLDER}/{}.{what}", cell.id());
            files.push(File { name, content });
        };
        for flamegraph in flamegraphs(explanation, cell) {
            add(&flamegraph.name, flamegraph.svg()?);
        }
        let launches = cell.launches.iter();
        let worst: Vec<_> = launches
            .flat_map(|(subject, evidence)| worst::polls(evidence, *subject))
            .collect();
        if !worst.is_empty() {
            add("trace.json", worst::trace(cell.id(), &worst, explanation)?);
            add("worst.csv", worst::csv(&worst, explanation)?);
        }
    }
    Ok(files)
}
