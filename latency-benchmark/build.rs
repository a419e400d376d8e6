//! Notes what was built: the compiler, the pristine crates, and the lines inserted into them.

use std::{env, error::Error, fs, path::PathBuf, process::Command};

use swarm_patch::{
    diff::{Layout, unified},
    graft::graft,
    package::upstream_manifest,
    pristine,
    sites::PACKAGES,
};

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let manifest = upstream_manifest();
    println!(
        "cargo::rerun-if-changed={}",
        manifest.with_file_name("Cargo.lock").display()
    );
    let sources = pristine::find(&manifest, &PACKAGES)?;
    let mut diff = String::new();
    let mut upstream = Vec::new();
    for source in &sources {
        diff += &unified(source, &graft(source)?, Layout::Registry);
        let checksum = source.checksum.as_deref().unwrap_or_default();
        upstream.push(format!(
            r#"{{"name":{:?},"version":{:?},"sha256":{checksum:?}}}"#,
            source.name, source.version
        ));
    }
    fs::write(out.join("edits.diff"), diff)?;
    fs::write(
        out.join("upstream.json"),
        format!("[{}]", upstream.join(",")),
    )?;

    let rustc = Command::new(env::var("RUSTC")?).arg("--version").output()?;
    let rustc = String::from_utf8(rustc.stdout)?;
    println!("cargo::rustc-env=BENCHMARK_RUSTC={}", rustc.trim());
    if let Some(commit) = commit() {
        println!("cargo::rustc-env=BENCHMARK_COMMIT={commit}");
    }
    Ok(())
}

/// Of this checkout; none for an archive without git. Says `-dirty` as of the last build of any of the
/// files named, which are those whose change builds this program anew.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    for watched in ["build.rs", "src", "lab", "../swarm-patch", "../Cargo.lock"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&[
        "describe",
        "--always",
        "--dirty",
        "--abbrev=40",
        "--exclude=*",
    ])
}
