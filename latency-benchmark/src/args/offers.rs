//! The options that the nodes of each stack have, and the budgets that a sweep compares by default.

use run_format::{Security, Transport, Workload};
use swarm_patch::stacks::Stack;

/// The first value of an option is the default.
pub(crate) struct Offers {
    pub(super) workloads: &'static [Workload],
    pub(super) security: &'static [Security],
    pub(super) transports: &'static [Transport],
    /// The budgets of a sweep without `--budget`.
    pub(crate) budgets: &'static [&'static str],
    pub(crate) quick_budgets: &'static [&'static str],
}

pub(crate) fn offers(stack: &Stack) -> &'static Offers {
    let known = OFFERS.iter().find(|(name, _)| *name == stack.name);
    let (_, offers) = known.expect("every stack is in the list, as a test checks");
    offers
}

const OFFERS: [(&str, Offers); 3] = [
    ("libp2p", LIBP2P_OFFERS),
    ("h2", H2_OFFERS),
    ("iroh", IROH_OFFERS),
];

/// A budget is compared if the nodes have its site: those of yamux with TCP, and the others with QUIC.
pub(crate) const LIBP2P_OFFERS: Offers = Offers {
    workloads: &[
        Workload::RequestResponse,
        Workload::Stream,
        Workload::Gossipsub,
        Workload::Idle,
        Workload::Rr,
        Workload::Burst,
        Workload::Duplex,
        Workload::Handshakes,
    ],
    security: &[Security::Noise, Security::Tls, Security::Plaintext],
    transports: &[Transport::Tcp, Transport::Quic],
    budgets: &[
        "none",
        // The bound of yamux, which helps other tasks most, in central alone.
        "muxer=1/deferred",
        // The same bound at both ends, as after a merge.
        "muxer=1/deferred@both",
        // The cheaper flush of yamux.
        "flush=32KiB@both",
        // Both changes to yamux together.
        "flush=32KiB,muxer=1/deferred@both",
        // quinn's own bound with another wake.
        "quic-connection=20/deferred",
        // The smallest bound of quinn, in central alone and at both ends.
        "quic-connection=1/deferred",
        "quic-connection=1/deferred@both",
        // Less time for receiving than quinn's own bound.
        "quic-endpoint=10us/deferred",
    ],
    quick_budgets: &[
        "none",
        "muxer=1/deferred",
        "muxer=1/deferred@both",
        "flush=32KiB,muxer=1/deferred@both",
        "quic-connection=1/deferred",
        "quic-connection=1/deferred@both",
    ],
};

const H2_OFFERS: Offers = Offers {
    workloads: &[Workload::RequestResponse],
    security: &[Security::Plaintext],
    transports: &[Transport::Tcp],
    budgets: &[
        "none",
        "connection=16",
        "connection=4/deferred",
        "connection=4/deferred@both",
    ],
    quick_budgets: &[
        "none",
        "connection=4/deferred",
        "connection=4/deferred@both",
    ],
};

const IROH_OFFERS: Offers = Offers {
    workloads: &[
        Workload::RequestResponse,
        Workload::Stream,
        Workload::Gossipsub,
    ],
    security: &[Security::Tls],
    transports: &[Transport::Quic],
    budgets: &[
        "none",
        "quic-connection=20/deferred",
        "quic-connection=1/deferred",
        "quic-connection=1/deferred@both",
    ],
    quick_budgets: &[
        "none",
        "quic-connection=1/deferred",
        "quic-connection=1/deferred@both",
    ],
};

#[cfg(test)]
mod tests {
    use super::offers;
    use run_format::Budgets;
    use swarm_patch::stacks::STACKS;

    #[test]
    fn every_stack_has_offers_whose_budgets_can_be_parsed() {
        for stack in STACKS {
            let offers = offers(stack);
            for text in offers.budgets.iter().chain(offers.quick_budgets) {
                text.parse::<Budgets>().expect(text);
            }
        }
    }
}
