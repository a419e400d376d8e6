//! What recording costs a node that is saturated. In one process, pairs of yamux connections exchange requests over TCP, as
//! fast as the workers can. Nothing is encrypted, which would make recording a smaller part. `node-ab` is on and off in
//! turn, in random order, and writes its runs meanwhile.
//!
//! What a poll costs while it is off is a row of poll-probe's example `overhead`.
//!
//!     cargo run --release -p node-ab --example cost -- [WORKERS] [ROUNDS] [KIB]

use std::future::poll_fn;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;
use std::{env, fs, thread};

use futures::{AsyncReadExt, AsyncWriteExt};
use nix::time::{ClockId, clock_gettime};
use node_ab::NodeAb;
use run_format::SliceRow;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};
use yamux::{Config, Connection, Mode, Stream};

static ANSWERED: AtomicU64 = AtomicU64::new(0);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if cfg!(debug_assertions) {
        eprintln!("warning: not optimised; run with --release");
    }
    let argument = |at| env::args().nth(at).map(|it| it.parse());
    let workers: usize = argument(1).unwrap_or(Ok(4))?;
    let rounds: usize = argument(2).unwrap_or(Ok(40))?;
    let request = argument(3).unwrap_or(Ok(64))? << 10;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()?;
    for _ in 0..2 * workers {
        runtime.block_on(pair(request))?;
    }
    thread::sleep(Duration::from_secs(1));
    let dir = tempfile::tempdir()?;
    let ab = NodeAb::on_for(Duration::from_secs(3600));
    let on = || -> Result<_, node_ab::Error> {
        let _inside = runtime.enter();
        // In force it ends no poll.
        let setup = ab
            .budgets(["muxer=1000000"])
            .turn(Duration::from_millis(250));
        setup.write_to(dir.path().join("run")).start()
    };
    let (before, running) = (anonymous_kib()?, on()?);
    measure(&runtime)?;
    let kib = anonymous_kib()?.saturating_sub(before);
    running.finish()?;
    println!(
        "memory: {kib} KiB with {workers} workers, {} KiB a worker",
        kib / workers as u64
    );
    let mut changes = Vec::new();
    let mut sum_us = [0.0; 2];
    for _ in 0..rounds {
        let mut us = [0.0; 2];
        let first = rand::random_range(0..2);
        for is_on in [first, 1 - first] {
            let running = (is_on == 1).then(on).transpose()?;
            us[is_on] = measure(&runtime)?;
            sum_us[is_on] += us[is_on];
            running.map(|it| it.finish()).transpose()?;
        }
        changes.push(100.0 * (us[1] / us[0] - 1.0));
    }
    println!(
        "CPU time of the recording thread: {:.2} % of the process",
        recording_percent(dir.path())?
    );
    let [off_us, on_us] = sum_us.map(|it| it / rounds as f64);
    println!(
        "CPU time per request: off {off_us:.2} µs, on {on_us:.2} µs, change {} %",
        mean(&changes)
    );
    Ok(())
}

/// "1.20 [1.10, 1.30] (mean of 40 rounds and two standard errors)"
fn mean(of: &[f64]) -> String {
    let count = of.len() as f64;
    let mean = of.iter().sum::<f64>() / count;
    let squares: f64 = of.iter().map(|it| (it - mean).powi(2)).sum();
    let margin = 2.0 * (squares / (count - 1.0) / count).sqrt();
    let [low, high] = [mean - margin, mean + margin];
    let rounds = of.len();
    format!("{mean:.2} [{low:.2}, {high:.2}] (mean of {rounds} rounds and two standard errors)")
}

/// The CPU time of the process for each request, in µs.
fn measure(runtime: &Runtime) -> Result<f64, Box<dyn std::error::Error>> {
    let now = || -> nix::Result<_> {
        let cpu: Duration = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into();
        Ok((cpu, ANSWERED.load(Ordering::Relaxed)))
    };
    // Turns begin after half a second.
    thread::sleep(Duration::from_millis(600));
    let (cpu, requests) = now()?;
    thread::sleep(Duration::from_secs(1));
    let (cpu_after, requests_after) = now()?;
    assert!(runtime.metrics().num_alive_tasks() > 0);
    let cpu = cpu_after.saturating_sub(cpu);
    Ok(cpu.as_secs_f64() * 1e6 / (requests_after - requests) as f64)
}

/// Two connections, one of which answers.
async fn pair(request: usize) -> Result<(), Box<dyn std::error::Error>> {
    const STREAMS: usize = 4;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let one = TcpStream::connect(listener.local_addr()?).await?;
    let (other, _) = listener.accept().await?;
    one.set_nodelay(true)?;
    other.set_nodelay(true)?;
    let connection = |io: TcpStream, mode| Connection::new(io.compat(), Config::default(), mode);
    tokio::spawn(drive(connection(other, Mode::Server), request));
    let mut asking = connection(one, Mode::Client);
    for _ in 0..STREAMS {
        let stream = poll_fn(|cx| asking.poll_new_outbound(cx)).await?;
        tokio::spawn(ask(stream, vec![0; request]));
    }
    tokio::spawn(drive(asking, request));
    Ok(())
}

async fn drive(mut connection: Connection<Compat<TcpStream>>, request: usize) {
    poll_fn(|cx| {
        while let Poll::Ready(next) = connection.poll_next_inbound(cx) {
            match next {
                Some(Ok(stream)) => drop(tokio::spawn(answer(stream, vec![0; request]))),
                _ => return Poll::Ready(()),
            }
        }
        Poll::Pending
    })
    .await;
}

/// Until the runtime ends, which closes the stream.
async fn ask(mut stream: Stream, mut bytes: Vec<u8>) {
    while stream.write_all(&bytes).await.is_ok() && stream.read_exact(&mut bytes).await.is_ok() {
        ANSWERED.fetch_add(1, Ordering::Relaxed);
    }
}

async fn answer(mut stream: Stream, mut bytes: Vec<u8>) {
    while stream.read_exact(&mut bytes).await.is_ok() && stream.write_all(&bytes).await.is_ok() {}
}

/// Of all runs, as their slices have it.
fn recording_percent(dir: &Path) -> Result<f64, Box<dyn std::error::Error>> {
    let (mut own_ns, mut all_ns) = (0, 0);
    for run in fs::read_dir(dir)? {
        let slices = run?.path().join("cells/application/run-1/slices.csv");
        for slice in run_format::read_table::<SliceRow>(&slices, true)? {
            let recording_ns = slice.observers_cpu_ns.unwrap_or(0);
            own_ns += recording_ns;
            all_ns += recording_ns + slice.central_cpu_ns.unwrap_or(0);
        }
    }
    Ok(100.0 * own_ns as f64 / all_ns as f64)
}

fn anonymous_kib() -> Result<u64, Box<dyn std::error::Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|it| it.strip_prefix("RssAnon:"));
    let number = line.and_then(|it| it.split_whitespace().next());
    Ok(number.ok_or("the kernel does not say RssAnon")?.parse()?)
}
