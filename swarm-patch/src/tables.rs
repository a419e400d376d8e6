//! The tables that the command prints.

use anyhow::Result;
use run_format::SiteLevel;

use crate::crate_dir::CrateDir;
use crate::graft::graft;
use crate::insertion::Insertion;
use crate::sites::SiteLevels;

/// The levels of every site, with the reasons for missing ones.
pub fn levels_table(crates: &[(String, Vec<SiteLevels>)]) -> String {
    let mut rows = vec![["CRATE", "SITE", "LEVEL", "RECORDED"].map(str::to_owned)];
    for (id, sites) in crates {
        for site in sites {
            rows.extend(site.records().map(|record| {
                let level = match record.level {
                    SiteLevel::Outer => "outer",
                    SiteLevel::Inner => "inner",
                    SiteLevel::Budget => "budget",
                    SiteLevel::Counts => "counts",
                    SiteLevel::Remedies => "remedies",
                };
                let reason = record
                    .not_there
                    .map(|reason| format!("not there: {reason}"));
                let recorded = reason.unwrap_or_else(|| "measured".to_owned());
                [&**id, site.spec.name, level, &*recorded].map(str::to_owned)
            }));
        }
    }
    aligned(&rows)
}

/// The levels of every site, and everything that is inserted for it.
pub fn sites_table(sources: &[CrateDir]) -> Result<String> {
    let mut levels = Vec::new();
    let mut rows: Vec<[String; 6]> =
        vec![["CRATE", "FILE", "LINE", "SITE", "MARK", "CHILD"].map(str::to_owned)];
    for source in sources {
        let grafted = graft(source)?;
        for file in &grafted.files {
            let line = |insertion: &Insertion| insertion.line(&file.original);
            let mut insertions: Vec<_> = file.insertions.iter().collect();
            insertions.sort_by_key(|(_, insertion)| line(insertion));
            for (spec, insertion) in insertions {
                rows.push([
                    source.id(),
                    file.path.clone(),
                    line(insertion).to_string(),
                    spec.name.to_owned(),
                    insertion.mark.to_string(),
                    insertion.child.clone().unwrap_or_else(|| "-".to_owned()),
                ]);
            }
        }
        levels.push((source.id(), grafted.sites));
    }
    Ok(format!("{}\n{}", levels_table(&levels), aligned(&rows)))
}

fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    });
    let line = |row: &[String; COLUMNS]| {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}  "));
        format!("{}\n", cells.collect::<String>().trim_end())
    };
    rows.iter().map(line).collect()
}
