//! Sums since the start, which the kernel and the runtime keep.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use run_format::tables::SliceRow;
use tokio::runtime::Handle;

pub(crate) struct Sampler {
    runtime: Handle,
    began: Instant,
}

impl Sampler {
    pub(crate) fn new(runtime: Handle) -> Sampler {
        let began = Instant::now();
        Sampler { runtime, began }
    }

    /// In the columns of a slice that are such sums. The others are empty. To be called on the recording thread.
    pub(crate) fn sums(&self) -> SliceRow {
        let all_ns = cpu_ns(ClockId::CLOCK_PROCESS_CPUTIME_ID);
        let own_ns = cpu_ns(ClockId::CLOCK_THREAD_CPUTIME_ID);
        let metrics = self.runtime.metrics();
        let workers = 0..metrics.num_workers();
        let busy = workers
            .clone()
            .map(|it| metrics.worker_total_busy_duration(it));
        SliceRow {
            sampled_ms: self.began.elapsed().as_secs_f64() * 1e3,
            central_cpu_ns: all_ns.zip(own_ns).map(|(all, own)| all.saturating_sub(own)),
            observers_cpu_ns: own_ns,
            runtime_busy_ns: busy.map(|it| it.as_nanos() as u64).sum(),
            runtime_parks: workers.map(|it| metrics.worker_park_count(it)).sum(),
            ..SliceRow::default()
        }
    }
}

fn cpu_ns(clock: ClockId) -> Option<u64> {
    let time = clock_gettime(clock).ok()?;
    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

pub(crate) fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
