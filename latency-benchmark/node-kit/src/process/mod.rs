//! This process: its parent, the addresses in its task, its memory, and the page that it has in common with peers.

pub(crate) mod addresses;
pub(crate) mod heap;
pub(crate) mod parent;
pub(crate) mod shared_page;
