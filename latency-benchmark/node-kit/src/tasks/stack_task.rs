use std::pin::Pin;

/// A task of the network stack.
pub type StackTask = Pin<Box<dyn Future<Output = ()> + Send>>;
