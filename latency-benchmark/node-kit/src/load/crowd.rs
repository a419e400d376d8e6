//! Tasks that keep central's runtime busy, as other tasks do in a node that does more than run a swarm.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use run_format::Crowd;
use tokio::task::yield_now;
use tokio::time::{MissedTickBehavior, interval_at};

/// Starts the tasks on the current runtime. They work at different times.
pub(crate) fn start(crowd: Crowd) {
    let (period, times) = crowd.period();
    for task in 0..crowd.tasks {
        let mut ticks = interval_at(
            (Instant::now() + period * task / crowd.tasks).into(),
            period,
        );
        // A runtime without time for this share leaves ticks out.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        tokio::spawn(async move {
            loop {
                ticks.tick().await;
                for _ in 0..times {
                    work(crowd.work);
                    yield_now().await;
                }
            }
        });
    }
}

fn work(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Handle;
    use tokio::time::sleep;

    use super::*;

    #[tokio::test]
    async fn every_task_of_a_crowd_is_there_and_lets_others_run() {
        start("24x10us@30%".parse().expect("a crowd"));
        sleep(Duration::from_millis(20)).await;
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 24);
    }
}
