//! Tests of the library from inside a lab. Each scenario runs in its own process, because a process can enter
//! a lab only while it has a single thread. For the same reason this file has its own `main`.

use std::io::Read;
use std::process::{Child, ChildStdout, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use std::{env, thread};

use lab::preflight::preflight;
use lab::{Inside, KillOnDrop, Lab, LabSpec, NodePlace, Topology, can_receive_on_receiver};
use program::{ChildLimits, wait_within};
use run_format::{Backend, DelayBackend, LinkRtt, ReceiveOn, SchedulingClass, Sharing};

/// A machine that is busy or emulated takes its time. What takes longer has no end.
const PATIENCE: ChildLimits = ChildLimits {
    time: Duration::from_secs(600),
    bytes: 1 << 20,
};

type Scenario = fn(Inside);

/// A feature of the machine that a scenario needs.
#[derive(Clone, Copy)]
enum Need {
    /// Namespaces and links.
    Links,
    /// Links, and netem or the delay line.
    Delay,
    /// Links, and netem. It depends on the kernel alone, so it may be missing in CI too.
    Netem,
    /// Links, and packets received on the receiver's cores. It depends on the kernel alone too.
    Steering,
}

/// The name, the requirement and the function of each scenario.
macro_rules! scenarios {
    ($($name:ident: $need:ident,)*) => {
        const SCENARIOS: &[(&str, Need, Scenario)] = &[$((stringify!($name), Need::$need, $name)),*];
    };
}

scenarios! {
    fifteen_peers_have_every_rtt: Delay,
    without_a_delay_fifteen_peers_are_near: Links,
    sixty_four_peers_are_wired: Delay,
    the_settings_are_in_force: Links,
    packets_are_received_on_the_receivers_core: Steering,
    a_dropped_child_is_dead: Links,
    the_delay_line_reports_what_it_did: Delay,
    counters_without_a_source_are_unknown: Links,
    two_labs_live_side_by_side: Delay,
    netem_delays_loses_and_counts: Netem,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["delay-line"] => {
            lab::delay_line::run().expect("the delay line works");
            ExitCode::SUCCESS
        }
        // A process can enter a lab only once, so the checks have one of their own.
        ["preflight"] => {
            println!("{}", preflight(&lab::enter()));
            ExitCode::SUCCESS
        }
        ["scenario", name] => {
            let (_, _, scenario) = SCENARIOS
                .iter()
                .find(|(known, ..)| *known == name)
                .expect("it is one of ours");
            scenario(lab::enter().expect("namespaces were there a moment ago"));
            ExitCode::SUCCESS
        }
        ref arguments => run_all(arguments),
    }
}

/// Runs the scenarios whose names contain one of the arguments, or all scenarios, like libtest.
fn run_all(arguments: &[&str]) -> ExitCode {
    let words: Vec<&&str> = arguments
        .iter()
        .filter(|word| !word.starts_with('-'))
        .collect();
    let chosen = SCENARIOS
        .iter()
        .filter(|(name, ..)| words.is_empty() || words.iter().any(|word| name.contains(**word)));
    if arguments.contains(&"--list") {
        chosen.for_each(|(name, ..)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let checked = PATIENCE.output(&mut this_program(&["preflight"]));
    let printed = checked.expect("the checks end").stdout;
    let findings = String::from_utf8_lossy(&printed);
    let mut failed = 0;
    for (name, need, _) in chosen {
        let ended = has(*need, &findings).then(|| {
            let started = this_program(&["scenario", name]).spawn();
            let mut scenario = KillOnDrop {
                child: started.expect("it ran before"),
            };
            end(&mut scenario.child)
        });
        match ended {
            Some(status) if !status.success() => {
                failed += 1;
                println!("test {name} ... FAILED");
            }
            Some(_) => println!("test {name} ... ok"),
            None => println!("test {name} ... skipped"),
        }
    }
    ExitCode::from(u8::from(failed > 0))
}

fn this_program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().expect("it runs"));
    command.args(arguments);
    command
}

/// Whether this machine has what the scenario needs, as the checks found. If not, this says what is missing. In CI it panics,
/// unless the kernel alone lacks it.
fn has(need: Need, findings: &str) -> bool {
    let has_netem = || {
        let mut lines = findings.lines().map(str::split_whitespace);
        lines.any(|words| words.take(2).eq(["ok", "netem"]))
    };
    let (has, only_in_kernel) = match need {
        Need::Links => (
            findings.contains("cells without a delay (RTT 0) can run"),
            None,
        ),
        Need::Delay => (findings.contains("cells with a delay can run"), None),
        Need::Netem => (has_netem(), Some("netem")),
        Need::Steering => (can_receive_on_receiver(), Some("net.core.rps_default_mask")),
    };
    if has {
        return true;
    }
    if let Some(missing) = only_in_kernel {
        println!("skipped: missing {missing} in this kernel");
        return false;
    }
    let lines = findings.lines().filter(|line| line.starts_with("MISSING"));
    let missing: Vec<&str> = lines.collect();
    let in_ci = env::var("CI").is_ok_and(|value| value == "true");
    assert!(!in_ci, "in CI nothing may be missing: {missing:?}");
    println!("skipped: missing {missing:?}");
    false
}

/// Waits for the end of a child. Panics if that does not come.
fn end(child: &mut Child) -> ExitStatus {
    let status = wait_within(child, PATIENCE.time).expect("it is ours");
    status.expect("it ends in time")
}

/// The rest of what a process prints, which ends when nobody can write to the pipe any more. Panics if that does not happen.
fn rest(mut pipe: ChildStdout) -> String {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut text = String::new();
        let read = pipe.read_to_string(&mut text);
        sender.send(read.map(|_| text))
    });
    let text = receiver.recv_timeout(PATIENCE.time);
    text.expect("the pipe ends in time").expect("it is text")
}

fn spec(peers: usize, rtt: &str) -> LabSpec {
    let topology = Topology::for_this_process().expect("a machine with cores");
    let placement = topology.place(1, None).expect("at least one core");
    LabSpec {
        rtt: rtt.parse().expect("a time"),
        ..LabSpec::new(peers, placement)
    }
}

fn wired(inside: Inside, peers: usize, rtt: &str) -> Lab {
    Lab::wire(inside, spec(peers, rtt)).expect("this machine can")
}

fn assert_valid(lab: &mut Lab) {
    let report = lab.measure_rtt().expect("links answer");
    println!(
        "{} peers: wired in {:.0} ms; asked for {} ms, measured {:.3} to {:.3} ms in {:.0} ms",
        lab.facts().peers,
        lab.facts().wiring_ms,
        report.asked_ms,
        report
            .links
            .iter()
            .filter_map(LinkRtt::min_ms)
            .fold(f64::MAX, f64::min),
        report
            .links
            .iter()
            .filter_map(LinkRtt::min_ms)
            .fold(0.0, f64::max),
        report.took_ms,
    );
    // An emulated processor is too slow to say how late answers are. None may be early, or missing.
    let is_emulated = env::var_os("LAB_TEST_EMULATED").is_some();
    let earliest_ms = report.asked_ms.ms() - report.tolerance_ms.expect("a lab has one");
    let mut least = report.links.iter().map(LinkRtt::min_ms);
    let is_far = least.all(|least| least.is_some_and(|ms| ms >= earliest_ms));
    if let (Some(invalid), false) = (report.invalid(), is_emulated && is_far) {
        panic!("{invalid}");
    }
}

fn fifteen_peers_have_every_rtt(inside: Inside) {
    for rtt in ["5", "25", "50", "100", "200"] {
        assert_valid(&mut wired(inside, 15, rtt));
    }
}

fn without_a_delay_fifteen_peers_are_near(inside: Inside) {
    let mut lab = wired(inside, 15, "0");
    assert_eq!(lab.facts().backend, None);
    assert_eq!(lab.delay_line_pid(), None);
    assert_valid(&mut lab);
    assert_eq!(lab.finish().expect("there is nothing to end"), None);
}

fn sixty_four_peers_are_wired(inside: Inside) {
    assert_valid(&mut wired(inside, 64, "0"));
    assert_valid(&mut wired(inside, 64, "50"));
}

fn the_settings_are_in_force(inside: Inside) {
    let mut spec = spec(2, "0");
    spec.network.congestion_control = "reno".to_owned();
    let mut lab = Lab::wire(inside, spec).expect("this machine can");
    for place in [NodePlace::Central, NodePlace::Peer(1)] {
        let mut cat = Command::new("cat");
        cat.arg("/proc/sys/net/ipv4/tcp_rmem")
            .stdout(Stdio::piped());
        let mut process = lab.spawn_placed(place, cat).expect("there is a cat");
        let text = rest(process.child.stdout.take().expect("it is piped"));
        let sizes: Vec<&str> = text.split_whitespace().collect();
        let asked = lab.facts().tcp_buffers.receive_bytes;
        assert_eq!(sizes, asked.map(|bytes| bytes.to_string()));
    }
    let report = lab.measure_rtt().expect("links answer");
    assert_eq!(report.congestion_control_central.as_deref(), Some("reno"));
    assert_eq!(report.congestion_control_peers.as_deref(), Some("reno"));
}

fn packets_are_received_on_the_receivers_core(inside: Inside) {
    let mut asked = spec(2, "0");
    asked.network.receive_on = ReceiveOn::Receiver;
    if asked.network.placement.sharing == Sharing::Core {
        return println!("skipped: there is one core only");
    }
    /// Packets that a core received because another one had handed them over.
    fn steered() -> u64 {
        const RECEIVED_RPS: usize = 9;
        let text = std::fs::read_to_string("/proc/net/softnet_stat").expect("the kernel counts");
        let on_core = |line: &str| {
            let field = line.split_whitespace().nth(RECEIVED_RPS)?;
            u64::from_str_radix(field, 16).ok()
        };
        text.lines().filter_map(on_core).sum()
    }
    assert_eq!(wired(inside, 2, "0").facts().receive_masks, None);
    let mut lab = Lab::wire(inside, asked).expect("this machine can");
    let masks = lab.facts().receive_masks.clone().expect("they were set");
    assert_ne!(masks.central, masks.peers);
    let before = steered();
    assert_valid(&mut lab);
    // On whatever core this runs, the request or the answer of a connect goes to the other one.
    let links = 2;
    assert!(steered() >= before + links, "{before} to {}", steered());
}

fn a_dropped_child_is_dead(inside: Inside) {
    let lab = wired(inside, 1, "0");
    let mut cat = Command::new("cat");
    cat.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = lab
        .spawn_placed(NodePlace::Peer(0), cat)
        .expect("there is a cat");
    let output = process.child.stdout.take().expect("it is piped");
    let input = process.child.stdin.take().expect("it is piped");
    drop(process);
    assert_eq!(rest(output), "");
    drop(input);
}

fn the_delay_line_reports_what_it_did(inside: Inside) {
    let mut asked = spec(2, "10");
    asked.network.backend = Backend::Nfqueue;
    let mut lab = Lab::wire(inside, asked).expect("this machine can");
    assert_eq!(lab.facts().backend, Some(DelayBackend::Nfqueue));
    let before = lab.counters().expect("the kernel counts");
    assert_valid(&mut lab);
    let counted = lab.counters().expect("the kernel counts").since(&before);
    assert_eq!(counted.total().queue_dropped, Some(0));
    assert_eq!(counted.total().qdisc_dropped, None, "there is no netem");
    let report = lab.finish().expect("it reports").expect("there is one");
    assert_eq!(report.queues.len(), 3);
    assert_eq!(report.queues[0].namespace, "central");
    for queue in &report.queues {
        assert!(queue.packets >= 4, "{queue:?}");
        assert!(queue.verdicts > 0 && queue.verdicts <= queue.packets);
        assert_eq!(queue.dropped, Some(0));
    }
    if !inside.is_rootless() {
        assert_eq!(report.scheduling, SchedulingClass::Fifo);
    }
}

fn counters_without_a_source_are_unknown(inside: Inside) {
    let lab = wired(inside, 1, "0");
    let counters = lab.counters().expect("the kernel counts");
    assert_eq!(counters.total().qdisc_dropped, None);
    assert_eq!(counters.total().queue_dropped, None);
    let json = serde_json::to_value(&counters).expect("plain data");
    assert!(json["central"]["qdisc_dropped"].is_null(), "{json}");
}

fn two_labs_live_side_by_side(inside: Inside) {
    let mut near = wired(inside, 2, "0");
    let mut far = wired(inside, 2, "25");
    assert_valid(&mut far);
    assert_valid(&mut near);
}

fn netem_delays_loses_and_counts(inside: Inside) {
    for rtt in ["5", "50", "200"] {
        let mut lab = wired(inside, 3, rtt);
        assert_eq!(
            lab.facts().backend,
            Some(DelayBackend::Netem),
            "it is preferred"
        );
        assert_valid(&mut lab);
        let counters = lab.counters().expect("the kernel counts");
        assert_eq!(counters.total().qdisc_dropped, Some(0));
        assert_eq!(
            counters.total().queue_dropped,
            None,
            "there is no delay line"
        );
    }
    let mut impaired = spec(3, "20");
    impaired.network.loss_percent = Some(20.0);
    impaired.network.jitter_ms = "1ms".parse().ok();
    let mut lab = Lab::wire(inside, impaired).expect("netem was there a moment ago");
    assert_valid(&mut lab);
    // Some hundred packets, one in five of which is lost.
    let began = Instant::now();
    while lab
        .counters()
        .expect("the kernel counts")
        .total()
        .qdisc_dropped
        == Some(0)
    {
        assert!(began.elapsed() < Duration::from_secs(180), "none is lost");
        lab.measure_rtt().expect("links answer");
    }
}
