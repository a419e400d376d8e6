//! Other load on the machine, which disturbs what is measured.

use std::fs;

use lab::preflight::busy_cores;

pub(crate) fn warnings() -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(verb) = another() {
        warnings.push(format!(
            "another {verb} is running on this machine; both will measure each other"
        ));
    }
    if let Some(cores) = busy_cores().filter(|cores| *cores > 0.5) {
        warnings.push(format!(
            "other work keeps {cores:.1} cores of this machine busy; it is measured too"
        ));
    }
    warnings
}

/// The verb of another process that measures.
pub(crate) fn another() -> Option<&'static str> {
    let own = std::process::id().to_string();
    let mut entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.find_map(|entry| {
        let name = entry.file_name();
        let is_process = name
            .to_string_lossy()
            .bytes()
            .all(|byte| byte.is_ascii_digit());
        if !is_process || name == *own {
            return None;
        }
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = command.split(|byte| *byte == 0);
        let is_this_program = words.next()?.ends_with(b"latency-benchmark");
        let verb = words.next().filter(|_| is_this_program)?;
        ["sweep", "explain", "rr", "soak"]
            .into_iter()
            .find(|known| known.as_bytes() == verb)
    })
}
