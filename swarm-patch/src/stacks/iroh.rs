use super::{Stack, quinn};
use crate::sites::SiteSpec;

const SITES: [SiteSpec; 2] = quinn::sites("noq", "poll_send");

/// iroh, whose QUIC is noq, a fork of quinn.
pub const IROH: Stack = Stack {
    name: "iroh",
    packages: &["noq"],
    sites: &SITES,
    options: [
        ("--workload", &["request-response", "stream"]),
        ("--security", &["tls"]),
        ("--transport", &["quic"]),
    ],
    budgets: &[
        "none",
        "quic-connection=20/deferred",
        "quic-connection=1/deferred",
        "quic-endpoint=10us/deferred",
    ],
    quick_budgets: &["none", "quic-connection=1/deferred"],
};
