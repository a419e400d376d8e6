//! Finds the names of functions by their addresses.

mod loaded;
#[cfg(feature = "symbols")]
mod short_name;

use std::collections::HashMap;

/// The names of this process's functions, including inlined ones. Every address is looked up only once.
///
/// The names are short and do not contain generic arguments: `libp2p_swarm::connection::Connection::poll`,
/// `Box<dyn Future>::poll`, `core::ptr::drop_in_place<Vec>`, `node::run::{closure}`. A crate that was built
/// with `debug = "line-tables-only"` has names without type and module, such as `poll`; with
/// `debug = "limited"` it has complete names.
#[derive(Debug, Default)]
pub struct Symbols {
    known: HashMap<usize, Vec<String>>,
}

impl Symbols {
    /// The function at an address, followed by the functions into which it is inlined. There is at least one name. A
    /// return address belongs to the call before it. A function without a name gets the name of its file,
    /// such as `[libcrypto.so.3]`, or `[unknown]`.
    pub fn names(&mut self, address: usize, is_return_address: bool) -> &[String] {
        let address = address.saturating_sub(is_return_address.into());
        let names = self.known.entry(address);
        names.or_insert_with(|| resolve(address))
    }

    /// All names of a stack, outermost first. `frames` are innermost first, as in a sample: a position and return addresses.
    pub fn stack(&mut self, frames: &[usize]) -> Vec<String> {
        let mut stack = Vec::new();
        for (index, &frame) in frames.iter().enumerate() {
            let names = self.names(frame, index > 0);
            stack.extend_from_slice(names);
        }
        let own = stack
            .iter()
            .take_while(|name| is_of_the_observer(name))
            .count();
        stack.drain(..own);
        stack.reverse();
        stack
    }
}

/// Whether the function belongs to the observation, not to the observed program.
fn is_of_the_observer(name: &str) -> bool {
    name.starts_with("node_kit::profiler::") || name.starts_with("__rustc::__rust_")
}

fn resolve(address: usize) -> Vec<String> {
    let mut names = Vec::new();
    // `backtrace` treats the address as a return address.
    #[cfg(feature = "symbols")]
    backtrace::resolve(
        std::ptr::without_provenance_mut(address.saturating_add(1)),
        |symbol| {
            if let Some(name) = symbol.name() {
                names.push(short_name::short_name(&format!("{name:#}")));
            }
        },
    );
    if names.is_empty() {
        names.push(loaded::name(address).unwrap_or_else(|| "[unknown]".to_owned()));
    }
    names
}
