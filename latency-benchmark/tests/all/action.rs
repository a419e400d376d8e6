//! The shell scripts of the GitHub Action, with stubs in place of `./sweep.sh`, `analysis`, `curl` and what needs root.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::bench::{lacks_nothing, text};
use program::system_tool_or_usr_bin;
use tempfile::TempDir;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/action");

/// Makes the stubs. The exit codes and the reports of the lanes are files, and so is the page of comments.
const STUBS: &str = r#"set -e
mkdir -p latency-benchmark target/tools bin
cp -r "$FOLDER" latency-benchmark
cat >sweep.sh <<'END'
here="$(dirname "$0")"
case "$*" in *--gate*) lane=counts ;; *) lane=paired ;; esac
while [ "$1" != --out ]; do shift; done
mkdir -p "$2/$lane"
[ ! -f "$here/$lane.md" ] || cp "$here/$lane.md" "$2/$lane/gate.md"
exit "$(cat "$here/$lane.code")"
END
echo 'cat paired.md' >target/tools/analysis
cat >bin/curl <<'END'
case "$*" in *page=*) exec cat page ;; esac
echo "$*" | grep -o 'POST\|PATCH\|comments/[0-9]*' >>calls
exit "$(cat curl.code)"
END
for stub in apt-get sudo sysctl; do echo 'echo 0' >"bin/$stub"; done
sed -i '1i #!/bin/bash' sweep.sh target/tools/analysis bin/*
chmod +x sweep.sh target/tools/analysis bin/*
touch outputs summary calls Cargo.lock"#;

/// A folder with the scripts, the stubs and these files.
fn runner(files: &[(&str, &str)]) -> TempDir {
    let runner = tempfile::tempdir().unwrap();
    shell(&runner, STUBS, &[("FOLDER", FOLDER)]);
    for (name, content) in files {
        fs::write(runner.path().join(name), content).unwrap();
    }
    runner
}

/// Runs a command there. Returns its exit code and what it said.
fn shell(runner: &TempDir, command: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut shell = Command::new("/bin/bash");
    shell.args(["-c", &format!("PATH=\"$PWD/bin:$PATH\"; {command}")]);
    for (name, file) in [
        ("GITHUB_WORKSPACE", ""),
        ("RUNNER_TEMP", ""),
        ("GITHUB_OUTPUT", "outputs"),
        ("GITHUB_STEP_SUMMARY", "summary"),
        ("GITHUB_EVENT_PATH", "event"),
    ] {
        shell.env(name, runner.path().join(file));
    }
    for name in "BASE HEAD LOCK_FILE GATE_ARGUMENTS PAIRED_ARGUMENTS".split(' ') {
        shell.env(name, "");
    }
    let variables = variables.iter().copied();
    let ended = shell.envs(variables).current_dir(runner.path()).output();
    let ended = ended.unwrap();
    let said = text(&[ended.stdout, ended.stderr].concat());
    (ended.status.code(), said)
}

fn read(runner: &TempDir, name: &str) -> String {
    fs::read_to_string(runner.path().join(name)).unwrap()
}

#[test]
fn shell_scripts_pass_the_linter() {
    if lacks_nothing(
        ["shellcheck"]
            .into_iter()
            .filter(|name| !system_tool_or_usr_bin(name).is_file()),
    ) {
        let scripts = "prepare measure comment ../../sweep.sh $(grep -l '^#!' ../cluster/slurm/*)";
        let mut bash = Command::new("/bin/bash");
        bash.args(["-c", &format!("shellcheck {scripts}")]);
        let ended = bash.current_dir(Path::new(FOLDER)).output().unwrap();
        assert!(ended.status.success(), "{}", text(&ended.stdout));
    }
}

/// The exit codes of both lanes, what the paired run answers, and then the outputs `counts`, `paired` and `code`. A sweep
/// of which some cells failed has exit code 1 and may have an answer. In the seventh line there is no report.
const ENDS: &str = "\
0|0|unknown|no count rose|unknown|0
0|1|worse|no count rose|worse|1
0|1||no count rose|not measured|0
0|2||no count rose|not measured|2
1|0|better|a count rose or a cell failed|better|1
3|0|worse|not deterministic|worse|3
0|0|better|failed|not measured|1
101|0|better|failed|not measured|101";

#[test]
fn the_exit_code_is_that_of_the_counts_or_of_a_loss() {
    for line in ENDS.lines() {
        let f: Vec<&str> = line.split('|').collect();
        let runner = runner(&[("counts.code", f[0]), ("paired.code", f[1])]);
        let write = |name, text: &str| fs::write(runner.path().join(name), text).unwrap();
        let answer = match f[3] {
            "failed" => "The counts failed.",
            _ => "No count changed, in 72 cells.",
        };
        if f[3] != "failed" {
            write("counts.md", "**No count changed**, in 72 cells.\n");
        }
        if !f[2].is_empty() {
            write("paired.md", &format!("{}: `b` compared with `a`\n", f[2]));
        }
        shell(
            &runner,
            "latency-benchmark/action/measure",
            &[("HEAD", "b")],
        );
        let outputs = format!("counts={}\npaired={}\ncode={}\n", f[3], f[4], f[5]);
        assert!(read(&runner, "outputs").ends_with(&outputs), "{line}");
        let first = format!("**{answer} Paired run: {}.**\n", f[4]);
        assert!(read(&runner, "summary").starts_with(&first), "{line}");
    }
}

/// A comment that only quotes the marker is somebody else's. A token may be one that cannot write.
#[test]
fn one_comment_is_written_and_then_updated() {
    const VARIABLES: &str =
        "NAME=a RESULTS=. FILES_URL= GITHUB_API_URL= GITHUB_REPOSITORY= GITHUB_TOKEN=";
    let failed = "::warning::the comment could not";
    for (body, code, calls, said) in [
        ("> <!-- poll-latency: a -->\\n\\nWhat?", "0", "POST\n", ""),
        ("<!-- poll-latency: a -->", "0", "PATCH\ncomments/8\n", ""),
        (
            "<!-- poll-latency: a -->",
            "22",
            "PATCH\ncomments/8\n",
            failed,
        ),
    ] {
        let page = format!(r#"[{{"id": 8, "body": "{body}"}}]"#);
        let event = r#"{"pull_request": {"number": 7}}"#;
        let runner = runner(&[
            ("page", &page),
            ("curl.code", code),
            ("event", event),
            ("comment.md", ""),
        ]);
        let command = format!("{VARIABLES} latency-benchmark/action/comment");
        let (code, all) = shell(&runner, &command, &[]);
        assert!(code == Some(0) && all.starts_with(said), "{all}");
        assert_eq!(read(&runner, "calls"), calls);
    }
}

#[test]
fn what_is_compared_comes_from_commits_or_from_a_lock_file() {
    const COMMIT: &str = r#"printf '[[package]]\nname = "libp2p"\nversion = "%s"\n' $VERSIONS >Cargo.lock
        git init -q && git add . && git -c user.name=a -c user.email=a@b.c commit -qm a --allow-empty"#;
    let runner = runner(&[]);
    for (versions, code, said) in [
        ("0.56.0", Some(2), "fetch-depth: 2"),
        ("0.56.0", Some(0), "nothing to compare"),
        ("0.57.1", Some(0), ""),
        ("0.56.0 0.57.1", Some(2), "names 0.56.0,0.57.1 of libp2p"),
    ] {
        shell(&runner, COMMIT, &[("VERSIONS", versions)]);
        let prepare = "latency-benchmark/action/prepare";
        let (ended, all) = shell(&runner, prepare, &[("LOCK_FILE", "Cargo.lock")]);
        assert!(ended == code && all.contains(said), "{all}");
    }
    let outputs = read(&runner, "outputs");
    assert!(
        outputs.starts_with("base=released@0.56.0\nhead=released@0.57.1\n"),
        "{outputs}"
    );
    shell(&runner, "latency-benchmark/action/prepare", &[]);
    let (_, head) = shell(&runner, "git rev-parse --short=12 HEAD", &[]);
    let outputs = read(&runner, "outputs");
    assert!(outputs.contains(&format!("@{head}root=")), "{outputs}");
}
