//! `--bundle`: what it refuses, and what its archive does in a root that has nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use nix::unistd::geteuid;
use program::tool;

use crate::bench::{
    self, Bench, MARK, analysis, can_run, holds, json, lacks_nothing, pid, signal, succeeds, text,
    words,
};

const FOLDER: &str = "poll-latency-bundle";

#[test]
fn what_cannot_be_bundled_is_refused() {
    let bench = Bench::new();
    let there = bench.dir.path().join("there.tar.xz");
    fs::write(&there, "").unwrap();
    bench.refuses(
        || bench.command(&["sweep"]),
        "
--bundle server.tar.gz => --bundle server.tar.gz: an unknown format (accepted: a name that ends in .tar.xz)
--bundle /nowhere/server.tar.xz => --bundle /nowhere/server.tar.xz: No such file or directory
--bundle server.tar.xz --peers 2 => '--bundle <FILE.tar.xz>' cannot be used with
--bundle server.tar.xz --search => '--bundle <FILE.tar.xz>' cannot be used with
--bundle server.tar.xz --resume results/x => '--bundle <FILE.tar.xz>' cannot be used with
",
    );
    let mut command = bench.command(&["sweep", "--bundle"]);
    let complaint = bench::complaint(&command.arg(&there).output().unwrap());
    holds(&complaint, &["it exists already (choose another name)"]);
    assert_eq!(fs::read(there).unwrap(), b"");
}

/// A root with an unpacked bundle, and the command by which its README starts it without a shell.
struct EmptyRoot {
    dir: PathBuf,
    command: Vec<String>,
}

impl EmptyRoot {
    fn unpack(file: &Path, dir: PathBuf) -> EmptyRoot {
        for folder in ["proc", "sys", "dev"] {
            fs::create_dir_all(dir.join(folder)).unwrap();
        }
        run(Command::new(tool("tar"))
            .arg("-xJf")
            .args([file, Path::new("-C"), &dir]));
        let readme = fs::read_to_string(dir.join(FOLDER).join("README")).unwrap();
        let command = readme
            .lines()
            .find_map(|line| line.split_once("no shell: "));
        let (_, command) = command.expect("README has the command");
        EmptyRoot {
            dir,
            command: words(command).into_iter().map(str::to_owned).collect(),
        }
    }

    /// Runs the bundle in namespaces without a network, with this folder as their root.
    fn start(&self, bench: &Bench, arguments: &str) -> Command {
        const ENTER: &str = "mount --bind \"$0\" \"$0\" || exit; \
            for name in proc sys dev; do mount --rbind /$name \"$0/$name\" || exit; done; \
            exec env -i \"$@\"";
        let mut command = bench::with_default_signals();
        command.args(["unshare", "--mount", "--net"]);
        if !geteuid().is_root() {
            command.arg("--map-root-user");
        }
        command.args(["sh", "-c", ENTER]).arg(&self.dir);
        command.arg(format!("{MARK}={}", bench.mark)).arg("PATH=/");
        command.arg(tool("unshare")).arg("--root").arg(&self.dir);
        command.arg(format!("--wd=/{FOLDER}"));
        command.args(&self.command).args(words(arguments));
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

fn run(command: &mut Command) -> String {
    text(&succeeds(command).stdout)
}

#[test]
fn a_bundle_measures_in_a_root_that_has_nothing_else() {
    let needed = ["ip", "tc", "iptables", "xz", "unshare"].into_iter();
    if !lacks_nothing(needed.filter(|name| !tool(name).is_file())) || !can_run(false) {
        return;
    }
    let bench = Bench::new();
    analysis();
    let file = bench.dir.path().join("server.tar.xz");
    let advice = run(bench.command(&["sweep", "--bundle"]).arg(&file));
    let next = format!("tar -xJf server.tar.xz && {FOLDER}/run.sh");
    assert!(advice.contains(&next), "{advice}");
    let root = EmptyRoot::unpack(&file, bench.dir.path().join("root"));
    let folder = root.dir.join(FOLDER);

    let measuring = root.start(&bench, "").spawn().unwrap();
    bench.wait_for("central", 0);
    signal(pid(&measuring), Signal::SIGTERM);
    let interrupted = bench::finish(measuring);
    let code = interrupted.status.code();
    assert_eq!(code, Some(130), "{}", text(&interrupted.stderr));
    bench.assert_nothing_left();

    let output = bench::finish(root.start(&bench, "--time 25s").spawn().unwrap());
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix("Send back the file "));
    let (sent, _) = line.expect(&said).split_once(',').unwrap();
    let mut tar = Command::new(tool("tar"));
    let list = run(tar.arg("-tzf").arg(folder.join(sent)));
    let date = &sent["send-back-".len()..sent.len() - ".tgz".len()];
    for workers in [1, 4] {
        let name = format!("{date}-workers-{workers}");
        for part in ["comment.md", "judged.tar.xz"] {
            assert!(list.contains(&format!("{name}/{part}\n")), "{list}");
        }
        let swept = folder.join("results").join(name);
        assert!(swept.join("report/report.md").is_file());
        let config = &json(&swept.join("manifest.json"))["config"];
        assert_eq!(config["runtime"]["workers"], workers);
        let variants = config["variants"].as_array().unwrap().iter();
        let labels: Vec<&str> = variants.map(|one| one["label"].as_str().unwrap()).collect();
        assert!(
            labels.contains(&"flush=32KiB,muxer=1/deferred@both"),
            "{labels:?}"
        );
    }
    bench.assert_nothing_left();
}
