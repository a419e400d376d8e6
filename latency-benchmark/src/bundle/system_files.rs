//! The programs and libraries of this system that a bundle carries along, and the packages that they are from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use program::{ChildLimits, find_in, system_tool_or_usr_bin, tool_folders};

pub(super) struct SystemFiles {
    /// The place of the dynamic loader in the archive. It is where programs look for it.
    pub(super) loader: String,
    /// The files by their places in the archive, the loader included.
    pub(super) files: BTreeMap<String, PathBuf>,
}

impl SystemFiles {
    /// Finds the programs that a lab needs, and the libraries of these and of the programs in `own`.
    pub(super) fn find(own: &[PathBuf]) -> Result<SystemFiles> {
        // `sh` is for a server without a shell, on which it starts `run.sh`.
        const TOOLS: [&str; 4] = ["ip", "tc", "iptables", "sh"];
        let mut found = SystemFiles {
            loader: String::new(),
            files: BTreeMap::new(),
        };
        for name in TOOLS {
            let path = find_in(tool_folders(), name).with_context(|| {
                format!("--bundle: `{name}` was not found (install it: `apt-get install -y iproute2 iptables`)")
            })?;
            found.add_libraries(&path)?;
            found.files.insert(format!("bin/{name}"), path);
        }
        for program in own {
            found.add_libraries(program)?;
        }
        ensure!(
            !found.loader.is_empty(),
            "--bundle: ldd names no dynamic loader"
        );
        found.add_plugin()?;
        Ok(found)
    }

    fn add_libraries(&mut self, program: &Path) -> Result<()> {
        let shown = program.display();
        let listed = said(Command::new(system_tool_or_usr_bin("ldd")).arg(program));
        for line in listed.lines() {
            ensure!(
                !line.contains("not found"),
                "--bundle: {shown} lacks a library: {}",
                line.trim()
            );
            // A line is `libc.so.6 => /lib/libc.so.6 (0x7f)`. The loader has only a path. What has no path is in the kernel.
            let Some(path) = line.split_whitespace().find(|word| word.starts_with('/')) else {
                continue;
            };
            let place = match line.contains("=>") {
                true => in_lib(Path::new(path)),
                false => path.trim_start_matches('/').to_owned(),
            };
            if !line.contains("=>") {
                self.loader.clone_from(&place);
            }
            self.files.insert(place, path.into());
        }
        Ok(())
    }

    /// iptables loads the library of a target, such as NFQUEUE, by itself, from a folder beside its other libraries.
    fn add_plugin(&mut self) -> Result<()> {
        const PLUGIN: &str = "xtables/libxt_NFQUEUE.so";
        let mut libraries = self.files.iter();
        let xtables = libraries.find(|(place, _)| place.starts_with("lib/libxtables.so"));
        let (_, path) = xtables.context("--bundle: iptables does not use libxtables")?;
        let plugin = path.with_file_name(PLUGIN);
        self.files.insert(in_lib(&plugin), plugin);
        Ok(())
    }

    /// A text that names the package and the version of every file, and the files with their licences, by package.
    pub(super) fn packages(&self) -> (String, BTreeMap<String, PathBuf>) {
        let owners = owners(self.files.values());
        let mut text = String::new();
        let mut licences = BTreeMap::new();
        for (place, path) in &self.files {
            let owner = names(path).iter().find_map(|name| owners.get(name));
            let (package, version) = owner.cloned().unwrap_or_default();
            text += &format!("{place}\t{package} {version}\t{}\n", path.display());
            let licence = Path::new("/usr/share/doc").join(&package).join("copyright");
            if licence.is_file() {
                licences.insert(package, licence);
            }
        }
        (text, licences)
    }
}

/// The package of each file that dpkg knows, with its version.
fn owners<'a>(files: impl Iterator<Item = &'a PathBuf>) -> BTreeMap<PathBuf, (String, String)> {
    let dpkg = || Command::new(system_tool_or_usr_bin("dpkg-query"));
    let packages = said(dpkg().args(["--show", "--showformat", "${binary:Package} ${Version}\n"]));
    let versions = packages.lines().filter_map(|line| line.split_once(' '));
    let versions: BTreeMap<&str, &str> = versions.collect();
    let paths = files.flat_map(|path| names(path));
    let found = said(dpkg().arg("--search").args(paths));
    // A line is `libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6`.
    let owned = found.lines().filter_map(|line| line.split_once(": "));
    let owner = |(package, path): (&str, &str)| {
        let (name, _) = package.split_once(':').unwrap_or((package, ""));
        let version = versions.get(package)?;
        Some((path.into(), (name.to_owned(), (*version).to_owned())))
    };
    owned.filter_map(owner).collect()
}

/// The paths under which dpkg may know a file. It keeps those from before `/lib` became a link to `/usr/lib`.
fn names(path: &Path) -> Vec<PathBuf> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let rest = real.strip_prefix("/usr").ok();
    let older = rest.map(|rest| Path::new("/").join(rest));
    let all = [Some(path.to_owned()), Some(real.clone()), older].into_iter();
    all.flatten().collect()
}

/// Returns what a program prints, even if it fails: dpkg-query fails if it does not know one of several files. Empty if the
/// program is not installed.
fn said(command: &mut Command) -> String {
    let output = ChildLimits::SHORT_ANSWER.output(command);
    let text = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

fn in_lib(library: &Path) -> String {
    format!("lib/{}", library.file_name().unwrap_or_default().display())
}
