//! The probe on a plain tokio server. It echoes messages: each connection is a task with a loop that
//! handles the messages that have arrived. The same load runs without a budget and with some.
//!
//!     cargo run --release -p poll-probe --example tokio_server
#![allow(missing_docs)]

use std::io;
use std::time::Duration;

use hdrhistogram::Histogram;
use poll_probe::{Budgets, Capacity, Mode, Outcome, Probe, Recorder, Site, Variant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;

const TASK: Site = Site::new(0);
const CLIENTS: usize = 8;
const MESSAGE: usize = 1024;
const PIPELINED: usize = 64;
const SLICE: Duration = Duration::from_millis(500);
const SLOW_NS: u64 = 50_000;
const LONGEST_NS: u64 = 60_000_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let clients = std::thread::spawn(move || -> io::Result<()> {
        runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(async move {
                let clients: Vec<_> = (0..CLIENTS)
                    .map(|_| tokio::spawn(client(address)))
                    .collect();
                for client in clients {
                    // A client ends with an error when the server closes the connection.
                    let _ = client.await;
                }
                Ok(())
            })
    });

    let server = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let recorder = Recorder::new(Capacity::default());
    recorder.attach(); // The one worker is this thread.
    println!(
        "{:16} {:>8} {:>8} {:>8} {:>8} {:>10} {:>9}",
        "budget", "polls", "p50 µs", "p99 µs", "slow %", "iterations", "yields %"
    );
    server.block_on(async {
        tokio::spawn(serve(TcpListener::from_std(listener)?));
        for budget in ["none", "4", "4/deferred", "20us", "coop"] {
            let budgets = match budget {
                "none" => Budgets::NONE,
                budget => Budgets::NONE.with(TASK, budget.parse().map_err(io::Error::other)?),
            };
            let variant = Variant {
                budgets,
                mode: Mode::Minimal,
            };
            let id = variant.install();
            recorder.drain(|_| {});
            tokio::time::sleep(SLICE).await;
            let (mut polls, mut iterations, mut yields) = (0, 0, 0);
            let mut durations_ns =
                Histogram::<u64>::new_with_max(LONGEST_NS, 3).map_err(io::Error::other)?;
            recorder.drain(|record| {
                if record.variant == id {
                    polls += 1;
                    iterations += record.iterations.map_or(0, u64::from);
                    yields += u64::from(record.outcome == Outcome::Yielded);
                    durations_ns.saturating_record(record.duration_ns);
                }
            });
            let slow = polls - durations_ns.count_between(0, SLOW_NS);
            let share = |part: u64| 100.0 * part as f64 / polls as f64;
            println!(
                "{budget:16} {polls:8} {:8.1} {:8.1} {:8.2} {:10.2} {:9.2}",
                durations_ns.value_at_quantile(0.5) as f64 / 1e3,
                durations_ns.value_at_quantile(0.99) as f64 / 1e3,
                share(slow),
                iterations as f64 / polls as f64,
                share(yields)
            );
        }
        io::Result::Ok(())
    })?;
    drop(server); // Closes the connections.
    clients.join().map_err(|_| "a client panicked")??;
    Ok(())
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        // Only this call is needed to make the future a site.
        tokio::spawn(Probe::new(TASK).instrument(echo(stream)));
    }
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut message = [0; MESSAGE];
    loop {
        poll_probe::iterate().await; // Only this call is needed to count and bound its loop.
        stream.read_exact(&mut message).await?;
        stream.write_all(&message).await?;
    }
}

async fn client(address: std::net::SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut messages = vec![0; MESSAGE * PIPELINED];
    loop {
        stream.write_all(&messages).await?;
        stream.read_exact(&mut messages).await?;
    }
}
