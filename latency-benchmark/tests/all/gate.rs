//! `--gate`: counts that do not vary, of two programs.

use std::fs;
use std::path::Path;
use std::process::Output;

use program::tool;
use swarm_patch::package::upstream_manifest;
use swarm_patch::{pristine, sync};

use crate::bench::{
    Bench, Row, build_program, holds, lacks_nothing, node_program, table, text, write_program,
};

/// The cells that are counted soonest. Callgrind would take long with a program that is not optimised.
#[rustfmt::skip]
const SMALL: [&str; 7] = [
    "--peers", "1", "--payload", "16KiB", "--security", "plaintext", "--no-instructions",
];

fn gate(bench: &Bench, arguments: &[&str]) -> Output {
    let mut sweep = bench.command(&["sweep", "--gate", "--name", "run"]);
    sweep.arg("--out").arg(bench.out()).args(arguments);
    sweep.output().unwrap()
}

/// Compares two budgets of this workspace's program, which no subject has to be built for. It has the thread of
/// futures-timer, which disturbs requests, as each of them has a timer.
fn budgets(bench: &Bench, head: &str, more: &[&str]) -> Output {
    let node = node_program("libp2p-node-gate");
    let node = ["--workload", "stream", "--node", node.to_str().unwrap()];
    let compared = ["--budget", "connection=128", "--budget", head];
    gate(bench, &[&SMALL[..], &node, &compared, more].concat())
}

/// Returns what a gate printed that ended with that exit code.
fn printed(output: &Output, code: i32) -> String {
    let said = text(&output.stdout);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}{errors}");
    said
}

#[test]
fn a_budget_that_ends_polls_is_refused_and_one_that_ends_none_changes_no_count() {
    let bench = Bench::new();
    let output = budgets(&bench, "none", &[]);
    let said = printed(&output, 0);
    assert!(
        said.starts_with("**No count changed**, in 4 cells."),
        "{said}"
    );
    let report = fs::read_to_string(bench.run_dir().join("gate.md")).unwrap();
    assert!(said.starts_with(&report), "{said}\n{report}");

    let bench = Bench::new();
    let output = budgets(&bench, "muxer=1", &[]);
    let said = printed(&output, 1);
    let first = "**`muxer`: counts rose by more than is allowed**, in 4 of 4 cells.";
    assert!(said.starts_with(first), "{said}");
    assert!(said.contains("yields 0 → "), "{said}");
    assert!(said.contains("(new) ▲"), "{said}");
    // What was counted is there, by site and child.
    let counts = table(&bench.run_dir().join("counts.csv"));
    for (kind, site, child) in [
        ("polls", "connection", "muxing.poll_unpin"),
        ("iterations", "muxer", ""),
        ("wakes", "", ""),
        ("allocations", "muxer", "self.socket.poll_ready_unpin"),
        ("frees", "", ""),
    ] {
        let is_it = |row: &Row| row["kind"] == kind && row["site"] == site && row["child"] == child;
        assert!(counts.iter().any(is_it), "{kind} {site} {child}");
    }
    if lacks_nothing(["strace"].into_iter().filter(|name| !tool(name).is_file())) {
        let is_call =
            |row: &&Row| row["kind"] == "system-calls" && row["cell"].starts_with("socket");
        let calls: Vec<&Row> = counts.iter().filter(is_call).collect();
        for call in ["sendto", "recvfrom"] {
            // Both programs run the cell twice.
            let call_rows = calls.iter().filter(|row| row["child"] == call);
            assert_eq!(call_rows.count(), 4, "{call}: {calls:?}");
        }
    }
    // The pipe takes less than a frame at once.
    let written = |transport: &str| {
        let mut rows = counts.iter().filter(|row| {
            let is_it = row["cell"].starts_with(transport) && row["program"] == "base";
            is_it && row["kind"] == "polls" && row["child"] == "self.socket.poll_ready_unpin"
        });
        rows.next().unwrap()["count"].parse::<u64>().unwrap()
    };
    assert!(written("pipe, ") > written("memory, "));
}

/// The output of a program that counts, the values in it, and what one of them becomes.
const COUNTED: &str = r#"{"requests":4,"counts":[[{"kind":"polls","site":"muxer","child":null},8],[{"kind":"bytes","site":"muxer","child":"a"},3],[{"kind":"wakes","site":null,"child":null},9]]}"#;
#[rustfmt::skip]
const PLACES: [&str; 8] = [
    "4", "8", "\"polls\"", "\"muxer\"", "null", "\"a\"", "3", "9",
];
#[rustfmt::skip]
const VALUES: [&str; 11] = [
    "0", "-1", "1e300", "NaN", "1000000000000001", "18446744073709551615", "null", "[]", "\"x\"", "\"`\\n# d|\"",
    r#""\u001b[2J""#,
];

/// Compares a budget by a script in place of the program that counts.
fn gate_of_script(bench: &Bench, script: &str) -> Output {
    let node = bench.dir.path().join("counts");
    write_program(&node, script);
    let compared = "--budget none --budget muxer=1 --workload stream --node".split(' ');
    let compared = compared.chain([node.to_str().unwrap()]);
    gate(
        bench,
        &SMALL.into_iter().chain(compared).collect::<Vec<_>>(),
    )
}

#[test]
fn damaged_counts_are_refused_or_make_figures_that_can_be() {
    for (place, value) in PLACES
        .into_iter()
        .flat_map(|place| VALUES.map(|value| (place, value)))
    {
        let bench = Bench::new();
        let damaged = COUNTED.replacen(place, value, 1);
        let script = format!(
            "#!/bin/sh\ncase $1 in *muxer*) cat <<'END'\n{damaged}\nEND\n;; *) cat <<'END'\n{COUNTED}\nEND\n;; esac\n"
        );
        let output = gate_of_script(&bench, &script);
        let said = text(&output.stdout);
        let what = format!("{damaged}: {said}{}", text(&output.stderr));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{what}");
        let report = fs::read_to_string(bench.run_dir().join("gate.md")).unwrap();
        let is_command = |letter: char| letter.is_control() && letter != '\n';
        assert!(
            !report.contains(is_command) && !report.contains("\n# d"),
            "{what}"
        );
        // Why a cell failed may quote what was damaged.
        let counted = said.lines().filter(|line| !line.contains("failed: "));
        let numbers = counted.flat_map(str::split_whitespace);
        let numbers =
            numbers.map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()));
        let mut numbers = numbers.filter_map(|word| word.parse::<f64>().ok());
        // A count of 10^15 for one request is not refused.
        let can_be = |number: f64| number.is_finite() && number <= 1e18;
        assert!(numbers.all(can_be), "{what}");
    }
}

/// A program whose first run differs from all others, and one whose runs all differ.
#[test]
fn a_cell_whose_runs_differ_runs_again_until_two_agree() {
    for (polls, code, says) in [
        (
            "if mkdir ${0%/*}/first 2>/dev/null; then polls=9; else polls=8; fi",
            0,
            "Counted more than twice, since two runs of a program differed: 1 cell.",
        ),
        ("polls=$$", 3, "base, 5 runs: `muxer`: polls "),
    ] {
        let bench = Bench::new();
        let counted = COUNTED.replacen('8', "'$polls'", 1);
        let script = format!("#!/bin/sh\n{polls}\necho '{counted}'\n");
        let output = gate_of_script(&bench, &script);
        let said = printed(&output, code);
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn http2_is_counted_too() {
    let node = build_program("h2-node").with_file_name("h2-node-gate");
    let node = ["--stack", "h2", "--node", node.to_str().unwrap()];
    let compare = |head, code| {
        let bench = Bench::new();
        let compared = ["--budget", "none", "--budget", head];
        printed(
            &gate(&bench, &[&SMALL[..], &node, &compared].concat()),
            code,
        )
    };
    // No poll handles so many frames.
    let said = compare("connection=1000000", 0);
    assert!(
        said.starts_with("**No count changed**, in 4 cells."),
        "{said}"
    );
    let said = compare("connection=4", 1);
    let first = "**`connection`: counts rose by more than is allowed**";
    assert!(said.starts_with(first), "{said}");
    assert!(said.contains("yields 0 → "), "{said}");
}

#[test]
fn a_rise_that_is_allowed_is_told_and_not_refused() {
    let bench = Bench::new();
    let all =
        "polls,iterations,yields,wakes,superfluous-wakes,allocations,bytes,frees,system-calls";
    let allow = all.split(',').map(|kind| format!("{kind}=1000000"));
    let allow = allow.collect::<Vec<_>>().join(",");
    let output = budgets(&bench, "muxer=1", &["--allow", &allow]);
    let said = printed(&output, 0);
    let first = "**`muxer` changed, and no count rose by more than is allowed**, in 4 of 4 cells.";
    assert!(said.starts_with(first), "{said}");
    assert!(
        said.contains("yields 0 → ") && !said.contains('▲'),
        "{said}"
    );
}

#[test]
fn a_program_that_fails_is_a_line_of_the_report() {
    let bench = Bench::new();
    let compared = ["--budget", "none", "--budget", "connection=2"];
    let output = gate(
        &bench,
        &[&SMALL[..], &["--node", "/bin/false"], &compared].concat(),
    );
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("**No cell was compared"), "{said}");
    holds(
        &said,
        &[
            "- failed: memory, plaintext, request-response, N=1, 16 KiB × 2: base: the program ended with exit code 1",
        ],
    );
}

const WRONG: &str = r#"
--budget none => accepted: two --subject
--budget none --budget muxer=1 --budget muxer=2 => accepted: two --subject
--stack iroh => no cell has this --stack
--stack h2 --security noise => nodes of h2 do not have it (accepted: plaintext)
--stack h2 --workload stream => nodes of h2 do not have it (accepted: request-response)
--stack h2 --budget none --budget muxer=1 => has no site muxer
--stack h2 --yamux released => yamux
--peers 3 --budget none --budget muxer=1 => no cell has this --stack, --peers
--budget none --budget quic-endpoint=1 => has no site quic-endpoint
--allow polls=-1 => accepted: KIND=RISE
--rtt 0 => cannot be used with
"#;

#[test]
fn wrong_arguments_are_refused() {
    let bench = Bench::new();
    let gate = || {
        let mut command = bench.command(&["sweep", "--gate", "--name", "run", "--out"]);
        command.arg(bench.out());
        command
    };
    bench.refuses(gate, WRONG);
}

/// A crate, a file of it, a text that it has, and what takes its place.
type TextEdit = (&'static str, &'static str, &'static str, &'static str);

/// The release with these edits.
fn edited(scratch: &Path, edits: &[TextEdit]) -> String {
    let mut subject = "released".to_owned();
    for name in ["libp2p-swarm", "yamux", "h2"] {
        if edits.iter().any(|edit| edit.0 == name) {
            let dir = scratch.join(name);
            let sources = pristine::find(&upstream_manifest(), &[name]).unwrap();
            sync::folder(&sources[0].dir, &dir).unwrap();
            fs::remove_file(dir.join(".cargo-ok")).unwrap();
            subject += &format!("+{name}={}", dir.display());
        }
    }
    for (name, file, from, to) in edits {
        let file = scratch.join(name).join(file);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{} has no {from}", file.display());
        fs::write(&file, text.replace(from, to)).unwrap();
    }
    subject
}

/// Compares the release with a change of it.
fn compare(edits: &[TextEdit], arguments: &[&str]) -> (Option<i32>, String) {
    let (bench, scratch) = (Bench::new(), tempfile::tempdir().unwrap());
    let subject = edited(scratch.path(), edits);
    let subjects = ["--subject", "released", "--subject", &subject];
    let output = gate(&bench, &[&subjects[..], arguments].concat());
    let said = text(&output.stdout) + &text(&output.stderr);
    (output.status.code(), said)
}

const YAMUX: &str = "src/connection.rs";
const STREAM: &str = "src/connection/stream.rs";
const FRAMES: &str = "src/frame/io.rs";
const SWARM: &str = "src/connection.rs";

/// A fault, the exit code, and what the report says of it.
const FAULTS: [(TextEdit, i32, &str); 6] = [
    (
        (
            "yamux",
            YAMUX,
            "shared.buffer.push(frame.into_body());\n            if let Some(w) = shared.reader.take() {",
            "shared.buffer.push(frame.into_body());\n            if let Some(w) = shared.reader.take() { w.wake_by_ref();",
        ),
        1,
        "**`muxer`, own code: counts rose by more than is allowed**",
    ),
    (
        (
            "libp2p-swarm",
            SWARM,
            "match muxing.poll_unpin(cx)? {",
            "let _ = muxing.poll_unpin(cx)?; match muxing.poll_unpin(cx)? {",
        ),
        1,
        "**`connection`, `muxing.poll_unpin`: counts rose by more than is allowed**",
    ),
    (
        (
            "yamux",
            YAMUX,
            "fn on_data(&mut self, frame: Frame<Data>) -> Action {",
            "fn on_data(&mut self, frame: Frame<Data>) -> Action { drop(std::hint::black_box(Box::new(1_u64)));",
        ),
        1,
        "**`muxer`, own code: counts rose by more than is allowed**",
    ),
    // A copy of a buffer.
    (
        (
            "yamux",
            YAMUX,
            "shared.buffer.push(frame.into_body());\n            if let",
            "shared.buffer.push(frame.body().to_vec());\n            if let",
        ),
        1,
        "**`muxer`, own code: counts rose by more than is allowed**",
    ),
    // A flush less. A fall is told and not refused.
    (
        (
            "yamux",
            YAMUX,
            "match self.socket.poll_flush_unpin(cx)? {",
            "match Poll::Ready(()) {",
        ),
        0,
        "**`muxer`, `self.socket.poll_flush_unpin` changed, and no count rose by more than is allowed**",
    ),
    // Without another thread at it, a lock makes no system call.
    (LOCK, 0, "**No count changed**"),
];

const LOCK: TextEdit = (
    "yamux",
    YAMUX,
    "if self.socket.poll_ready_unpin(cx).is_ready() {",
    "drop(self.accumulated_max_stream_windows.lock()); if self.socket.poll_ready_unpin(cx).is_ready() {",
);

#[test]
#[ignore = "exhaustive: builds seven programs"]
fn exhaustive_a_planted_fault_is_found_and_named() {
    let (code, said) = compare(&[], &SMALL);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("**No count changed**, in 8 cells."), "{said}");
    for (edit, expected, named) in FAULTS {
        let (code, said) = compare(&[edit], &SMALL);
        assert_eq!(code, Some(expected), "{edit:?}: {said}");
        assert!(said.contains(named), "{edit:?}: {said}");
    }
    if !lacks_nothing(
        ["valgrind"]
            .into_iter()
            .filter(|name| !tool(name).is_file()),
    ) {
        return;
    }
    // Only instructions tell of a lock.
    let instructions = ["--workload", "stream", "--allow", "instructions=50%"];
    let (code, said) = compare(&[LOCK], &[&SMALL[..6], &instructions].concat());
    assert_eq!(code, Some(0), "{said}");
    holds(
        &said,
        &["**central changed, and no count rose by more than is allowed**"],
    );
    assert!(said.contains(": instructions "), "{said}");
    assert!(said.contains("utex"), "{said}");
}

#[test]
#[ignore = "exhaustive: builds two programs"]
fn exhaustive_a_planted_fault_of_http2_is_found_and_named() {
    let allocates: TextEdit = (
        "h2",
        "src/proto/streams/recv.rs",
        "let sz = frame.flow_controlled_len();",
        "let sz = frame.flow_controlled_len(); drop(std::hint::black_box(Box::new(sz)));",
    );
    let http2 = [&SMALL[..], &["--stack", "h2"]].concat();
    let (code, said) = compare(&[], &http2);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("**No count changed**, in 4 cells."), "{said}");
    let (code, said) = compare(&[allocates], &http2);
    assert_eq!(code, Some(1), "{said}");
    let named = "**`connection`, own code: counts rose by more than is allowed**";
    assert!(said.contains(named), "{said}");
}

/// Names, the order of fields, and where functions are. Two of the fields are children.
const REFACTORINGS: [TextEdit; 12] = [
    ("yamux", YAMUX, "pending_write_frame", "next_frame"),
    ("yamux", YAMUX, "stream_receivers", "commands"),
    ("yamux", YAMUX, "on_window_update", "receive_credit"),
    (
        "yamux",
        YAMUX,
        "    id: Id,\n    mode: Mode,\n    config: Arc<Config>,\n",
        "    config: Arc<Config>,\n    mode: Mode,\n    id: Id,\n",
    ),
    // Into an `impl` of their own, with all that follows.
    (
        "yamux",
        YAMUX,
        "    fn next_stream_id(",
        "}\n\nimpl<T: AsyncRead + AsyncWrite + Unpin> Active<T> {\n    fn next_stream_id(",
    ),
    ("yamux", STREAM, "send_window_update", "send_credit"),
    (
        "yamux",
        STREAM,
        "    flag: Flag,\n    shared: Arc<Mutex<Shared>>,\n}",
        "    shared: Arc<Mutex<Shared>>,\n    flag: Flag,\n}",
    ),
    ("yamux", FRAMES, "write_state", "writing"),
    ("libp2p-swarm", SWARM, "negotiating_out", "outgoing"),
    ("libp2p-swarm", SWARM, "protocol_buffer", "changed"),
    ("libp2p-swarm", SWARM, "compute_new_shutdown", "plan_end"),
    (
        "libp2p-swarm",
        SWARM,
        "    idle_timeout: Duration,\n    stream_counter: ActiveStreamCounter,\n}",
        "    stream_counter: ActiveStreamCounter,\n    idle_timeout: Duration,\n}",
    ),
];

#[test]
#[ignore = "exhaustive: builds two programs"]
fn exhaustive_refactorings_change_no_count() {
    let (code, said) = compare(&REFACTORINGS, &SMALL);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("**No count changed**, in 8 cells."), "{said}");
}
