//! Programs built against other people's libp2p: a checkout, a revision of one, another release.
//!
//! The way of a subject: [`spec`] is what somebody types, [`checkout`] looks what state a checkout is in
//! and copies it, [`crates`] finds and grafts its crates, [`workshop`] builds our benchmark with them and
//! keeps the program, and [`record`] is what files say of it. The user's checkout is only read.

mod build;
pub mod checkout;
mod compiler;
pub mod crates;
mod git;
mod lock_file;
mod ours;
pub mod record;
pub mod spec;
mod sync;
pub mod workshop;

use anyhow::{Context, Result};

use self::{
    checkout::Checkout,
    record::SourceRecord,
    spec::{CheckoutSpec, Spec},
};

/// What to build against, looked up.
#[derive(Clone, Debug)]
pub struct Subject {
    /// All of libp2p.
    pub libp2p: Libp2p,
    /// In the place of the yamux that libp2p asks for.
    pub yamux: Option<Checkout>,
}

/// All of libp2p.
#[derive(Clone, Debug)]
pub enum Libp2p {
    /// What our lock file names.
    Released,
    /// Another release, by its version.
    Release(String),
    /// A checkout.
    Checkout(Box<Checkout>),
}

impl Subject {
    /// Looks up what the specs name.
    pub fn resolve(libp2p: &Spec, yamux: Option<&CheckoutSpec>) -> Result<Subject> {
        Ok(Subject {
            libp2p: Libp2p::resolve(libp2p)?,
            yamux: yamux
                .map(|spec| Checkout::resolve(spec).with_context(|| format!("--yamux {spec}")))
                .transpose()?,
        })
    }
}

impl Libp2p {
    fn resolve(spec: &Spec) -> Result<Libp2p> {
        Ok(match spec {
            Spec::Released => Libp2p::Released,
            Spec::Release(version) => {
                ours::stream_release(version).with_context(|| format!("--subject {spec}"))?;
                Libp2p::Release(version.clone())
            }
            Spec::Checkout(checkout) => Libp2p::Checkout(Box::new(
                Checkout::resolve(checkout).with_context(|| format!("--subject {spec}"))?,
            )),
        })
    }

    /// For files.
    pub fn record(&self) -> SourceRecord {
        match self {
            Libp2p::Released => SourceRecord::Released,
            Libp2p::Release(version) => SourceRecord::Release {
                version: version.clone(),
            },
            Libp2p::Checkout(checkout) => checkout.record(),
        }
    }
}
