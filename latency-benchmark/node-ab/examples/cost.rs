//! Measures the cost of recording in a node that is saturated: pairs of yamux connections exchange requests over TCP, as fast
//! as the workers can. Nothing is encrypted, since that would make recording a smaller part. Two processes of this program,
//! of which one has `node-ab` on and writes a run, take turns of 60 ms in random order: the other is stopped by a signal. A
//! launch is 25 turns of each.
//!
//! A program that only exchanges requests polls far more often than an application does. With BUSY_US each request also takes
//! that much CPU time, which lowers the rate of polls.
//!
//! The cost of a poll while `node-ab` is off is a row of poll-probe's example `overhead`.
//!
//!     cargo run --release -p node-ab --example cost -- [WORKERS] [LAUNCHES] [KIB] [BUSY_US]

use std::future::poll_fn;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;
use std::{env, fs, io, thread};

use futures::{AsyncReadExt, AsyncWriteExt};
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use node_ab::NodeAb;
use run_format::{SiteRow, SliceRow};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};
use yamux::{Config, Connection, Mode, Stream};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const TURN: Duration = Duration::from_millis(60);
const TURNS: usize = 25;

static ANSWERED: AtomicU64 = AtomicU64::new(0);

fn main() -> Result<()> {
    if cfg!(debug_assertions) {
        eprintln!("warning: not optimised; run with --release");
    }
    let argument = |at, default| env::args().nth(at).map_or(Ok(default), |text| text.parse());
    let load = Load {
        workers: argument(1, 4)?,
        kib: argument(3, 64)?,
        busy_us: argument(4, 0)?,
    };
    match env::var("COST_NODE_IS_ON") {
        Ok(is_on) => node(load, is_on.parse()?),
        Err(_) => compare(load, argument(2, 40)?),
    }
}

#[derive(Clone, Copy)]
struct Load {
    workers: usize,
    kib: usize,
    busy_us: usize,
}

fn compare(load: Load, launches: usize) -> Result<()> {
    let (mut changes, mut sums) = (Vec::new(), [[0.0; 4]; 2]);
    for _ in 0..launches {
        let measured = launch(load)?;
        let [[off_us, ..], [on_us, ..]] = measured;
        changes.push(100.0 * (on_us / off_us - 1.0));
        for (sum, value) in sums.iter_mut().flatten().zip(measured.iter().flatten()) {
            *sum += value / launches as f64;
        }
    }
    let [[off_us, _, _, off_kib], [on_us, polls, recording, on_kib]] = sums;
    println!("memory: {:.0} KiB more", on_kib - off_kib);
    println!("polls of connections per second of CPU time: {polls:.0}");
    println!("CPU time of the recording thread: {recording:.2} % of the process");
    println!(
        "CPU time per request: off {off_us:.2} µs, on {on_us:.2} µs, change {} %",
        mean(&changes)
    );
    Ok(())
}

/// Measures the process without recording, and the one with it. The figures of each are its CPU time per request in µs, the
/// polls of connections per second of CPU time, the share of the recording thread in percent, and the memory in KiB.
fn launch(load: Load) -> Result<[[f64; 4]; 2]> {
    let mut nodes = [Node::start(load, false)?, Node::start(load, true)?];
    for node in &mut nodes {
        node.say("begin")?;
    }
    for _ in 0..TURNS {
        let first = rand::random_range(0..2);
        for at in [first, 1 - first] {
            nodes[at].go_on()?;
            thread::sleep(TURN);
            nodes[at].stop()?;
        }
    }
    let [mut off, mut on] = nodes;
    Ok([off.end()?, on.end()?])
}

struct Node {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Node {
    /// Starts a node, whose connections exchange requests for a second, and stops it. Memory of the recording thread keeps
    /// glibc from giving the top of the heap back to the kernel again and again, which makes a request 15 % cheaper. So
    /// neither process gives memory back, and recording alone is compared. The second limit has to be set, too, because glibc
    /// no longer raises it by itself once the first is set: then it would map each turn's histograms anew.
    fn start(load: Load, is_on: bool) -> Result<Node> {
        let mut child = Command::new(env::current_exe()?)
            .args([load.workers, 0, load.kib, load.busy_us].map(|number| number.to_string()))
            .env("COST_NODE_IS_ON", is_on.to_string())
            .env("MALLOC_TRIM_THRESHOLD_", u32::MAX.to_string())
            .env("MALLOC_MMAP_THRESHOLD_", (16 << 20).to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
        let mut node = Node {
            child,
            input,
            output,
        };
        node.hear()?;
        node.stop()?;
        Ok(node)
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.input, "{line}")
    }

    fn hear(&mut self) -> Result<String> {
        Ok(self.output.next().ok_or("a node has ended")??)
    }

    fn stop(&self) -> nix::Result<()> {
        kill(self.pid(), Signal::SIGSTOP)
    }

    fn go_on(&self) -> nix::Result<()> {
        kill(self.pid(), Signal::SIGCONT)
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    fn end(&mut self) -> Result<[f64; 4]> {
        self.say("end")?;
        self.go_on()?;
        let line = self.hear()?;
        self.child.wait()?;
        let numbers: Vec<f64> = line
            .split(' ')
            .map(str::parse::<f64>)
            .collect::<Result<_, _>>()?;
        Ok(numbers
            .try_into()
            .map_err(|_| "a node has said something else")?)
    }
}

/// A node that is dropped before its end would stay, stopped.
impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The mean of the values and its interval, such as "1.20 [1.10, 1.30] (mean of 40 launches and two standard errors)".
fn mean(values: &[f64]) -> String {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let margin = 2.0 * (squares / (count - 1.0) / count).sqrt();
    let [low, high] = [mean - margin, mean + margin];
    format!("{mean:.2} [{low:.2}, {high:.2}] (mean of {count} launches and two standard errors)")
}

fn node(load: Load, is_on: bool) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(load.workers)
        .enable_all()
        .build()?;
    for _ in 0..2 * load.workers {
        runtime.block_on(pair(load))?;
    }
    let dir = tempfile::tempdir()?;
    let run = dir.path().join("run");
    let ab = NodeAb::on_for(Duration::from_secs(3600));
    let start = || {
        let _inside = runtime.enter();
        // This budget ends no poll. Timers are late whenever the process is stopped, which is half of the time. So a turn of
        // this length has 250 ms in which the process runs, as an application's turns have.
        ab.budgets(["muxer=1000000"])
            .turn(Duration::from_millis(500))
            .timer_limit(Duration::from_secs(60))
            .write_to(&run)
            .start()
    };
    let running = is_on.then(start).transpose()?;
    thread::sleep(Duration::from_secs(1));
    let mut lines = io::stdin().lines();
    println!("ready");
    lines.next();
    let (cpu, requests) = used()?;
    lines.next();
    let (cpu_after, requests_after) = used()?;
    let used_us = cpu_after.saturating_sub(cpu).as_secs_f64() * 1e6;
    let us = used_us / (requests_after - requests) as f64;
    let kib = anonymous_kib()?;
    let [polls, recording] = match running {
        Some(running) => {
            running.finish()?;
            recorded(&run)?
        }
        None => [0.0; 2],
    };
    println!("{us} {polls} {recording} {kib}");
    Ok(())
}

/// The CPU time of this process, and the requests that it has answered.
fn used() -> nix::Result<(Duration, u64)> {
    let cpu = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok((cpu.into(), ANSWERED.load(Ordering::Relaxed)))
}

/// Starts two connections, one of which answers the other.
async fn pair(load: Load) -> Result<()> {
    const STREAMS: usize = 4;
    let request = load.kib << 10;
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
        let busy = Duration::from_micros(load.busy_us as u64);
        tokio::spawn(ask(stream, vec![0; request], busy));
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

/// Asks until the runtime ends, which closes the stream.
async fn ask(mut stream: Stream, mut bytes: Vec<u8>, busy: Duration) {
    while stream.write_all(&bytes).await.is_ok() && stream.read_exact(&mut bytes).await.is_ok() {
        work(busy);
        ANSWERED.fetch_add(1, Ordering::Relaxed);
    }
}

async fn answer(mut stream: Stream, mut bytes: Vec<u8>) {
    while stream.read_exact(&mut bytes).await.is_ok() && stream.write_all(&bytes).await.is_ok() {}
}

/// Takes so much CPU time of this thread.
fn work(busy: Duration) {
    let now = || clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from);
    let Ok(end) = now().map(|start| start + busy) else {
        return;
    };
    while now().is_ok_and(|now| now < end) {}
}

/// The polls of connections per second of CPU time, and the share of the recording thread in the CPU time of the process, from
/// the slices of the run.
fn recorded(run: &Path) -> Result<[f64; 2]> {
    let launch = run.join("cells/application/run-1");
    let (mut recording_ns, mut all_ns) = (0, 0);
    for slice in run_format::read_table::<SliceRow>(&launch.join("slices.csv"), true)? {
        let observers_ns = slice.observers_cpu_ns.unwrap_or(0);
        recording_ns += observers_ns;
        all_ns += observers_ns + slice.central_cpu_ns.unwrap_or(0);
    }
    let sites = run_format::read_table::<SiteRow>(&launch.join("sites.csv"), true)?;
    let polls: u64 = sites.iter().map(|row| row.polls).sum();
    Ok([1e9 * polls as f64, 100.0 * recording_ns as f64].map(|sum| sum / all_ns as f64))
}

fn anonymous_kib() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|row| row.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("the kernel does not say RssAnon")?.parse()?)
}
