//! Arguments that several verbs have.

pub(crate) mod budgets;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod subjects;
