//! The shell scripts of the action, with a runner's environment, a stub in place of `./sweep.sh`, and a server in place
//! of GitHub's.

mod github;
mod runner;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::github::GitHub;
use self::runner::{Runner, folder};
use crate::bench::{lacks_nothing, text};
use program::tool;
use serde_json::json;

const MARKER: &str = "<!-- poll-latency: poll-latency -->";

/// Whether a test can run the scripts.
fn has(programs: &[&'static str]) -> bool {
    let is_missing = |name: &&str| !tool(name).is_file();
    lacks_nothing(programs.iter().copied().filter(is_missing))
}

#[test]
fn shell_scripts_pass_the_linter() {
    if !has(&["shellcheck"]) {
        return;
    }
    let slurm = folder().join("../cluster/slurm");
    let scripts = [folder(), slurm]
        .into_iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap());
    let scripts = scripts.map(|entry| entry.unwrap().path());
    let is_script = |path: &PathBuf| fs::read_to_string(path).unwrap().starts_with("#!");
    let mut scripts: Vec<PathBuf> = scripts.filter(is_script).collect();
    assert!(scripts.len() >= 6, "{scripts:?}");
    scripts.push(folder().join("../../sweep.sh"));
    let ended = Command::new(tool("shellcheck"))
        .args(scripts)
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", text(&ended.stdout));
}

/// The variables that a script reads, but those of every runner.
fn variables(script: &str) -> BTreeSet<&str> {
    let names = script.split('$').skip(1).map(|rest| {
        let rest = rest.trim_start_matches('{');
        let is_of_name = |it: char| it.is_ascii_uppercase() || it == '_';
        rest.split(|it| !is_of_name(it)).next().unwrap_or_default()
    });
    let is_of_runner = |it: &&str| {
        let mut prefixes = ["BASH_", "GITHUB_", "RUNNER_"].into_iter();
        it.is_empty() || *it != "GITHUB_TOKEN" && prefixes.any(|prefix| it.starts_with(prefix))
    };
    names.filter(|it| !is_of_runner(it)).collect()
}

#[test]
fn every_step_gives_its_script_what_it_reads() {
    let read = |name| fs::read_to_string(folder().join(name)).unwrap();
    let action = read("action.yml");
    let (_, steps) = action.split_once("  steps:\n").unwrap();
    for script in ["prepare", "measure", "comment"] {
        let mut steps = steps.split("\n    - ");
        let step = steps
            .find(|it| it.contains(&format!("/{script}\"'")))
            .unwrap();
        let given = step.split_once("env:\n").unwrap().1.lines();
        let given = given.filter_map(|line| line.trim().split_once(':'));
        // The compilers read it.
        let given = given.map(|(name, _)| name);
        let given: BTreeSet<&str> = given.filter(|it| *it != "RUSTUP_TOOLCHAIN").collect();
        assert_eq!(given, variables(&read(script)), "{script}");
    }
    for name in ["prepare", "measure"] {
        let script = read(name);
        let outputs = format!("steps.{name}.outputs.");
        let outputs = action.split(&*outputs).skip(1);
        for output in outputs.map(|it| it.split([' ', '\n']).next().unwrap()) {
            let is_written = script.contains(&format!("{output}=$"));
            assert!(is_written, "{name} does not write {output}");
        }
    }
}

/// Workflows of the README use inputs that there are.
#[test]
fn the_action_has_the_inputs_that_its_readme_uses() {
    let read = |name| fs::read_to_string(folder().join(name)).unwrap();
    let (action, readme) = (read("action.yml"), read("README.md"));
    let (inputs, _) = action.split_once("\noutputs:").unwrap();
    let inputs = inputs
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    let inputs: Vec<&str> = inputs.filter(|name| !name.starts_with(' ')).collect();
    for input in &inputs {
        assert!(
            action.contains(&format!("inputs.{input} }}}}")),
            "{input} is not used"
        );
        assert!(
            readme.contains(&format!("`{input}`")),
            "{input} is not in the README"
        );
    }
    let mut workflows = readme.split("```yaml\n").skip(1);
    let with = workflows
        .by_ref()
        .filter_map(|it| it.split("```").next()?.split_once("/action@REV\n"));
    let with: Vec<&str> = with.map(|(_, with)| with).collect();
    assert_eq!(with.len(), 2);
    for (input, _) in with
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| line.trim().split_once(": "))
    {
        assert!(inputs.contains(&input), "{input}");
    }
    for script in ["prepare", "measure", "comment"] {
        assert!(action.contains(&format!("\"$GITHUB_ACTION_PATH/{script}\"")));
        assert_eq!(
            folder()
                .join(script)
                .metadata()
                .unwrap()
                .permissions()
                .mode()
                & 0o111,
            0o111
        );
    }
}

/// The exit codes of both lanes, what the paired run answers, and then the outputs `counts`, `paired` and `code`. A sweep
/// of which some cells failed has exit code 1 and may have an answer.
const ENDS: &str = "\
0   | 0 | no worse than the margin | no count rose | no worse than the margin | 0
0   | 0 | better  | no count rose | better | 0
0   | 0 | unknown | no count rose | unknown | 0
0   | 0 | worse   | no count rose | worse | 1
0   | 1 | worse   | no count rose | worse | 1
0   | 1 |         | no count rose | not measured | 0
0   | 2 |         | no count rose | not measured | 2
1   | 0 | better  | a count rose or a cell failed | better | 1
3   | 0 | worse   | not deterministic | worse | 3
2   | 0 | better  | failed | not measured | 2
101 | 0 | better  | failed | not measured | 101";

#[test]
fn the_exit_code_is_that_of_the_counts_or_of_a_loss() {
    for line in ENDS.lines() {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[gate, paired, verdict, ref outputs @ ..] = &fields[..] else {
            panic!("{line}");
        };
        let runner = Runner::new();
        runner.write("gate.code", gate);
        runner.write("paired.code", paired);
        match verdict {
            "" => fs::remove_file(runner.path("target/tools/verdict.md")).unwrap(),
            verdict => runner.verdict(verdict),
        }
        let comment = runner.measure();
        let written = runner.outputs();
        let names = ["counts", "paired", "code"];
        assert_eq!(names.map(|name| &*written[name]), outputs, "{line}");
        let is_told = |it: &str| assert!(comment.contains(it), "{it:?} is not in\n{comment}");
        is_told(match outputs[0] {
            "failed" => "error: what gate says",
            _ => "\n- base: a\n",
        });
        is_told(match verdict {
            "" => "error: what paired says",
            _ if outputs[1] == "not measured" => "Not measured, because",
            _ => "| quantity | noise |",
        });
        let counts = match outputs[0] {
            "failed" => "The counts failed.",
            _ => "No count changed, in 72 cells.",
        };
        let first = format!("**{counts} Paired run: {}.**", outputs[1]);
        let mut lines = comment.lines();
        assert_eq!(lines.next(), Some(&*first));
        assert_eq!(lines.nth(1), Some("`b` compared with `a`"));
    }
}

/// A build that fails has the exit code of a count that rose.
#[test]
fn counts_without_a_report_have_failed() {
    for gate in ["0", "1"] {
        let runner = Runner::new();
        runner.write("gate.code", gate);
        fs::remove_file(runner.path("gate.md")).unwrap();
        let comment = runner.measure();
        assert!(comment.starts_with("**The counts failed."), "{comment}");
        assert_eq!(runner.outputs()["code"], "1");
    }
}

#[test]
fn both_lanes_get_the_subjects_and_their_options() {
    let runner = Runner::new();
    runner.measure();
    let results = runner.outputs()["results"].clone();
    let common = |name| format!("--subject /home/a --subject b --out {results} --name {name}");
    let calls = [
        common("counts") + " --gate --allow polls=1",
        common("paired") + " --rtt 0",
    ];
    assert_eq!(runner.read("calls").lines().collect::<Vec<_>>(), calls);
}

#[test]
fn one_comment_is_written_and_then_updated() {
    if !has(&["jq", "curl"]) {
        return;
    }
    let runner = Runner::new();
    // It quotes ours, and is somebody else's. With it there are two pages.
    let quote = format!("> {MARKER}\n\nWhat is this?");
    let others = (0..100)
        .map(|id| json!({"id": id, "body": quote}))
        .collect();
    let github = GitHub::new(others, false);
    runner.measure();
    runner.comment(&github, "https://github.com/files/1");
    let first = github.bodies();
    assert_eq!(first.len(), 101);
    assert!(
        first[100].starts_with("**No count changed, in 72 cells. Paired run: unknown.**\n"),
        "{}",
        first[100]
    );
    assert!(first[100].contains("(https://github.com/files/1)"));
    assert!(first[100].ends_with(MARKER));
    runner.verdict("worse");
    runner.measure();
    runner.comment(&github, "");
    let second = github.bodies();
    assert_eq!(second.len(), 101);
    assert_eq!(second[..100], first[..100]);
    assert!(second[100].starts_with("**No count changed, in 72 cells. Paired run: worse.**\n"));
    assert!(!second[100].contains("https://github.com/files"));
}

#[test]
fn a_comment_that_cannot_be_written_is_a_warning() {
    if !has(&["jq", "curl"]) {
        return;
    }
    let runner = Runner::new();
    runner.measure();
    let github = GitHub::new(Vec::new(), true);
    let said = runner.comment(&github, "");
    assert!(
        said.starts_with("::warning::the comment could not be written"),
        "{said}"
    );
    runner.write("event", "{}");
    assert!(runner.comment(&github, "").contains("no pull request"));
    assert!(github.bodies().is_empty());
}

/// Commits a lock file with these versions of libp2p, and returns the name of the commit.
fn commit(runner: &Runner, versions: &[&str]) -> String {
    let package =
        |version: &&str| format!("[[package]]\nname = \"libp2p\"\nversion = \"{version}\"\n\n");
    let lock: String = versions.iter().map(package).collect();
    runner.write("workspace/Cargo.lock", &lock);
    let git = |arguments: &[&str]| {
        let mut git = Command::new(tool("git"));
        let author = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
        git.args(author)
            .args(arguments)
            .current_dir(runner.path("workspace"));
        let output = git.output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        text(&output.stdout).trim().to_owned()
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "--allow-empty", "-m", "a commit"]);
    git(&["rev-parse", "--short=12", "HEAD"])
}

#[test]
fn what_is_compared_comes_from_commits_or_from_a_lock_file() {
    let runner = Runner::new();
    commit(&runner, &["0.56.0"]);
    let of_lock = [("LOCK_FILE", "Cargo.lock")];
    let is_refused = |variables: &[(&str, &str)], why: &str| {
        let ended = runner.step("prepare", variables);
        assert_eq!(ended.status.code(), Some(2));
        let said = text(&ended.stderr);
        assert!(
            said.lines().last().unwrap().starts_with("::error::"),
            "{said}"
        );
        assert!(said.contains(why), "{said}");
        assert!(runner.outputs().is_empty());
    };
    for variables in [&[][..], &of_lock] {
        is_refused(variables, "fetch-depth: 2");
    }
    commit(&runner, &["0.56.0"]);
    let ended = runner.step("prepare", &of_lock);
    assert!(ended.status.success());
    assert!(
        text(&ended.stdout)
            .starts_with("::notice::Cargo.lock names libp2p 0.56.0 before and after")
    );
    assert!(runner.outputs().is_empty());
    commit(&runner, &["0.56.0", "0.57.1"]);
    is_refused(&of_lock, "names 0.56.0,0.57.1 of libp2p");
    is_refused(
        &[("LOCK_FILE", "Cargo.lock"), ("HEAD", "released")],
        "leave out base and head",
    );
    let commits = ["0.57.1", "0.56.0"].map(|version| commit(&runner, &[version]));
    assert!(runner.step("prepare", &of_lock).status.success());
    let outputs = runner.outputs();
    assert_eq!(
        [&*outputs["base"], &*outputs["head"]],
        ["released@0.57.1", "released@0.56.0"]
    );
    assert_eq!(
        Path::new(&outputs["root"]),
        runner.0.path().canonicalize().unwrap()
    );
    runner.write("outputs", "");
    assert!(runner.step("prepare", &[]).status.success());
    let workspace = runner.path("workspace").display().to_string();
    let commits = commits.map(|commit| format!("{workspace}@{commit}"));
    let before = runner.outputs();
    assert_eq!([&before["base"], &before["head"]], commits.each_ref());
    // Other dependencies need other files of the cache.
    runner.write("Cargo.lock", "another");
    runner.write("outputs", "");
    assert!(runner.step("prepare", &[]).status.success());
    assert_ne!(runner.outputs()["key"], before["key"]);
}
