//! Finds the node program, or has cargo build it, and asks it what it is. Also finds the program `analysis`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};
use program::{
    ChildLimits, Failure, bad_input, how_it_ended_and_why, is_program, reject, user_tool,
};
use run_format::checksums::sha256_of_program;
use run_format::{Manifest, NodeConfig, NodeDescription};
use swarm_patch::cargo_run::{self, MESSAGES};
use swarm_patch::stacks::{LIBP2P, STACKS, Stack};
use swarm_patch::subject::builder::Program;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Nodes and their load")]
pub(crate) struct NodeProgramArgs {
    #[arg(long, value_name = "NAME", default_value = LIBP2P.name, value_parser = Stack::named, help = format!("Network stack of the nodes: {}", STACKS.map(|stack| stack.name).join(", ")))]
    pub(crate) stack: &'static Stack,
    /// The node program to measure [default: this workspace's for the stack, which cargo builds]
    #[arg(long = "node", value_name = "PROGRAM", value_parser = PathBufValueParser::new().try_map(executable))]
    pub(crate) program: Option<PathBuf>,
}

fn executable(path: PathBuf) -> Result<PathBuf, &'static str> {
    match is_program(&path) {
        true => Ok(path),
        false => Err("it is no executable file"),
    }
}

impl NodeProgramArgs {
    pub(crate) fn measuring(&self, node: &NodeConfig) -> Result<PathBuf, Failure> {
        self.find(node, Program::Measuring)
    }

    /// The same arguments, but with the stack of an earlier sweep.
    pub(crate) fn with_stack_of(&self, manifest: &Manifest) -> NodeProgramArgs {
        let node = manifest.tool.node.as_ref();
        let stack = node.and_then(|node| Stack::named(&node.stack).ok());
        NodeProgramArgs {
            stack: stack.unwrap_or(self.stack),
            ..self.clone()
        }
    }

    /// Has cargo build the programs that measure, and if needed those that explain, unless a program was given.
    pub(crate) fn build_needed(&self, node: &NodeConfig, explain: bool) -> Result<()> {
        if self.program.is_some() {
            return Ok(());
        }
        build(self.stack, node, Program::Measuring)?;
        if explain {
            build(self.stack, node, Program::Explaining)?;
        }
        Ok(())
    }

    pub(crate) fn find(&self, node: &NodeConfig, program: Program) -> Result<PathBuf, Failure> {
        let path = match &self.program {
            Some(given) => given.clone(),
            None => {
                build(self.stack, node, program)?;
                program_path(self.stack, program)?
            }
        };
        refuse_missing_features(&path, node)?;
        Ok(path)
    }
}

/// Has cargo build a node program. Does nothing in a debug build, whose node program lies beside this program, and nothing if
/// the workspace is not there.
fn build(stack: &Stack, node: &NodeConfig, program: Program) -> Result<()> {
    let Some(workspace) = workspace().filter(|_| !cfg!(debug_assertions)) else {
        return Ok(());
    };
    let (name, profile) = program.name_and_profile(stack);
    let asked = node.features().into_iter().map(|(name, _)| name);
    let features: Vec<&str> = asked.chain(program.feature()).collect();
    let cargo_path = env::var_os("CARGO").unwrap_or_else(|| user_tool("cargo").into());
    let target = target_dir()?;
    let mut cargo = Command::new(cargo_path);
    cargo
        .args(["build", "--locked", MESSAGES, "--target-dir"])
        .arg(&target)
        .args(["--profile", profile, "--package", &stack.program()])
        .args(["--bin", &name, "--features", &features.join(",")])
        .current_dir(workspace);
    let log = target.join(format!("{name}.log"));
    cargo_run::build(&mut cargo, &name, &log).with_context(|| format!("{name} does not build"))
}

fn workspace() -> Option<&'static Path> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let is_there = workspace.join("Cargo.lock").is_file() && target_dir().is_ok();
    is_there.then_some(workspace)
}

/// Cargo's target folder: this program is in the folder of a profile, which is in the target folder.
fn target_dir() -> Result<PathBuf> {
    let this = this_program()?;
    let target = this.parent().and_then(Path::parent).map(Path::to_owned);
    target.ok_or_else(|| anyhow!("cannot find the target folder of {}", this.display()))
}

pub(crate) fn this_program() -> Result<PathBuf> {
    env::current_exe().context("cannot find this program's file")
}

/// The program `analysis`, which lies beside this one.
pub(crate) fn analysis_program() -> Result<PathBuf> {
    Ok(this_program()?.with_file_name("analysis"))
}

pub(crate) fn analysis(verb: &str, dir: &Path) -> Result<Command> {
    let mut command = Command::new(analysis_program()?);
    command.arg(verb).arg(dir).stdin(Stdio::null());
    Ok(command)
}

fn program_path(stack: &Stack, program: Program) -> Result<PathBuf, Failure> {
    let (name, profile) = program.name_and_profile(stack);
    let beside = this_program()?.with_file_name(&name);
    let built = target_dir()?.join(profile).join(&name);
    let (candidates, profile) = match cfg!(debug_assertions) {
        true => (vec![beside], "dev"),
        false => (vec![built, beside], profile),
    };
    let found = candidates.iter().find(|path| path.is_file()).cloned();
    found.ok_or_else(|| {
        bad_input(anyhow!(
            "the node program {} is missing (build it with: cargo build --profile {profile} --package {}, or name one with --node)",
            candidates[0].display(),
            stack.program()
        ))
    })
}

pub(crate) fn describe(path: &Path) -> Result<NodeDescription> {
    let program = || format!("the node program {}", path.display());
    let output = ChildLimits::SHORT_ANSWER.output(Command::new(path).arg("describe"));
    let output =
        output.with_context(|| format!("{} does not answer the verb `describe`", program()))?;
    if !output.status.success() {
        bail!(
            "{} does not answer the verb `describe`, so it is no node program: it {}",
            path.display(),
            how_it_ended_and_why(output.status, &String::from_utf8_lossy(&output.stderr))
        );
    }
    let mut description: NodeDescription =
        serde_json::from_slice(&output.stdout).with_context(program)?;
    description.program.sha256 = Some(sha256_of_program(path).with_context(program)?);
    Ok(description)
}

fn refuse_missing_features(path: &Path, node: &NodeConfig) -> Result<(), Failure> {
    let description = describe(path).context("--node").map_err(bad_input)?;
    let features = description.program.features;
    for (feature, option) in node.features() {
        if !features.iter().any(|has| has == feature) {
            reject!(
                "{option}: the node program {} was built without the cargo feature {feature} (build it with `--features {feature}`)",
                path.display()
            );
        }
    }
    Ok(())
}
