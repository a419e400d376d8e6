//! Notes how the node is compiled: the compiler and its flags, the pristine crates, and the lines inserted into
//! them.

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
        diff += &unified(source, &graft(source)?.files, Layout::Registry);
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
    let features = ["quic", "tls", "gossipsub", "async-trait"]
        .into_iter()
        .filter(|name| {
            let variable = name.to_uppercase().replace('-', "_");
            env::var_os(format!("CARGO_FEATURE_{variable}")).is_some()
        });
    let variable = |name| env::var(name).unwrap_or_default();
    for (name, value) in [
        ("RUSTC", String::from_utf8(rustc.stdout)?.trim().to_owned()),
        ("PROFILE", variable("PROFILE")),
        ("OPT_LEVEL", variable("OPT_LEVEL")),
        (
            "RUSTFLAGS",
            variable("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " "),
        ),
        ("TARGET_FEATURES", variable("CARGO_CFG_TARGET_FEATURE")),
        ("FEATURES", features.collect::<Vec<_>>().join(" ")),
    ] {
        println!("cargo::rustc-env=NODE_{name}={value}");
    }
    Ok(())
}
