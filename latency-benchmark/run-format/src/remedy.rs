//! Remedies: other ways for a measured crate to do its work. A variant chooses one. Their code is in
//! `swarm-patch/src/remedies/`.

use std::str::FromStr;

use crate::Site;

/// A way of a remedy.
#[derive(Debug)]
pub struct RemedyWay {
    pub name: &'static str,
    /// Says what a program with this way does. In a sentence, these words follow the label of a variant.
    pub does: &'static str,
}

/// A remedy. Its text form is `NAME=WAY`.
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
    pub fn number(self) -> usize {
        self as usize
    }

    /// Its ways, which have the numbers 1, 2 and so on. The way 0 is upstream's and has no name.
    pub fn ways(self) -> &'static [RemedyWay] {
        match self {
            Remedy::Flush => &[RemedyWay {
                name: "32KiB",
                does: "has yamux flush after 32 KiB and once no frame waits to be sent",
            }],
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
