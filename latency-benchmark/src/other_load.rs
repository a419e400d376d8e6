//! Other load on the machine, which disturbs what is measured.

use std::fs;

use lab::preflight::busy_cores;

pub(crate) fn warnings() -> Vec<String> {
    let another = another().map(|verb| {
        format!("another {verb} is running on this machine; both will measure each other")
    });
    let busy = busy_cores().filter(|cores| *cores > 0.5).map(|cores| {
        format!("other work keeps {cores:.1} cores of this machine busy; it is measured too")
    });
    another.into_iter().chain(busy).collect()
}

/// The verb of another process that measures.
pub(crate) fn another() -> Option<&'static str> {
    let mut entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.find_map(|entry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok()?;
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = command.split(|byte| *byte == 0);
        let is_this_program = words.next()?.ends_with(b"latency-benchmark");
        let is_another = is_this_program && process != std::process::id();
        let verb = words.next().filter(|_| is_another)?;
        ["sweep", "explain", "rr", "soak"]
            .into_iter()
            .find(|known| known.as_bytes() == verb)
    })
}
