//! What recording costs a node that is saturated. In one process, pairs of yamux connections exchange requests over TCP, as
//! fast as the workers can. Nothing is encrypted, which would make recording a smaller part. `node-ab` is on and off in
//! turn, in random order, and writes its runs meanwhile.
//!
//!     cargo run --release -p node-ab --example cost -- [WORKERS] [ROUNDS] [KIB]

use std::future::poll_fn;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use futures::{AsyncReadExt, AsyncWriteExt};
use nix::time::{ClockId, clock_gettime};
use node_ab::NodeAb;
use poll_probe::{Invocation, Site};
use quanta::Clock;
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
    off(rounds);
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

/// What a poll of a site costs while `node-ab` is off, and what two readings of the clock do, in turn.
fn off(rounds: usize) {
    const POLLS: u32 = 1_000_000;
    let time = |poll: &dyn Fn()| {
        let began = Instant::now();
        (0..POLLS).for_each(|_| black_box(poll)());
        began.elapsed().as_secs_f64() * 1e9 / f64::from(POLLS)
    };
    let clock = Clock::new();
    let [mut off_ns, mut clock_ns, mut parts] = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        let bare_ns = time(&|| {});
        off_ns.push(time(&|| drop(Invocation::enter(Site::new(2), &[]))) - bare_ns);
        clock_ns.push(time(&|| _ = black_box((clock.raw(), clock.raw()))) - bare_ns);
        parts.push(off_ns[off_ns.len() - 1] / clock_ns[clock_ns.len() - 1]);
    }
    println!("off: {} ns per poll", mean(&off_ns));
    println!("two readings of the clock: {} ns", mean(&clock_ns));
    println!("the first as a part of the second: {}", mean(&parts));
}

fn anonymous_kib() -> Result<u64, Box<dyn std::error::Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|it| it.strip_prefix("RssAnon:"));
    let number = line.and_then(|it| it.split_whitespace().next());
    Ok(number.ok_or("the kernel does not say RssAnon")?.parse()?)
}
