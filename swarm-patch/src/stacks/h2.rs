use super::Stack;
use crate::sites::{LoopShape, SiteSpec};

/// HTTP/2, as the crate h2 implements it. `Connection::poll` handles frames in the loop of `poll2`, which nothing bounds, and
/// then sends.
pub const H2: Stack = Stack {
    name: "h2",
    packages: &["h2"],
    checkout_crates: &["h2"],
    sites: &[SiteSpec {
        number: 0,
        name: "connection",
        package: "h2",
        file: "src/proto/connection.rs",
        function: "Connection::poll",
        shape: LoopShape::Poll {
            loop_in: Some("poll2"),
            states: None,
        },
        called: "h2 Connection::poll",
    }],
};
