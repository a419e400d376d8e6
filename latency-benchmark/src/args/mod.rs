//! Arguments that several verbs have.

mod budgets;
mod network;
mod new_run;
mod node;
mod offers;
mod pace;
mod profile;
mod runtime;
mod subjects;

pub(crate) use self::{
    budgets::*, network::*, new_run::*, node::*, offers::*, runtime::*, subjects::*,
};
