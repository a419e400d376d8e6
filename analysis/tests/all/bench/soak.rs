//! A made-up soak.

use std::fmt::Write;
use std::fs;

use tempfile::TempDir;

const FILE: &str = r#"{
  "schema": 3,
  "command": ["latency-benchmark", "soak", "--hours", "8"],
  "created_unix_s": 1795000000,
  "config": {
    "cell": {"peers": 2, "rtt_ms": 0.0, "payload_bytes": 4096},
    "duration_ms": 3600000, "interval_ms": 10000, "churn": "1/min", "budgets": "none",
    "node": {"workload": "request-response", "security": "noise", "transport": "tcp"},
    "load": {"payload": 4096, "pace": {"outstanding": 2}},
    "runtime": {"scheduler": "current-thread", "workers": 1, "event_interval": null, "global_queue_interval": null},
    "lab": {"backend": "auto", "loss_percent": null, "jitter_ms": null, "congestion_control": "cubic", "receive_on": "sender",
      "placement": {"central": 0, "peers": "1", "sharing": "nothing"}},
    "seed": 1
  },
  "tool": {"version": "0.1.0", "commit": null, "profile": "release", "rustc": "rustc", "sha256": null,
    "upstream": [{"name": "libp2p-swarm", "version": "0.48.0", "sha256": "0"}]},
  "machine": {"kernel": "6.18", "cpu": "a CPU", "cores": 2, "memory_kib": 1, "clock_source": "tsc",
    "governor": null},
  "end": {"status": "ok", "stop": "cap", "rows": 360, "restarts": 59, "took_ms": 3600000, "stages": [],
    "probe_ns": 30.0, "network": {"lab": null, "rtt": null, "counters": null, "delay_line": null}}
}"#;

const HEADER: &str = "at_s,interval_s,connection_polls,connection_slow_polls,task_polls,task_slow_polls,requests,\
latency_p50_ns,latency_p99_ns,wakes,late_wakes,wake_p50_ns,wake_p90_ns,wake_p99_ns,resident_bytes,connections,\
peers_connected,tasks,dials,dial_failures,connections_opened,connections_closed,restarts,central_cpu_ns,lost_records";

/// A soak of an hour with noise, in which this many more tasks are alive every minute.
pub(crate) fn soak(leaking: u32) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("soak.json"), FILE).expect("a file");
    let mut rows = format!("{HEADER}\n");
    for row in 1..=360_u32 {
        // Noise without a trend.
        let wobble = row.wrapping_mul(2_654_435_761) >> 24;
        let minute = row / 6;
        let tasks = 20 + leaking * minute + wobble % 3;
        writeln!(
            rows,
            "{}.0,9.99,1000,{},1000,{},500,80000,{},9000,{},9000,20000,{},{},2,2,{tasks},{},0,0,0,{minute},{}000000,0",
            10 * row,
            100 + wobble % 31,
            90 + wobble % 29,
            200_000 + 100 * wobble,
            300 + wobble % 37,
            50_000 + 10 * wobble,
            60_000_000 + 4096 * (wobble % 53),
            wobble % 2,
            5_000 + wobble,
        )
        .expect("text");
    }
    fs::write(folder.path().join("soak.csv"), rows).expect("a file");
    folder
}
