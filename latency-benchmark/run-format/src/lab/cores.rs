//! Lists of cores.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::serde_as_text;

/// At least one core. Its text form is the kernel's: `1`, `0,2`, `4-7`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cores(BTreeSet<usize>);

impl Cores {
    pub fn one(core: usize) -> Cores {
        Cores(BTreeSet::from([core]))
    }

    pub fn new(cores: impl IntoIterator<Item = usize>) -> Option<Cores> {
        Some(BTreeSet::from_iter(cores))
            .filter(|cores| !cores.is_empty())
            .map(Cores)
    }

    pub fn first(&self) -> usize {
        *self.0.first().expect("there is at least one core")
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The cores as words of a sentence: `core 1`, `cores 2-5`.
    pub fn in_words(&self) -> String {
        let plural = if self.count() > 1 { "s" } else { "" };
        format!("core{plural} {self}")
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + Clone {
        self.0.iter().copied()
    }

    pub fn contains(&self, core: usize) -> bool {
        self.0.contains(&core)
    }
}

impl FromStr for Cores {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let accepted = "accepted: 1 or 0,2 or 4-7";
        parse(text).ok_or_else(|| format!("{text:?} lists no cores ({accepted})"))
    }
}

fn parse(text: &str) -> Option<Cores> {
    let mut cores = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (core_number(first)?, core_number(last)?);
        cores.extend((first <= last).then_some(first..=last)?);
    }
    Cores::new(cores)
}

/// glibc's `cpu_set_t` has the same bound. It also keeps `0-99999999999` from filling memory.
fn core_number(text: &str) -> Option<usize> {
    const MOST: usize = 1024;
    text.trim().parse().ok().filter(|core| *core < MOST)
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cores = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cores.next() {
            let mut last = first;
            while let Some(next) = cores.next_if_eq(&(last + 1)) {
                last = next;
            }
            write!(f, "{separator}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

serde_as_text!(Cores);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cores_are_read_and_shown_as_the_kernel_does() {
        for (text, shown) in [
            ("3", "3"),
            ("0,2", "0,2"),
            ("4-7,1", "1,4-7"),
            ("0-1\n", "0-1"),
        ] {
            assert_eq!(text.parse::<Cores>().expect(text).to_string(), shown);
        }
        for text in ["", "a", "1-", "3-1", "-1", "0-99999999999"] {
            text.parse::<Cores>().expect_err(text);
        }
    }
}
