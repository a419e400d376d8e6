//! Arguments that several verbs have.

pub(crate) mod budgets;
pub(crate) mod hosts;
pub(crate) mod network;
pub(crate) mod new_run;
pub(crate) mod node;
pub(crate) mod parts;
pub(crate) mod runtime;
pub(crate) mod subjects;
