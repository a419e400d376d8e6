//! A node program and its verbs. Its task is in the first line of standard input.

use std::convert::Infallible;
use std::io::{self, BufRead};
use std::net::TcpListener;
use std::path::Path;
use std::process::{self, ExitCode};
use std::{env, thread};

use anyhow::{Context, Result};
use program::{Failure, bad_input, exit_main, lines_or_end, reject};
use run_format::checksums::sha256_of_program;
use run_format::{
    Budgets, CentralTask, Listen, Measured, Measurement, NodeConfig, NodeDescription, NodeMessage,
    PeerElsewhere, PeerTask, STOP_LINE, TURN_LINE,
};
use serde::de::DeserializeOwned;
use tokio::runtime;

use crate::central::Central;
use crate::process::heap::keep_freed_memory;
use crate::process::parent::report;
use crate::process::shared_page::SharedPage;

/// A node program of one network stack.
pub trait NodeProgram {
    /// Describes the program and how it was compiled.
    fn describe() -> NodeDescription;

    /// Refuses a node or measurement that this program does not support.
    fn check(node: &NodeConfig, measurement: &Measurement) -> Result<(), Failure>;

    /// Listens, calls [`announce`](crate::announce) with the address to dial, and serves until it is killed.
    fn peer(task: &PeerTask) -> impl Future<Output = Result<Infallible, Failure>>;

    /// Connects to the peers and sends them the load while that is measured.
    fn central(central: Central) -> Result<Measured, Failure>;
}

/// The description of a node program, from the files that its build script wrote with `swarm_patch::node_build`.
#[macro_export]
macro_rules! description {
    () => {
        $crate::described(
            include_str!(concat!(env!("OUT_DIR"), "/node.json")),
            include_str!(concat!(env!("OUT_DIR"), "/edits.diff")),
            cfg!(debug_assertions),
        )
    };
}

/// The function behind [`description!`].
pub fn described(noted: &str, edits: &str, debug_assertions: bool) -> NodeDescription {
    let mut described: NodeDescription =
        serde_json::from_str(noted).expect("the build script wrote it");
    described.program.debug_assertions = debug_assertions;
    described.edits = edits.to_owned();
    described.peers_follow = true;
    described
}

/// Makes a whole program whose allocator can count. `$main` ends with an exit code.
#[macro_export]
macro_rules! counting_program {
    ($main:expr) => {
        #[global_allocator]
        static ALLOCATOR: $crate::profiler::CountingAllocator = $crate::profiler::CountingAllocator;

        fn main() -> std::process::ExitCode {
            $main
        }
    };
}

/// The `main` function of every node program.
pub fn main<P: NodeProgram>() -> ExitCode {
    exit_main(run::<P>())
}

fn run<P: NodeProgram>() -> Result<ExitCode, Failure> {
    keep_freed_memory();
    match env::args().nth(1).as_deref() {
        Some("describe") => report(&P::describe()),
        Some("peer") => {
            let task: PeerTask = task()?;
            let listener = task.elsewhere.then(|| be_elsewhere(&task.listen));
            let _open_listener = listener.transpose()?;
            P::check(&task.node, &task.measurement)?;
            if let Some(page) = task.page {
                let budgets = task.budgets.iter().map(Budgets::in_peers);
                SharedPage::map(page)?.follow(budgets);
            }
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            match runtime.block_on(P::peer(&task))? {}
        }
        Some("central") => {
            let task: CentralTask = task()?;
            let lines = lines_or_end([STOP_LINE, TURN_LINE])?;
            P::check(&task.config.node, &task.config.measurement)?;
            let sites = P::describe().program.sites;
            let measured = P::central(Central::new(task, lines, sites)?)?;
            report(&NodeMessage::Measured(measured));
        }
        _ => {
            reject!(
                "a verb is missing (accepted: describe, peer, central); this program is started by latency-benchmark"
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends a peer on another host when its standard input ends, since nobody else on that host ends it. As long as the returned
/// listener lives, the kernel answers connects, by which central measures the round trip.
fn be_elsewhere(listen: &Listen) -> Result<Option<TcpListener>> {
    thread::Builder::new().spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        process::exit(0);
    })?;
    let Listen::Ip(ip) = listen else {
        return Ok(None);
    };
    let listener = TcpListener::bind((*ip, 0)).with_context(|| format!("cannot listen on {ip}"))?;
    report(&PeerElsewhere {
        connects: listener.local_addr()?,
        sha256: sha256_of_program(Path::new("/proc/self/exe"))?,
    });
    Ok(Some(listener))
}

fn task<T: DeserializeOwned>() -> Result<T, Failure> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    serde_json::from_str(&line)
        .context("standard input has no task in its first line")
        .map_err(bad_input)
}
