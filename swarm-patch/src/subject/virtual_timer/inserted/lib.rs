//! Takes the place of futures-timer in the program that counts for `--gate`: tokio's timer, which has no thread of its own and
//! whose time is that program's.

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

    /// Without tokio's limit on the polls of one task, which futures-timer does not know.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut unconstrained(self.0.as_mut())).poll(cx)
    }
}
