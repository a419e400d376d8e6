//! What is shown while a soak runs: a bar on a terminal, else a line now and then.

use std::{
    io::{IsTerminal, stderr},
    path::Path,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    duration::in_words,
    store::soak::{SoakConfig, SoakRow},
};

pub(super) struct Progress {
    bar: Option<ProgressBar>,
    peers: usize,
    whole: Duration,
    began: Instant,
    /// When a line is written next, where there is no bar.
    next_line: Duration,
    last: String,
}

impl Progress {
    pub(super) fn new(config: &SoakConfig) -> Progress {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(config.duration_ms);
            let style = ProgressStyle::with_template("{bar:24} {msg}");
            bar.set_style(style.expect("the template is a constant"));
            bar
        });
        Progress {
            bar,
            peers: config.cell.peers,
            whole: Duration::from_millis(config.duration_ms),
            began: Instant::now(),
            next_line: Duration::ZERO,
            last: "connecting".to_owned(),
        }
    }

    pub(super) fn row(&mut self, row: &SoakRow) {
        const LINES: u32 = 30;
        let at = Duration::from_secs_f64(row.at_s);
        let left = in_words(self.whole.saturating_sub(at));
        self.last = format!("{}  {left} left", self.in_short(row));
        match &self.bar {
            Some(bar) => bar.set_position(u64::try_from(at.as_millis()).unwrap_or(u64::MAX)),
            None if at >= self.next_line => {
                eprintln!("[{}] {}", in_words(at), self.last);
                self.next_line = at + self.whole / LINES;
            }
            None => {}
        }
        self.tick();
    }

    fn in_short(&self, row: &SoakRow) -> String {
        const MIB: f64 = (1 << 20) as f64;
        let slow = match row.connection_polls {
            0 => "-".to_owned(),
            polls => format!(
                "{:.1}",
                100.0 * row.connection_slow_polls as f64 / polls as f64
            ),
        };
        let memory = row.resident_bytes.map_or_else(String::new, |bytes| {
            format!("  {:.1} MiB", bytes as f64 / MIB)
        });
        let restarts = match row.restarts {
            None | Some(0) => String::new(),
            Some(restarts) => format!("  {restarts} restarts"),
        };
        format!(
            "{slow} % slow  {} of {} peers{memory}  {} tasks{restarts}",
            row.peers_connected, self.peers, row.tasks
        )
    }

    pub(super) fn tick(&self) {
        if let Some(bar) = &self.bar {
            bar.set_message(self.last.clone());
        }
    }

    pub(super) fn warn(&self, text: &str) {
        let line = format!("warning: {text}");
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }

    pub(super) fn finish(self, summary: &str, dir: &Path) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        eprintln!("{summary} in {}", in_words(self.began.elapsed()));
        println!("{}", dir.display());
    }
}
