//! Names for addresses.

mod fold;
mod loaded;
mod short_name;

use std::{collections::HashMap, ptr};

pub use self::fold::{Begin, fold};

/// Names of the functions of this process, inlined ones too. Every address is looked up once.
///
/// The names are short and the same whatever the types were: `libp2p_swarm::connection::Connection::poll`,
/// `Box<dyn Future>::poll`, `core::ptr::drop_in_place<Vec>`, `node::run::{closure}`. In a program with no
/// more than line tables (`debug = "line-tables-only"`) they lack type and module, `poll`; what is noted
/// with `debug = "limited"` has all of it.
#[derive(Debug, Default)]
pub struct Symbols {
    known: HashMap<usize, Vec<String>>,
}

impl Symbols {
    /// Nothing is read before the first address is looked up.
    pub fn new() -> Symbols {
        Symbols::default()
    }

    /// The function at an address, and around it those into which it is inlined: innermost first, at
    /// least one. A return address belongs to the call before it. What has no name is called by the
    /// file that it is loaded from, `[libcrypto.so.3]`, or `[unknown]`.
    pub fn names(&mut self, address: usize, is_return_address: bool) -> &[String] {
        let address = address.saturating_sub(is_return_address.into());
        let names = self.known.entry(address);
        names.or_insert_with(|| resolve(address))
    }

    /// All names of a stack, outermost first. `frames` are innermost first, as they are sampled; all
    /// but the first are return addresses, and the first is one if `first_is_return_address`: false
    /// for a [`StackSample`](crate::StackSample), true for an
    /// [`AllocationStack`](crate::allocations::AllocationStack).
    pub fn stack(&mut self, frames: &[usize], first_is_return_address: bool) -> Vec<String> {
        let mut stack = Vec::new();
        for (index, &frame) in frames.iter().enumerate() {
            let names = self.names(frame, index > 0 || first_is_return_address);
            stack.extend_from_slice(names);
        }
        let own = stack.iter().take_while(|name| is_own(name)).count();
        stack.drain(..own);
        stack.reverse();
        stack
    }
}

/// Whether a function is there because somebody looks.
fn is_own(name: &str) -> bool {
    name.starts_with("thread_scope::") || name.starts_with("__rustc::__rust_")
}

fn resolve(address: usize) -> Vec<String> {
    let mut names = Vec::new();
    // What it is given it takes for a return address.
    let after = ptr::without_provenance_mut(address.saturating_add(1));
    backtrace::resolve(after, |symbol| {
        if let Some(name) = symbol.name() {
            names.push(short_name::short_name(&format!("{name:#}")));
        }
    });
    if names.is_empty() {
        names.push(loaded::name(address).unwrap_or_else(|| "[unknown]".to_owned()));
    }
    names
}
