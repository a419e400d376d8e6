//! Remedies: other ways for a measured crate to do its work. A variant may have them. Their code is in
//! `swarm-patch/src/remedies/`.

use std::str::FromStr;

use crate::Site;

/// A remedy. Its text form is `NAME=AMOUNT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Changes when yamux hands to the system what it has written.
    Flush,
}

impl Remedy {
    pub const ALL: [Remedy; 1] = [Remedy::Flush];

    pub fn name(self) -> &'static str {
        match self {
            Remedy::Flush => "flush",
        }
    }

    /// The site whose function it changes.
    pub fn site(self) -> Site {
        match self {
            Remedy::Flush => Site::Muxer,
        }
    }

    /// The number by which the measured code knows the remedy.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The text after `=` in its text form.
    pub fn amount(self) -> &'static str {
        match self {
            Remedy::Flush => "32KiB",
        }
    }

    /// Says what a program with the remedy does. In a sentence, these words follow the label of a variant.
    pub fn does(self) -> &'static str {
        match self {
            Remedy::Flush => "has yamux flush after 32 KiB and once no frame waits to be sent",
        }
    }
}

impl FromStr for Remedy {
    type Err = ();

    fn from_str(name: &str) -> Result<Remedy, ()> {
        let mut all = Remedy::ALL.into_iter();
        all.find(|remedy| remedy.name() == name).ok_or(())
    }
}
