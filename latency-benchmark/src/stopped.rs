//! Finds processes that were stopped by a signal such as SIGSTOP. They send nothing, and only SIGKILL ends them.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// Looks from time to time for a stopped process among those of a cell.
pub(crate) struct StoppedWatch {
    /// The process of which all others are descendants.
    root: u32,
    looked: Instant,
    /// The processes that were stopped at the last look, and since when.
    since: BTreeMap<u32, Instant>,
}

impl StoppedWatch {
    pub(crate) fn new(root: u32) -> StoppedWatch {
        StoppedWatch {
            root,
            looked: Instant::now(),
            since: BTreeMap::new(),
        }
    }

    /// Forgets what was stopped, because processes are now paused on purpose.
    pub(crate) fn pause(&mut self) {
        self.since.clear();
    }

    /// Names a process that has been stopped for too long.
    pub(crate) fn look(&mut self) -> Option<String> {
        const INTERVAL: Duration = Duration::from_secs(1);
        // Nodes give up a connection after 10 s of silence, and would then fail with a less helpful message.
        const LONGEST: Duration = Duration::from_secs(8);
        if self.looked.elapsed() < INTERVAL {
            return None;
        }
        self.looked = Instant::now();
        let before = std::mem::take(&mut self.since);
        for process in stopped(self.root) {
            let since = before.get(&process).copied();
            self.since.insert(process, since.unwrap_or(self.looked));
        }
        let mut stopped_processes = self.since.iter();
        let (process, since) = stopped_processes.find(|(_, since)| since.elapsed() > LONGEST)?;
        Some(format!(
            "{} has been stopped for {} s (SIGSTOP; its process is {process})",
            name(*process),
            since.elapsed().as_secs()
        ))
    }
}

/// The stopped processes among a process and its descendants. It assumes that descendants have higher numbers, which is
/// wrong only if the kernel's numbers have wrapped around.
fn stopped(root: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut later: Vec<u32> = all.filter(|number| *number >= root).collect();
    later.sort_unstable();
    let mut family = vec![root];
    let mut found = Vec::new();
    for number in later {
        let Some((state, parent)) = state(number) else {
            continue;
        };
        if number != root && !family.contains(&parent) {
            continue;
        }
        family.push(number);
        if state == "T" {
            found.push(number);
        }
    }
    found
}

/// The state of a process, and the number of its parent.
fn state(process: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The fields follow the name of the program in parentheses, which may contain any characters.
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

/// Names a process by its verb.
fn name(process: u32) -> String {
    let command = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut words = command.split(|byte| *byte == 0);
    let verb = words.nth(1).unwrap_or_default();
    match &*String::from_utf8_lossy(verb) {
        "delay-line" => "the delay line".to_owned(),
        "peer" => "a peer".to_owned(),
        "cell" => "the process of the cell".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use lab::KillOnDrop;

    use super::*;

    #[test]
    fn a_descendant_that_is_stopped_is_found() {
        let mut shell = Command::new("/bin/sh");
        let shell = shell.args(["-c", "sleep 1000 & kill -STOP $!; wait"]);
        let child = shell.stdin(Stdio::null()).spawn().expect("a shell");
        let shell = KillOnDrop { child };
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut found = Vec::new();
        while found.is_empty() && Instant::now() < deadline {
            found = stopped(shell.child.id());
        }
        let [sleep] = found[..] else {
            panic!("{found:?}");
        };
        assert_ne!(sleep, shell.child.id());
        let sleep = nix::unistd::Pid::from_raw(i32::try_from(sleep).expect("a number"));
        nix::sys::signal::kill(sleep, nix::sys::signal::Signal::SIGKILL).expect("it runs");
    }
}
