//! This crate takes the place of futures-timer in the program that counts for `--gate`. It uses tokio's timer, which has no
//! thread of its own and follows the clock of that program.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::coop::unconstrained;
use tokio::time::{sleep, Instant, Sleep};

#[derive(Debug)]
pub struct Delay(Pin<Box<Sleep>>);

impl Delay {
    pub fn new(after: Duration) -> Delay {
        Delay(Box::pin(sleep(after)))
    }

    pub fn reset(&mut self, after: Duration) {
        self.0.as_mut().reset(Instant::now() + after);
    }
}

impl Future for Delay {
    type Output = ();

    /// Futures-timer knows nothing of tokio's limit on the polls of one task, so the limit does not apply here.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut unconstrained(self.0.as_mut())).poll(cx)
    }
}
