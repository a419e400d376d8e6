//! The sweep's arguments, and the sweep that they ask for.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use program::number::time;
use program::{Failure, reject};
use run_format::files::MANIFEST;
use run_format::{
    Axes, BUDGET_FORMS, Budgets, Ends, LabConfig, Measurement, NodeConfig, PAYLOAD_FORMS, Pace,
    Payload, Precision, Rtt, SweepConfig,
};

use crate::args::{
    HostArgs, LIBP2P_OFFERS, NewRunArgs, NodeArgs, PartArgs, RuntimeArgs, SubjectArgs, given_or,
    offers, refuse_both_ends, refuse_twice, unknown_site, variants,
};
use crate::manifest;
use crate::node_program::NodeProgramArgs;
use crate::sweep::time::fitted_into;

/// The arguments of a sweep that is to be measured or continued.
#[derive(Args)]
#[command(after_help = EXAMPLES, override_usage = "./sweep.sh [OPTIONS]")]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) grid: GridArgs,
    #[command(flatten)]
    pub(crate) compared: ComparedArgs,
    #[command(flatten)]
    pub(crate) program: NodeProgramArgs,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    #[command(flatten)]
    runtime: RuntimeArgs,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
    #[command(flatten)]
    parts: PartArgs,
    #[command(flatten)]
    pub(crate) new_run: NewRunArgs,
    /// Continue the sweep in DIR with its original options; failed and invalid cells are measured again
    #[arg(long, value_name = "DIR", help_heading = "Results", conflicts_with_all = ["GridArgs", "ComparedArgs", "SubjectArgs", "NodeArgs", "RuntimeArgs", "NetworkArgs", "HostArgs", "LengthArgs", "PartArgs", "NewRunArgs"])]
    pub(crate) resume: Option<PathBuf>,
}

#[derive(Args)]
#[command(next_help_heading = "Cells")]
pub(crate) struct GridArgs {
    /// Numbers of peers [default: 1,2,5,10,15]
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    #[arg(allow_hyphen_values = true)]
    pub(crate) peers: Vec<usize>,
    /// Round-trip times in ms, decimals allowed [default: 0,5,25,50,100,200]
    #[arg(long, value_name = "MS,MS", value_delimiter = ',')]
    #[arg(allow_hyphen_values = true)]
    rtt: Vec<Rtt>,
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',', allow_hyphen_values = true, help = format!("Payloads: {PAYLOAD_FORMS} [default: 4KiB,16KiB,64KiB,256KiB]"))]
    pub(crate) payload: Vec<Payload>,
    /// Twelve cells, a few seconds each: 1 and 5 peers; 0, 5 and 25 ms; 16 and 256 KiB
    #[arg(long, conflicts_with_all = ["peers", "rtt", "payload"])]
    quick: bool,
}

#[derive(Args)]
#[command(next_help_heading = "What is compared")]
pub(crate) struct ComparedArgs {
    #[arg(long, value_name = "BUDGET", help = format!("A limit on what one poll of a site may do; repeat it to compare several, the first is the baseline. BUDGET is {}\n[default: {}; those of quic-connection and quic-endpoint only with QUIC; other stacks have others, which --dry-run shows]", BUDGET_FORMS.replace("; ", "\n- "), LIBP2P_OFFERS.budgets.join("; ")))]
    pub(crate) budget: Vec<Budgets>,
    #[command(flatten)]
    pub(crate) subjects: SubjectArgs,
    /// Measure a budget at both ends of the released libp2p, and beside it a program with the printed patch at both ends;
    /// report whether the patch does what the budget does
    #[arg(long, value_name = "BUDGET", conflicts_with_all = ["budget", "SubjectArgs", "stack"])]
    prove: Option<Budgets>,
    /// Skip the A/A control, a second copy of the baseline that shows how large noise is
    #[arg(long)]
    no_aa: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Time and precision")]
pub(crate) struct LengthArgs {
    /// Launches of each cell, spread over the sweep [default: 3 (2 if the round trip is over 50 ms); with subjects 8 (5);
    /// 1 with --quick or --max-cell-seconds]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: Option<u32>,
    /// Length of a turn, in which one variant is measured, in ms [default: 20; with a delay 2.25 times the time of a
    /// request, or two round trips if that is over 500 ms, and at least 40 ms; longer for many peers and large payloads]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(5..=600_000))]
    turn: Option<u64>,
    /// Time in ms at the start of each turn in which nothing is recorded [default: 10; with a delay the longer of 20 and
    /// half a round trip; longer for many peers and large payloads]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=600_000))]
    settle: Option<u64>,
    /// Time limit of the sweep, such as 15min; what one cell does not use, the others get [default: for each
    /// launch 2.2 s plus 10 ms per ms of round trip, so 28min for the default grid, process starts included; with --repeat
    /// 8.4 s plus 40 ms per ms]
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with_all = ["max_cell_seconds", "peer_hosts"])]
    pub(crate) time: Option<Duration>,
    /// Longest measurement of a launch; without --repeat this also sets one launch per cell [default: what --time gives; 3
    /// with --subject, unless --time is given]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    max_cell_seconds: Option<u64>,
    /// Stop a cell early when these changes are known this well: the time beyond 50 µs to TIME per second, or to PERCENT of
    /// the baseline's; throughput and CPU time per request to PERCENT
    #[arg(long, value_name = "TIME,PERCENT", default_value_t = Precision::DEFAULT)]
    precision: Precision,
}

const EXAMPLES: &str = "Examples:
  ./sweep.sh                                          the whole grid, 120 cells
  ./sweep.sh --quick                                  twelve cells, for a first look
  ./sweep.sh --peers 5 --rtt 0,50 --payload 64KiB,256KiB --repeat 3
  ./sweep.sh --time 15min                             the whole grid, in less time and with wider intervals
  ./sweep.sh --budget none --budget connection=8 --budget muxer=1/deferred
  ./sweep.sh --subject ../rust-libp2p@master --subject ../rust-libp2p@my-fix --peers 5 --rtt 0,50
  ./sweep.sh --yamux released+my.diff --peers 5       the released yamux with and without a change
  ./sweep.sh --gate --subject ../rust-libp2p@master --subject ../rust-libp2p@my-fix    counts, for a pull request
  ./sweep.sh --stack iroh --subject released --subject ../noq@my-fix --peers 5 --rtt 0
  ./sweep.sh --prove muxer=1/deferred --peers 5 --rtt 0,25 --payload 64KiB
  ./sweep.sh --stack h2 --quick                       HTTP/2 instead of libp2p
  ./sweep.sh --peer-hosts node1,node2                 peers on other hosts, started by ssh
  ./sweep.sh --bundle server.tar.xz                   an archive that measures on a server without Rust
  ./sweep.sh --resume results/2026-11-20T10-00-00Z    continue after an interruption

Ctrl-C, SIGTERM and SIGHUP stop within seconds and keep everything measured; a second one stops at once.
Exit codes without --gate: 0 every cell was measured; 1 some were not, or a subject cannot be built; 2 wrong arguments;
130 interrupted.";

pub(crate) enum AskedSweep {
    DryRun(SweepConfig),
    Measure(SweepConfig, PathBuf),
    Resume(PathBuf),
}

impl SweepArgs {
    pub(crate) fn asked(&self) -> Result<AskedSweep, Failure> {
        if let Some(dir) = &self.resume {
            return Ok(AskedSweep::Resume(dir.clone()));
        }
        let config = self.config(self.grid.quick)?;
        let config = match self.length.time {
            Some(time) => fitted_into(config, time)?,
            None => config,
        };
        if self.parts.dry_run {
            return Ok(AskedSweep::DryRun(config));
        }
        let dir = self.new_run.dir()?;
        let Some(shard) = self.parts.shard else {
            return Ok(AskedSweep::Measure(config, dir));
        };
        let folder = shard.folder(&dir);
        if folder.join(MANIFEST).is_file() {
            refuse_other_options(config, &folder)?;
            return Ok(AskedSweep::Resume(folder));
        }
        Ok(AskedSweep::Measure(config, folder))
    }

    /// Returns what the rounds of a search have in common, and whether the search chooses the cells. It does if no grid is
    /// asked for, and then begins with the grid of a first look.
    pub(crate) fn search(&self) -> Result<(SweepConfig, bool), Failure> {
        let grid = &self.grid;
        let chooses_cells = grid.peers.is_empty() && grid.rtt.is_empty() && grid.payload.is_empty();
        let mut config = self.config(chooses_cells)?;
        // A search measures in several rounds anyway.
        config.repeat = 1;
        config.far_repeat = None;
        if chooses_cells {
            // Over round trips longer than 50 ms, a hundred budgets would need minutes for a few blocks.
            config.axes.rtt_ms = rtts(&[0.0, 5.0, 50.0]);
        }
        Ok((config, chooses_cells))
    }

    fn config(&self, quick: bool) -> Result<SweepConfig, Failure> {
        let stack = self.program.stack;
        let axes = self.axes(quick)?;
        let pace = self.node.pace(&axes.payload_bytes)?;
        let runtime = self.runtime.runtime()?;
        let lab = (self.hosts).network(&axes.peers, &axes.rtt_ms, runtime.workers)?;
        let (budgets, subjects) = self.compared.budgets_and_subjects()?;
        let has_subjects = !subjects.is_empty();
        self.refuse_contradictions(&axes, pace, &budgets, has_subjects)?;
        let node = self.node.node(stack)?;
        let defaults = self.default_budgets(&node, has_subjects);
        let variants_have_control = self.compared.variants_have_control(has_subjects);
        let subjects_have_control = self.compared.subjects_have_control();
        let launches = self.length.launches(quick, has_subjects);
        let mut config = SweepConfig {
            axes,
            variants: variants(stack, &node, &budgets, &defaults, variants_have_control)?,
            subjects: subjects.subjects(stack, subjects_have_control, runtime)?,
            node,
            pace,
            runtime,
            lab,
            repeat: launches.near,
            far_repeat: launches.far,
            turn_ms: self.length.turn,
            settle_ms: self.length.settle,
            max_cell_ms: launches.max_ms,
            time_scale: match self.grid.quick {
                true => QUICK_SCALE,
                false => launches.scale,
            },
            precision: self.length.precision,
            seed: self.new_run.seed(),
            measurement: Measurement::Compare,
            shard: self.parts.shard,
            jobs: None,
        };
        self.parts.place_jobs(&mut config)?;
        Ok(config)
    }

    /// The axes of the grid. With a profile, the only payload is the profile's largest size.
    fn axes(&self, quick: bool) -> Result<Axes, Failure> {
        let mut axes = self.grid.axes(quick, self.hosts.count())?;
        let fewest_peers = axes.peers.iter().copied().min().unwrap_or(0);
        if let Some(largest) = self.node.profile_payload(fewest_peers)? {
            if !self.grid.payload.is_empty() {
                reject!("--payload: a profile has its own sizes (remove --payload)");
            }
            axes.payload_bytes = vec![largest];
        }
        Ok(axes)
    }

    /// Refuses options that are right by themselves but do not go together.
    fn refuse_contradictions(
        &self,
        axes: &Axes,
        pace: Pace,
        budgets: &[Budgets],
        has_subjects: bool,
    ) -> Result<(), Failure> {
        let cells = axes.cells().len();
        if let Some(shard) = self.parts.shard.filter(|shard| shard.of as usize > cells) {
            reject!(
                "--shard: {} parts, but the grid has {cells} cells (accepted: at most as many parts)",
                shard.of
            );
        }
        if has_subjects && pace == Pace::Saturating {
            reject!(
                "--outstanding max: each subject would find another number, and so have another load (accepted: a number)"
            );
        }
        if self.hosts.count() > 0 {
            refuse_both_ends(budgets, "peers are on other hosts")?;
        }
        Ok(())
    }

    fn default_budgets(&self, node: &NodeConfig, has_subjects: bool) -> Vec<Budgets> {
        let stack = self.program.stack;
        let offered = offers(stack);
        let texts: &[&str] = match (has_subjects, self.grid.quick) {
            // The sources of a subject may have a bound of their own.
            (true, _) => &["none"],
            (false, true) => offered.quick_budgets,
            (false, false) => offered.budgets,
        };
        let can_follow = self.hosts.count() == 0;
        let budgets = texts.iter().map(|text| text.parse().expect("a budget"));
        let can_be_measured = |budgets: &Budgets| {
            (can_follow || budgets.ends == Ends::Central)
                && unknown_site(stack, node, budgets).is_none()
        };
        budgets.filter(can_be_measured).collect()
    }
}

/// The number of launches of a cell, and their time.
struct Launches {
    near: u32,
    /// The number of launches where the round trip is long, if that is another one.
    far: Option<u32>,
    max_ms: Option<u64>,
    scale: f64,
}

impl LengthArgs {
    /// The launches of each cell. In a `short` look, and where the time of a run was asked for, it has one unless --repeat
    /// says otherwise.
    fn launches(&self, short: bool, has_subjects: bool) -> Launches {
        if short || self.repeat.is_some() || self.max_cell_seconds.is_some() {
            return Launches {
                near: self.repeat.unwrap_or(1),
                far: None,
                max_ms: self.max_cell_seconds.map(|seconds| seconds * 1000),
                scale: 1.0,
            };
        }
        let (near, far) = match has_subjects {
            true => (SUBJECT_LAUNCHES, FAR_SUBJECT_LAUNCHES),
            false => (LAUNCHES, FAR_LAUNCHES),
        };
        Launches {
            near,
            far: Some(far),
            max_ms: (has_subjects && self.time.is_none()).then_some(SUBJECT_MS),
            scale: LAUNCH_SCALE,
        }
    }
}

impl ComparedArgs {
    fn budgets_and_subjects(&self) -> Result<(Vec<Budgets>, SubjectArgs), Failure> {
        let Some(budget) = self.prove else {
            return Ok((self.budget.clone(), self.subjects.clone()));
        };
        if budget.is_none() {
            reject!(
                "--prove {budget}: there is no patch of it (accepted: a budget that bounds something)"
            );
        }
        let budgets = vec![Budgets::NONE, budget.with_ends(Ends::Both)];
        Ok((budgets, SubjectArgs::patched(budget)))
    }

    /// Whether the variants have an A/A control. A single budget of subjects is compared with itself in another program, and
    /// needs none.
    fn variants_have_control(&self, has_subjects: bool) -> bool {
        !self.no_aa && (!has_subjects || self.budget.len() > 1)
    }

    /// Whether the subjects have an A/A control. With --prove a patch is compared with its budget, and both with the same
    /// program.
    fn subjects_have_control(&self) -> bool {
        !self.no_aa && self.prove.is_none()
    }
}

impl GridArgs {
    fn axes(&self, quick: bool, hosts: usize) -> Result<Axes, Failure> {
        let defaults = default_axes(quick, hosts);
        let axes = Axes {
            peers: given_or(&self.peers, defaults.peers),
            rtt_ms: given_or(&self.rtt, defaults.rtt_ms),
            payload_bytes: given_or(&self.payload, defaults.payload_bytes),
            only: Vec::new(),
        };
        refuse_twice("--peers", &axes.peers)?;
        refuse_twice("--rtt", &axes.rtt_ms)?;
        refuse_twice("--payload", &axes.payload_bytes)?;
        Ok(axes)
    }
}

/// The axes of a sweep without options for them. `hosts` is the number of other hosts with peers.
pub(super) fn default_axes(quick: bool, hosts: usize) -> Axes {
    let (mut peers, mut rtt_ms, kib) = match quick {
        true => (vec![1, 5], vec![0.0, 5.0, 25.0], vec![16, 256]),
        false => (
            vec![1, 2, 5, 10, 15],
            vec![0.0, 5.0, 25.0, 50.0, 100.0, 200.0],
            vec![4, 16, 64, 256],
        ),
    };
    if hosts > 0 {
        // The round trips of links to other hosts are measured before the sweep begins.
        (peers, rtt_ms) = (vec![hosts], vec![0.0]);
    }
    Axes {
        peers,
        rtt_ms: rtts(&rtt_ms),
        payload_bytes: kib.into_iter().map(Payload::kib).collect(),
        only: Vec::new(),
    }
}

/// Refuses to go on with a shard that was begun with other options.
fn refuse_other_options(config: SweepConfig, dir: &Path) -> Result<(), Failure> {
    let mut begun = manifest::read(dir, MANIFEST)?.config;
    for subject in &mut begun.subjects {
        subject.build = None;
        subject.layouts = 0;
    }
    let asked = SweepConfig {
        // The shard goes on with the cores that it began with.
        lab: LabConfig {
            placement: begun.lab.placement.clone(),
            ..config.lab
        },
        jobs: begun.jobs.clone(),
        ..config
    };
    // A manifest rounds fractions.
    let asked: SweepConfig = serde_json::from_str(&serde_json::to_string(&asked)?)?;
    if asked != begun {
        reject!(
            "--shard: {} was begun with other options (choose another --name)",
            dir.display()
        );
    }
    Ok(())
}

fn rtts(ms: &[f64]) -> Vec<Rtt> {
    let rtts = ms.iter().map(|ms| Rtt::from_ms(*ms));
    rtts.map(|rtt| rtt.expect("the defaults are times"))
        .collect()
}

const QUICK_SCALE: f64 = 0.4;
/// The machine's speed changes within minutes, so the time of a cell is spread over the sweep.
const LAUNCHES: u32 = 3;
const FAR_LAUNCHES: u32 = 2;
/// All launches of a cell together take about as long as a single one with --repeat 1.
const LAUNCH_SCALE: f64 = 0.26;
/// Subjects are compared in few cells, each thoroughly. Between launches, which have different layouts, their changes differ
/// about as much as between seconds of one launch, and a launch takes a second longer than it measures. Therefore many short
/// launches say more than a few long ones (Kalibera and Jones, "Rigorous benchmarking in reasonable time", 2013).
const SUBJECT_LAUNCHES: u32 = 8;
const FAR_SUBJECT_LAUNCHES: u32 = 5;
const SUBJECT_MS: u64 = 3_000;
