//! The verb `merge`. It makes one sweep of shards, of the same sweep on several hosts, or of both.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use program::{Failure, bad_input, eprint_line, print_line, reject};
use run_format::files::{
    self, CELLS, EDITS, MANIFEST, SUBJECTS, read_versioned, run_folder, write_json,
};
use run_format::{LabConfig, Machine, Manifest, RunRow, Shard, SweepConfig};

use crate::load::{RunFiles, Sweep};
use crate::new_folder;
use crate::summary::tool_words;
use crate::text::count;

/// A folder to merge.
struct Part {
    sweep: Sweep,
    /// The manifest as it was written. That of `sweep` has other letters where text could be markup.
    manifest: Manifest,
}

pub(crate) fn run(runs: &[PathBuf], out: &Path) -> Result<(), Failure> {
    if out.exists() {
        let out = out.display();
        reject!("--out {out}: it exists already, and results are never overwritten");
    }
    new_folder::refuse_inside(out, runs.iter().map(PathBuf::as_path))?;
    let mut sweeps: Vec<Vec<Part>> = Vec::new();
    for dir in runs {
        let part = Part {
            sweep: Sweep::open(dir)?,
            manifest: read_versioned(&dir.join(MANIFEST)).map_err(bad_input)?,
        };
        if let Some(first) = sweeps.first().and_then(|parts| parts.first()) {
            part.check_mergeable(first)?;
        }
        match sweeps
            .iter_mut()
            .find(|parts| part.is_same_sweep(&parts[0]))
        {
            Some(parts) => parts.push(part),
            None => sweeps.push(vec![part]),
        }
    }
    for parts in &sweeps {
        check_whole(parts)?;
    }
    let merged = count(merge(&sweeps, out)?, "run");
    let (out, folders) = (out.display(), count(runs.len(), "folder"));
    print_line(format!("{out}: {merged} from {folders}"));
    Ok(())
}

impl Part {
    fn name(&self) -> String {
        self.sweep.dir.display().to_string()
    }

    fn check_mergeable(&self, first: &Part) -> Result<(), Failure> {
        let [ours, theirs] = [self, first].map(|part| &part.manifest);
        // Each machine may have another order and other cores.
        let alike = SweepConfig {
            seed: theirs.config.seed,
            shard: theirs.config.shard,
            jobs: theirs.config.jobs.clone(),
            lab: LabConfig {
                placement: theirs.config.lab.placement.clone(),
                ..ours.config.lab.clone()
            },
            ..ours.config.clone()
        };
        let what = if ours.tool != theirs.tool {
            let [ours, theirs] = [&ours.tool, &theirs.tool].map(tool_words);
            format!("they are of different programs ({ours} and {theirs}, or another build)")
        } else if ours.config.axes != theirs.config.axes {
            "their grids differ".to_owned()
        } else if alike != theirs.config {
            "they have other options than each other".to_owned()
        } else {
            return Ok(());
        };
        let (this, first) = (self.name(), first.name());
        reject!("{this} and {first} cannot be merged: {what}")
    }

    /// Whether both are shards of the same sweep. Two copies of one run are, too, and `check_whole` refuses them.
    fn is_same_sweep(&self, other: &Part) -> bool {
        let sweep = |part: &Part| {
            let config = &part.manifest.config;
            Some((config.seed, config.shard?.of))
        };
        self.manifest == other.manifest || (sweep(self).is_some() && sweep(self) == sweep(other))
    }

    fn shard(&self) -> Shard {
        let whole = Shard { index: 1, of: 1 };
        self.manifest.config.shard.unwrap_or(whole)
    }

    /// Copies all launches that ended. Their numbers go on after `before`. Returns how many there are.
    fn copy(&self, before: u32, to: &Path) -> Result<usize> {
        let has_subjects = !self.manifest.config.subjects.is_empty();
        let mut launches = 0;
        let mut unmeasured = 0;
        for cell in &self.sweep.cells {
            unmeasured += usize::from(cell.runs.iter().all(|run| run.row.is_none()));
            let together = cell.runs.iter().map(|run| (run, false));
            let all = together.chain(cell.alone.iter().map(|run| (run, true)));
            for (run, is_alone) in all.filter(|(run, _)| run.row.is_some()) {
                let number = before + run.number;
                let mut name = run_folder(number, has_subjects.then_some(run.subject));
                if is_alone {
                    name = files::alone_folder(&name);
                }
                let to = to.join(CELLS).join(cell.cell.id()).join(name);
                copy_launch(run, number, &self.manifest.machine, &to)?;
                launches += 1;
            }
        }
        if unmeasured > 0 {
            let (dir, cells) = (self.name(), count(unmeasured, "cell"));
            eprint_line(format!("warning: {dir}: not measured: {cells}"));
        }
        Ok(launches)
    }
}

fn check_whole(parts: &[Part]) -> Result<(), Failure> {
    for Shard { index, of } in parts[0].shard().all() {
        let same_index = parts.iter().filter(|part| part.shard().index == index);
        let found: Vec<String> = same_index.map(Part::name).collect();
        match &found[..] {
            [_] => {}
            [] => {
                let like = parts[0].name();
                reject!("shard {index} of {of} is missing, of the sweep of {like}");
            }
            [one, other, ..] if of == 1 => reject!("a run is there twice: {one} and {other}"),
            [one, other, ..] => {
                reject!("shard {index} of {of} is there twice: {one} and {other}")
            }
        }
    }
    Ok(())
}

/// Writes the merged sweep. Its folder appears as a whole. Returns the number of launches.
fn merge(sweeps: &[Vec<Part>], out: &Path) -> Result<usize, Failure> {
    let parent = new_folder::parent(out);
    let made = fs::create_dir_all(parent).with_context(|| format!("--out {}", parent.display()));
    made.map_err(bad_input)?;
    Ok(new_folder::write(out, ".merge-", |partial| {
        let mut launches = 0;
        for (parts, before) in sweeps.iter().zip(0..) {
            for part in parts {
                launches += part.copy(before * part.manifest.config.repeat, partial)?;
            }
        }
        let first = &sweeps[0][0];
        copy(&first.sweep.dir.join(EDITS), &partial.join(EDITS))?;
        copy(&first.sweep.dir.join(SUBJECTS), &partial.join(SUBJECTS))?;
        write_json(&partial.join(MANIFEST), &manifest(sweeps))?;
        Ok(launches)
    })?)
}

fn manifest(sweeps: &[Vec<Part>]) -> Manifest {
    let mut manifest = sweeps[0][0].manifest.clone();
    manifest.config.shard = None;
    let count = u32::try_from(sweeps.len()).unwrap_or(u32::MAX);
    manifest.config.repeat *= count;
    manifest.config.far_repeat = manifest.config.far_repeat.map(|far| far * count);
    let parts = sweeps.iter().flatten();
    let begun = parts.map(|part| part.manifest.created_unix_s).min();
    manifest.created_unix_s = begun.unwrap_or_default();
    let words = &mut manifest.command;
    words.retain(|word| !word.starts_with("--shard="));
    if let Some(index) = words.iter().position(|word| word == "--shard") {
        words.drain(index..(index + 2).min(words.len()));
    }
    manifest
}

fn copy_launch(run: &RunFiles, number: u32, machine: &Machine, to: &Path) -> Result<()> {
    let mut row: RunRow = read_versioned(&run.dir.join(files::RUN))?;
    copy(&run.dir, to)?;
    row.config.run = number;
    row.machine.get_or_insert_with(|| machine.clone());
    row.rewrite(to)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let failure = || format!("cannot copy {} to {}", from.display(), to.display());
    if from.is_dir() {
        fs::create_dir_all(to).with_context(failure)?;
        for entry in fs::read_dir(from).with_context(failure)? {
            let name = entry.with_context(failure)?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
    } else if from.exists() {
        fs::copy(from, to).with_context(failure)?;
    }
    Ok(())
}
