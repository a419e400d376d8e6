//! Timing by the spans that libp2p-swarm has already: a layer notes when a span of the right name is entered and left. There
//! is one layer for each of two names, because a benchmark of both functions needs two.

use std::sync::Mutex;
use std::time::Instant;

use hdrhistogram::Histogram;
use tracing::Subscriber;
use tracing::span::Id;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use super::rows::work;

struct Timing {
    span: &'static str,
    durations: Mutex<Histogram<u64>>,
}

struct Entered(Instant);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Timing {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id).filter(|span| span.name() == self.span) {
            span.extensions_mut().replace(Entered(Instant::now()));
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id).filter(|span| span.name() == self.span)
            && let Some(Entered(start)) = span.extensions_mut().remove()
        {
            let ns = start.elapsed().as_nanos() as u64;
            self.durations.lock().unwrap().saturating_record(ns);
        }
    }
}

/// Installs the layers for the whole process. Only [`spanned`] makes spans.
pub(crate) fn install() {
    let layer = |span| Timing {
        span,
        durations: Mutex::new(Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap()),
    };
    let subscriber = tracing_subscriber::registry()
        .with(Targets::new().with_default(tracing::Level::DEBUG))
        .with(layer("Connection::poll"))
        .with(layer("Swarm::poll"));
    tracing::subscriber::set_global_default(subscriber).unwrap();
}

#[tracing::instrument(level = "debug", name = "Connection::poll", skip_all)]
pub(crate) fn spanned(x: &mut u64) {
    work(x);
}
