//! Wrong arguments, and what needs no lab.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::bench::{
    Bench, MANIFEST, PROGRAM, complaint, holds, succeeds, text, words, write_program,
};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

const WRONG: &str = r#"
--peers 0 => --peers 0: a cell has from 1 to 250 peers
--peers 251 => --peers 251
--peers 2,2 => --peers: 2 is given twice
--rtt -1 => "-1" is negative
--rtt NaN => is not a number
--rtt nan => nan
--payload 17MiB => "17MiB" is more than 16MiB
--payload -1 => "-1" is negative
--budget foo=1 => unknown site "foo"
--budget none --budget none => --budget: none is given twice
--peer-hosts host=192.0.2.1 --budget none --budget muxer=1@both => --budget muxer=1@both: peers are on other hosts
--prove none => --prove none: there is no patch of it
--stack h3 => accepted: libp2p, h2, iroh
--stack h2 --budget muxer=1 => h2 has no site muxer (accepted: connection)
--transport quic --budget muxer=1 => libp2p over QUIC has no site muxer (accepted: connection, task, quic-connection, quic-endpoint)
--budget quic-connection=1 => libp2p has no site quic-connection (accepted: connection, muxer, task)
--stack h2 --security noise => --security noise: nodes of h2 do not have it (accepted: plaintext)
--stack iroh --transport tcp => --transport tcp: nodes of iroh do not have it (accepted: quic)
--stack iroh --budget connection=1 => has no site connection (accepted: quic-connection, quic-endpoint)
--stack h2 --yamux . => nodes of h2 do not depend on a crate yamux
--stack iroh --subject released+quic-connection=1 => --subject released+quic-connection=1: released@VERSION and +BUDGET are for libp2p only
--precision 1 => accepted: TIME,PERCENT
--turn 1 => 1 is not in 5..=600000
--rate 0 => "0" is zero
--rate 1e3 => unknown unit "e3"
--rate 10 --outstanding 2 => cannot be used with
--outstanding 0 => accepted: a number from 1 to 1024, or max
--workload stream --outstanding max => --outstanding max: only the workload request-response
--outstanding max --subject released => --outstanding max: each subject
--workload stream --rate 10 => --rate: the workload stream
--workload gossipsub --outstanding 2 => --outstanding: the workload gossipsub
--workload gossipsub --payload 0B => the workload gossipsub needs at least 16B
--crowd 24x100us => "24x100us" is no crowd (accepted: TASKSxTIME@SHARE
--workload duplex --rate 1 => --workload duplex: it has no rate
--workload duplex --payload 8B => --payload 8B: the workload duplex needs at least 16B
--workload burst --outstanding 2 => --outstanding: the workload burst
--workload handshakes --outstanding 2 => --outstanding: the workload handshakes
--workload burst --rate 0.1 => --rate 0.1: the workload burst has at least 0.5 per second
--workload idle --rate 1 => --workload idle
--runtime current-thread --workers 2 => --workers 2: a current-thread runtime has one worker
--central-core 0-1 => --central-core 0-1: there is one core for each worker (accepted: --workers 2)
--runtime-setting event_interval=0 => --runtime-setting event_interval=0: unknown (accepted: event_interval=N,
--runtime current-thread,event_interval=0 => --runtime event_interval=0: unknown (accepted: event_interval=N,
--runtime single => --runtime single: unknown scheduler (accepted: current-thread, multi-thread)
--runtime-setting lifo_slot=off => only a multi-thread runtime has it (accepted: --runtime multi-thread)
--runtime multi-thread --runtime-setting lifo_slot=off => was built without tokio's unstable options
--runtime-setting event_interval=9 --subject released => cannot be used with
--jobs many => accepted: auto, or a number from 1 to 1024
--jobs auto --central-core 0 => cannot be used with
--delay magic => possible values: auto, netem, nfqueue
--loss 2 => has no unit
--rtt 10 --jitter 6ms => --jitter 6ms
--central-core 4096 => 4096
--delay nfqueue --loss 0.1% => --delay nfqueue: the delay line only delays
--name a/b => --name "a/b"
--name a|b => letters, digits, -, _ and .
--rtt 0.0001 => is less than 1us
--payload 4096 => "4096" has no unit
--subject /proc => /proc: it is no checkout
--quick --peers 1 => cannot be used with
--candidate muxer=1 => --search
--shard 1/2 --name run => required arguments were not provided: --seed
--shard 3/2 => there is no part 3 of 2
--shard 0/2 => there is no part 0 of 2
--shard 2 => accepted: 2/8, slurm
--shard kubernetes/2 => JOB_COMPLETION_INDEX is not set
--shard 1/13 --seed 1 --name run --quick => 13 parts, but the grid has 12 cells
--subject released --peers-subject other => --peers-subject: there is no subject "other" (accepted: first, same,
--peers-subject same => --peers-subject: there are no subjects (add --subject)
--subject relesed => accepted: released; released@VERSION for libp2p, such as released@0.56; PATH
--subject released@0.1 => accepted: 0.57, 0.56, 0.55
--subject /@main => /: it is not the top folder of a git repository
--subject released --subject released => --subject: released is given twice
--yamux /nowhere@main => there is no such folder
--nonsense => --nonsense
"#;

#[test]
fn wrong_arguments_are_one_line_and_nothing_is_written() {
    let bench = Bench::new();
    let sweep = || {
        let mut command = bench.command(&["sweep", "--measure-only", "--out"]);
        command.arg(bench.out());
        command
    };
    bench.refuses(sweep, WRONG);
    bench.refuses(sweep, "--name \u{1b}[2J => --name \"\\u{1b}[2J\"");
    bench.refuses(
        sweep,
        "--congestion-control x;reboot => the kernel has no congestion control \"x;reboot\"",
    );
}

#[test]
fn results_are_never_overwritten() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.run_dir()).unwrap();
    let complaint = complaint(&bench.sweep(&["--quick"]).output().unwrap());
    holds(&complaint, &["exists already", "--resume"]);
    assert_eq!(std::fs::read_dir(bench.run_dir()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_written_is_said_at_once() {
    let bench = Bench::new();
    let output = bench
        .command(&words("sweep --measure-only --quick --out /proc/nowhere"))
        .output()
        .unwrap();
    assert!(complaint(&output).contains("--out"));
}

#[test]
fn what_cannot_be_resumed_is_said() {
    let bench = Bench::new();
    let complaints = |bench: &Bench| complaint(&bench.resume().output().unwrap());
    assert!(complaints(&bench).contains("No such file"));
    std::fs::create_dir_all(bench.run_dir()).unwrap();
    for (manifest, says) in [
        ("", "EOF while parsing"),
        ("{}", "missing field `schema`"),
        ("{\"schema\": 99}", "its schema is 99"),
        ("{\"schema\": 3}", "missing field `command`"),
    ] {
        std::fs::write(bench.run_dir().join("manifest.json"), manifest).unwrap();
        let complaint = complaints(&bench);
        assert!(complaint.contains(says), "{manifest}: {complaint}");
    }
    let mixed = bench.resume().args(["--peers", "1"]).output().unwrap();
    assert!(complaint(&mixed).contains("--resume"));
}

#[test]
fn a_dry_run_shows_the_order_which_the_seed_decides() {
    let bench = Bench::new();
    let order = |seed: &str| {
        let output = bench
            .command(&["sweep", "--dry-run", "--seed", seed])
            .output()
            .unwrap();
        assert!(output.status.success());
        text(&output.stdout)
    };
    let first = order("7");
    assert_eq!(first.lines().count(), 328);
    holds(&first, &["320 runs × 6 variants, at most ", "Seed 7"]);
    assert_eq!(first, order("7"));
    assert_ne!(first, order("8"));
}

#[test]
fn the_list_has_every_cell_and_variant() {
    let bench = Bench::new();
    let list = |arguments: &[&str]| {
        text(
            &bench
                .command(&["sweep", "--dry-run"])
                .args(arguments)
                .output()
                .unwrap()
                .stdout,
        )
    };
    let default = list(&[]);
    assert!(default.starts_with("120 cells, 6 variants"), "{default}");
    holds(&default, &["  none (A/A)\n", "  muxer=1/deferred\n"]);
    assert!(list(&["--quick"]).starts_with("12 cells,"));
    assert!(!list(&["--no-aa"]).contains("A/A"));
    assert!(
        list(&["--rtt", "0.5", "--peers", "3", "--payload", "1KiB"])
            .contains("pl001024_rtt000.5_n03")
    );
}

#[test]
fn subjects_are_listed_and_launched_together() {
    let bench = Bench::new();
    let folder = bench.dir.path().join("my libp2p");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("Cargo.toml"), MANIFEST).unwrap();
    let run = |arguments: &[&str]| {
        let mut sweep = bench.command(&["sweep", "--subject", "released", "--subject"]);
        sweep.arg(&folder).args(arguments);
        let cells = ["--peers", "1,2", "--rtt", "0", "--payload", "1KiB"];
        let output = succeeds(sweep.args(cells));
        text(&output.stdout)
    };
    let list = run(&["--dry-run"]);
    holds(
        &list,
        &[", 1 variants", "3 subjects, the first is the baseline:\n"],
    );
    holds(&list, &["  released (A/A): ", "  my libp2p: folder "]);
    assert!(!run(&["--dry-run", "--no-aa"]).contains("A/A"));

    let order = run(&["--dry-run", "--repeat", "5", "--seed", "3"]);
    let launches: Vec<&str> = order
        .lines()
        .filter(|line| line.contains("  run "))
        .collect();
    assert_eq!(launches.len(), 2 * 5 * 3, "{order}");
    // Both cells have had a run before any has its next one.
    for (at, together) in launches.chunks(3).enumerate() {
        for (name, line) in ["released", "released (A/A)", "my libp2p"]
            .iter()
            .zip(together)
        {
            let wanted = format!("  run {}, {name}  ", at / 2 + 1);
            assert!(line.contains(&wanted), "{wanted}: {together:?}");
        }
    }
}

#[test]
fn a_label_that_is_no_file_name_is_refused() {
    let bench = Bench::new();
    let folder = bench.dir.path().join("a".repeat(200));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("Cargo.toml"), MANIFEST).unwrap();
    let mut command = bench.command(&["sweep", "--dry-run", "--subject"]);
    let said = complaint(&command.arg(&folder).output().unwrap());
    assert!(said.contains("too long for a file name"), "{said}");
}

const NOTES_ITS_RUN: &str = "#!/bin/sh\ntouch \"$0.was-run\"\nexit 1\n";

/// A program in the working folder is somebody's data.
#[test]
fn no_program_of_the_working_folder_is_run() {
    let bench = Bench::new();
    for name in ["git", "ip", "tc", "iptables"] {
        write_program(&bench.dir.path().join(name), NOTES_ITS_RUN);
    }
    let source = bench.dir.path().join("source");
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join("Cargo.toml"), "text").unwrap();
    for arguments in [
        &["preflight"][..],
        &["sweep", "--dry-run", "--subject", "source"],
    ] {
        let mut command = bench.command(arguments);
        let command = command.current_dir(bench.dir.path());
        command.env("PATH", ".:").output().unwrap();
    }
    let entries = std::fs::read_dir(bench.dir.path()).unwrap();
    assert_eq!(entries.count(), 5, "a program was run");
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let bench = Bench::new();
    for verb in ["sweep", "explain", "rr", "soak", "lab"] {
        let output = bench.command(&[verb, "--help"]).output().unwrap();
        assert!(
            output.status.success() && text(&output.stdout).contains("Examples:"),
            "{verb}"
        );
    }
    let bare = bench.command(&[]).output().unwrap();
    assert!(complaint(&bare).contains("sweep, explain, rr, soak, lab, preflight"));
}

/// `./sweep.sh` in a fresh clone, with a program in cargo's place that notes that it was called.
#[test]
fn help_and_mistyped_options_need_no_build() {
    let bench = Bench::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let help = bench.command(&["sweep", "--help"]).output().unwrap();
    let file = root.join("latency-benchmark/sweep-help.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &help.stdout).unwrap();
    }
    let known = std::fs::read_to_string(file).unwrap();
    assert_eq!(text(&help.stdout), known, "run the tests with BLESS=1");
    let version = bench.command(&["sweep", "--version"]).output().unwrap();
    let cargo = bench.dir.path().join("cargo");
    write_program(&cargo, NOTES_ITS_RUN);
    let script = |arguments: &[&str]| {
        let mut command = Command::new(root.join("sweep.sh"));
        let path = format!("{}:/usr/bin:/bin", bench.dir.path().display());
        command.args(arguments).env("PATH", path);
        command.output().unwrap()
    };
    for (asked, answer) in [("--help", &help), ("-h", &help), ("--version", &version)] {
        let output = script(&["--quick", asked]);
        assert!(output.status.success(), "{asked}");
        assert_eq!(text(&output.stdout), text(&answer.stdout), "{asked}");
    }
    for mistyped in ["--peerz", "--peers-", "-q", "--rt=5"] {
        let said = complaint(&script(&["--quick", mistyped]));
        let option = mistyped.split('=').next().unwrap();
        holds(&said, &[&format!("unexpected argument '{option}'")]);
    }
    let was_run = bench.dir.path().join("cargo.was-run");
    assert!(!was_run.exists());
    script(&words("--peers 5 --rtt=-1,0 --dry-run --budget none"));
    assert!(was_run.exists());
}

#[test]
fn files_that_are_no_regular_files_are_refused_at_once() {
    let bench = Bench::new();
    let path = |name: &str| bench.dir.path().join(name).display().to_string();
    let (pipe, long, plain) = (path("pipe"), path("long"), path("plain"));
    nix::unistd::mkfifo(&*pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let long_file = std::fs::File::create(&long).unwrap();
    long_file.set_len(65 << 20).unwrap();
    let long_diff = format!("released+{long}");
    std::fs::write(&plain, "text").unwrap();
    let folder = bench.dir.path().display().to_string();
    for (option, file, says) in [
        ("--workload", "/dev/zero", "it is no regular file"),
        ("--workload", &pipe, "it is no regular file"),
        ("--workload", &folder, "it is no regular file"),
        ("--workload", &long, "up to 1 MiB"),
        ("--node", "/dev/zero", "it is no executable file"),
        ("--node", &pipe, "it is no executable file"),
        ("--node", &folder, "it is no executable file"),
        ("--node", &plain, "it is no executable file"),
        ("--node", "/nowhere", "it is no executable file"),
        (
            "--subject",
            "released+/dev/zero.diff",
            "neither a file nor a budget",
        ),
        ("--subject", &long_diff, "up to 64 MiB"),
    ] {
        let mut sweep = bench.sweep(&["--dry-run", option, file]);
        let said = complaint(&sweep.output().unwrap());
        assert!(said.contains(says), "{option} {file}: {said}");
    }
}

#[test]
fn schedulers_number_the_shards() {
    let bench = Bench::new();
    let plan = |shard: &str, variables: &[(&str, &str)]| {
        let mut command = bench.command(&["sweep", "--dry-run", "--quick", "--seed", "7"]);
        command.args(["--name", "run", "--shard", shard]);
        let output = succeeds(command.envs(variables.iter().copied()));
        text(&output.stdout)
    };
    let second = plan("2/4", &[]);
    assert!(second.starts_with("3 cells,"), "{second}");
    let slurm = [
        ("SLURM_ARRAY_TASK_ID", "2"),
        ("SLURM_ARRAY_TASK_COUNT", "4"),
    ];
    assert_eq!(plan("slurm", &slurm), second);
    assert_eq!(plan("slurm/4", &slurm[..1]), second);
    let kubernetes = [("JOB_COMPLETION_INDEX", "1")];
    assert_eq!(plan("kubernetes/4", &kubernetes), second);
    assert_ne!(plan("3/4", &[]), second);
}

/// Options of which none runs another program.
#[rustfmt::skip]
const OPTIONS: [&str; 36] = [
    "--peers", "--rtt", "--payload", "--quick", "--budget", "--runtime-setting", "--no-aa", "--stack", "--workload",
    "--security", "--transport", "--outstanding", "--rate", "--runtime", "--workers", "--crowd", "--delay", "--loss",
    "--jitter", "--congestion-control", "--receive-on", "--central-core", "--repeat", "--turn", "--settle",
    "--time", "--max-cell-seconds", "--precision", "--jobs", "--shard", "--seed", "--prove", "--node",
    "--name", "--allow", "--nothing",
];

/// Values that options take, and values that none takes.
#[rustfmt::skip]
const VALUES: [&str; 41] = [
    "1", "2", "5,10", "0", "-1", "1.5", "250", "251", "18446744073709551616", "1e300", "NaN", "inf", "", " ", ",", "4KiB",
    "256KiB,4KiB", "17MiB", "none", "connection=8", "muxer=1/deferred", "muxer=1@both", "task=coop", "muxer=0", "libp2p",
    "h2", "iroh", "stream", "gossipsub", "noise", "quic", "multi-thread", "24x100us@30%", "netem", "20ms", "2ms,5%", "1/3",
    "3/1", "../../etc/passwd", "/dev/zero", "\u{1b}[2J\u{202e}",
];

/// `FUZZ_TRIES` says how many.
#[test]
fn a_command_line_is_a_plan_or_is_refused_in_one_line() {
    const FEW: u64 = 25;
    let tries = env::var("FUZZ_TRIES").map_or(FEW, |text| text.parse().unwrap());
    let bench = Bench::new();
    let mut wrong = Vec::new();
    for seed in 0..tries {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", "20", PROGRAM]);
        let mut arguments = vec![
            *["sweep", "sweep", "sweep", "rr", "swep"]
                .choose(&mut rng)
                .unwrap(),
        ];
        for _ in 0..rng.random_range(0..4) {
            arguments.push(OPTIONS.choose(&mut rng).unwrap());
            arguments.push(VALUES.choose(&mut rng).unwrap());
        }
        bench.prepare(&mut command);
        command
            .args(&arguments)
            .arg("--dry-run")
            .arg("--out")
            .arg(bench.out());
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        let lines = said
            .lines()
            .filter(|line| !line.starts_with("warning: "))
            .count();
        let is_right = match output.status.code() {
            Some(0) => lines == 0,
            Some(2) => lines == 1,
            _ => false,
        };
        if !is_right || said.contains("panicked") || bench.out().exists() {
            wrong.push(format!(
                "seed {seed}: {arguments:?}: {:?}: {said}",
                output.status
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
