//! Packs the data behind the judged figures of a sweep into one file that fits into a repository. The file has the tables
//! without the rows of other sites, and the histograms that judged quantities need. Unpacked, it is read like the sweep.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lzma_rust2::{XzOptions, XzReader, XzWriter};
use program::{Failure, bad_input, print_line};
use run_format::counts::inflated;
use run_format::files::{self, HISTOGRAMS, MANIFEST, RUN};
use run_format::{BASELINE, HistogramOf, HistogramTag, Manifest, Pass, Site};
use serde_json::Value;
use tempfile::TempDir;

use crate::load::{CellRuns, Sweep};
use crate::new_folder;
use crate::site::SiteNames;

pub(crate) const FILE: &str = "judged.tar.xz";

/// Packs a sweep into the folder of a report.
pub(crate) fn pack(run: &Path, into: &Path) -> Result<(), Failure> {
    new_folder::refuse_inside(into, [run])?;
    let sweep = Sweep::open(run)?;
    let Manifest { tool, config, .. } = &sweep.manifest;
    let site = SiteNames::recorded(tool, &config.node).connection_site();
    let mut packed = BTreeMap::from([(MANIFEST.into(), files::read(&run.join(MANIFEST))?)]);
    for launch in sweep.cells.iter().flat_map(CellRuns::all) {
        let dir = &launch.dir;
        let entries = fs::read_dir(dir).with_context(|| dir.display().to_string())?;
        for entry in entries {
            let path = entry.with_context(|| dir.display().to_string())?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let shorten = match &*name {
                RUN => without_sums,
                HISTOGRAMS => judged_histograms,
                name if name.ends_with(".csv") => rows_of_site,
                _ => continue,
            };
            let content = files::read(&path)
                .and_then(|content| shorten(&content, site))
                .with_context(|| path.display().to_string())?;
            let path_in_run = path.strip_prefix(run).unwrap_or(&path).to_owned();
            packed.insert(path_in_run, content);
        }
    }
    let out = into.join(FILE);
    write(&out, packed).with_context(|| out.display().to_string())?;
    print_line(out.display());
    Ok(())
}

/// Writes the archive. Files of the same name are beside each other, which compresses best.
fn write(out: &Path, packed: BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    let mut archive = tar::Builder::new(XzWriter::new(
        File::create(out)?,
        XzOptions::with_preset(6),
    )?);
    let mut packed = Vec::from_iter(packed);
    packed.sort_by_key(|(path_in_run, _)| path_in_run.file_name().map(ToOwned::to_owned));
    for (path_in_run, content) in packed {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path_in_run, &content[..])?;
    }
    archive.into_inner()?.finish()?.sync_all()?;
    Ok(())
}

/// Unpacks the sweep into a temporary folder.
pub(crate) fn unpack(file: &Path) -> Result<TempDir, Failure> {
    let dir = tempfile::tempdir().context("cannot make a temporary folder")?;
    let packed = File::open(file).map_err(anyhow::Error::from);
    let unpacked = packed.and_then(|packed| {
        let mut archive = tar::Archive::new(XzReader::new(packed, false));
        Ok(archive.unpack(dir.path())?)
    });
    unpacked
        .with_context(|| file.display().to_string())
        .map_err(bad_input)?;
    Ok(dir)
}

/// The row of a run without checksums, which are those of the whole files.
fn without_sums(row: &[u8], _: Site) -> Result<Vec<u8>> {
    let mut row: Value = serde_json::from_slice(row)?;
    if let Some(fields) = row.as_object_mut() {
        fields.remove("files");
    }
    Ok(serde_json::to_vec_pretty(&row)?)
}

/// The rows of a table that are about a site. A table without a column `site` stays whole.
fn rows_of_site(table: &[u8], site: Site) -> Result<Vec<u8>> {
    let mut reader = csv::Reader::from_reader(table);
    let header = reader.byte_headers()?.clone();
    let Some(column) = header.iter().position(|name| name == b"site") else {
        return Ok(table.to_vec());
    };
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_byte_record(&header)?;
    for record in reader.byte_records() {
        let row = record?;
        if row.get(column) == Some(site.name().as_bytes()) {
            writer.write_byte_record(&row)?;
        }
    }
    Ok(writer.into_inner()?)
}

/// The histograms of a log that judged figures need. Each is uncompressed, because the archive compresses them better
/// together.
fn judged_histograms(log: &[u8], site: Site) -> Result<Vec<u8>> {
    let mut kept = String::new();
    for line in str::from_utf8(log)?.lines() {
        let Some((tag, rest)) = line
            .strip_prefix("Tag=")
            .and_then(|line| line.split_once(','))
        else {
            kept += &format!("{line}\n");
            continue;
        };
        let parsed: HistogramTag = tag.parse().map_err(|wrong: String| anyhow!(wrong))?;
        let (times, encoded) = rest.rsplit_once(',').context("a line is torn")?;
        if is_judged(parsed, site) {
            let plain = STANDARD.encode(inflated(encoded)?);
            kept += &format!("Tag={tag},{times},{plain}\n");
        }
    }
    Ok(kept.into_bytes())
}

fn is_judged(tag: HistogramTag, site: Site) -> bool {
    let is_judged_kind = match tag.of {
        HistogramOf::Polls(polled) => polled == site,
        HistogramOf::LongestIteration(polled) => polled == site && tag.variant == BASELINE,
        HistogramOf::Latency | HistogramOf::LastDelivery | HistogramOf::CotenantWake => true,
        _ => false,
    };
    is_judged_kind && tag.pass == Pass::Compare
}
