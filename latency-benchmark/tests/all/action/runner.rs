//! What GitHub's runner has around a step.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::github::GitHub;
use crate::bench::text;
use tempfile::TempDir;

/// Does what `./sweep.sh` does to its folders, and says with which arguments it was called.
const SWEEP: &str = r#"#!/bin/bash
here="$(dirname "$0")"
echo "$*" >>"$here/calls"
lane=paired
while [ $# -gt 0 ]; do
    case "$1" in
    --gate) lane=gate ;;
    --out) out="$2" ;;
    --name) name="$2" ;;
    esac
    shift
done
echo "error: what $lane says"
code="$(cat "$here/$lane.code")"
[ "$code" = 2 ] || mkdir -p "$out/$name"
[ ! -f "$here/$lane.md" ] || cp "$here/$lane.md" "$out/$name/gate.md"
exit "$code"
"#;
const ANALYSIS: &str =
    "#!/bin/bash\n[ \"$1\" = verdict ] && cat \"$(dirname \"$0\")/verdict.md\"\n";
pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("action")
}

/// A runner whose action is a copy of ours, beside stubs.
pub(super) struct Runner(pub(super) TempDir);

impl Runner {
    pub(super) fn new() -> Runner {
        let runner = Runner(tempfile::tempdir().unwrap());
        for script in ["prepare", "measure", "comment"] {
            let at = format!("latency-benchmark/action/{script}");
            runner.program(&at, &fs::read_to_string(folder().join(script)).unwrap());
        }
        for (name, content) in [
            ("Cargo.lock", ""),
            ("outputs", ""),
            ("summary", ""),
            ("gate.code", "0"),
            ("paired.code", "0"),
        ] {
            runner.write(name, content);
        }
        runner.write(
            "gate.md",
            "**No count changed**, in 72 cells.\n\n- base: a\n",
        );
        runner.write("event", r#"{"pull_request": {"number": 7}}"#);
        runner.program("sweep.sh", SWEEP);
        runner.program("target/tools/analysis", ANALYSIS);
        runner.verdict("unknown");
        for stub in ["apt-get", "sudo", "sysctl"] {
            runner.program(&format!("bin/{stub}"), "#!/bin/bash\necho 0\n");
        }
        fs::create_dir(runner.path("workspace")).unwrap();
        runner
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn program(&self, name: &str, content: &str) {
        self.write(name, content);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What the report of the paired run answers.
    pub(super) fn verdict(&self, answer: &str) {
        let line = format!("{answer}: `b` compared with `a` over 2 cells\n");
        self.write(
            "target/tools/verdict.md",
            &(line + "\n| quantity | noise |\n"),
        );
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The outputs of all steps.
    pub(super) fn outputs(&self) -> BTreeMap<String, String> {
        let outputs = self.read("outputs");
        let outputs = outputs.lines().filter_map(|line| line.split_once('='));
        outputs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    pub(super) fn step(&self, script: &str, variables: &[(&str, &str)]) -> Output {
        let path = format!(
            "{}:{}",
            self.path("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let mut command = Command::new(self.path("latency-benchmark/action").join(script));
        command
            .env("PATH", path)
            .env("GITHUB_WORKSPACE", self.path("workspace"))
            .env("GITHUB_OUTPUT", self.path("outputs"))
            .env("GITHUB_STEP_SUMMARY", self.path("summary"))
            .env("GITHUB_EVENT_PATH", self.path("event"))
            .env("GITHUB_REPOSITORY", "owner/name")
            .env("RUNNER_TEMP", self.0.path());
        for name in [
            "BASE",
            "HEAD",
            "LOCK_FILE",
            "GATE_ARGUMENTS",
            "PAIRED_ARGUMENTS",
        ] {
            command.env(name, "");
        }
        command.envs(variables.iter().copied()).output().unwrap()
    }

    /// Runs both lanes, and returns the comment.
    pub(super) fn measure(&self) -> String {
        let variables = [
            ("BASE", "/home/a"),
            ("HEAD", "b"),
            ("GATE_ARGUMENTS", "--allow polls=1"),
            ("PAIRED_ARGUMENTS", "--rtt 0"),
        ];
        let ended = self.step("measure", &variables);
        assert!(ended.status.success(), "{}", text(&ended.stderr));
        let outputs = self.outputs();
        let comment = Path::new(&outputs["results"]).join("comment.md");
        let comment = fs::read_to_string(comment).unwrap();
        assert_eq!(self.read("summary"), comment);
        self.write("summary", "");
        comment
    }

    pub(super) fn comment(&self, server: &GitHub, files: &str) -> String {
        let results = self.outputs()["results"].clone();
        let variables = [
            ("GITHUB_API_URL", &*server.url),
            ("GITHUB_TOKEN", "secret"),
            ("NAME", "poll-latency"),
            ("RESULTS", &results),
            ("FILES_URL", files),
        ];
        let ended = self.step("comment", &variables);
        assert!(ended.status.success(), "{}", text(&ended.stderr));
        text(&ended.stdout)
    }
}
