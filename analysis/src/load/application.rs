//! Reads the folder of an application that compared budgets in itself. Its peers, network and payload are not known.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use run_format::{
    ApplicationFile, ApplicationOutcome, ApplicationRun, Axes, Cell, Manifest, NetworkReport,
    Precision, RunOutcome, RunRow, Site, SiteRow, Stage, Stop, VariantConfig, files, plan,
};
use serde_json::json;

use super::run::RunFiles;
use super::{outside, rows};

#[derive(Clone, Debug)]
pub(crate) struct Application {
    pub(crate) file: ApplicationFile,
    /// None if it was killed.
    pub(crate) run: Option<ApplicationRun>,
    /// The sites that were polled.
    pub(crate) sites: Vec<Site>,
}

/// Opens the folder. Returns also the manifest that a sweep would have, and the run if anything was measured.
pub(super) fn open(dir: &Path) -> Result<(Application, Manifest, Option<RunFiles>)> {
    let path = dir.join(files::APPLICATION);
    let file: ApplicationFile = outside::read(&path)?;
    for VariantConfig { label, budgets, .. } in &file.variants {
        let is_name = label.trim_end_matches(" (A/A)") == budgets.to_string();
        let path = path.display();
        ensure!(
            is_name,
            "{path}: {label} is not the name of a variant with budget {budgets}"
        );
    }
    let manifest = manifest(&file).with_context(|| path.display().to_string())?;
    let cell = dir.join(files::CELLS).join(Cell::default().id());
    let name = files::run_folder(1, None);
    let (whole, partial) = (cell.join(&name), cell.join(name + ".partial"));
    let (dir_of_run, run) = match whole.is_dir() {
        true => {
            let run: ApplicationRun = outside::read(&whole.join(files::RUN))?;
            (whole, Some(run))
        }
        false => (partial, None),
    };
    let mut sites = Vec::new();
    if dir_of_run.join(files::SITES).is_file() {
        let rows: Vec<SiteRow> = rows::read(&dir_of_run, run.is_none())?;
        sites = Vec::from(Site::ALL);
        sites.retain(|site| rows.iter().any(|row| row.site == *site && row.polls > 0));
    }
    let row = run.as_ref().map(|run| row(run, &manifest));
    let has_run = row.is_some() || dir_of_run.join(files::SLICES).is_file();
    let files = has_run.then_some(RunFiles {
        dir: dir_of_run,
        subject: 0,
        number: 1,
        row,
        is_application: true,
    });
    Ok((Application { file, run, sites }, manifest, files))
}

/// The manifest of a sweep with one cell. What an application does not record is invented here, and no report shows it.
fn manifest(file: &ApplicationFile) -> Result<Manifest> {
    let config = json!({
        // Invented: the peers, network and payload of an application are not known.
        "axes": Axes::of_cells([Cell::default()].iter()),
        "variants": file.variants,
        // Invented: the application is no node.
        "node": {"workload": "idle", "security": "plaintext", "transport": "tcp"},
        // Invented: the application sets its own pace.
        "pace": {"outstanding": 1},
        "runtime": file.runtime,
        // Invented: there is no lab.
        "lab": {
            "backend": "auto", "congestion_control": "", "receive_on": "sender",
            "placement": {"central": 0, "peers": "0", "sharing": "nothing"},
        },
        // An application is launched once.
        "repeat": 1,
        "turn_ms": file.turn_ms,
        "settle_ms": file.settle_ms,
        "max_cell_ms": file.limit_ms,
        // Invented: nothing is scaled or ends early.
        "time_scale": 1.0,
        "precision": Precision::EXACT,
        "seed": file.seed,
        "measurement": "compare",
    });
    // Invented but for the version: the application's build is not known.
    let tool = json!({"version": file.version, "profile": "", "rustc": "", "upstream": []});
    Ok(Manifest {
        schema: file.schema,
        command: Vec::new(),
        created_unix_s: file.created_unix_s,
        config: serde_json::from_value(config)?,
        tool: serde_json::from_value(tool)?,
        machine: file.machine.clone(),
    })
}

fn row(run: &ApplicationRun, manifest: &Manifest) -> RunRow {
    let config = &manifest.config;
    RunRow {
        schema: run.schema,
        cell: Cell::default().id(),
        config: plan::run::launch_config(config, Cell::default(), 1, None, config.seed),
        outcome: match &run.outcome {
            ApplicationOutcome::Failed { reason } => RunOutcome::Failed {
                stage: Stage::Recording,
                reason: reason.clone(),
            },
            _ => RunOutcome::Ok { stop: Stop::Cap },
        },
        network: NetworkReport::default(),
        beside: None,
        machine: Some(manifest.machine.clone()),
        started_unix_s: run.started_unix_s,
        took_ms: run.took_ms,
        overhead_ms: None,
        stages: Vec::new(),
        probe_ns: None,
        blocks: Some(run.blocks),
        messages: Vec::new(),
        outstanding: None,
        stall: None,
        files: Some(run.files.clone()),
    }
}
