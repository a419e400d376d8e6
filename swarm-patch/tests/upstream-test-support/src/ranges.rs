use std::ops::Range;

use quickcheck::{Arbitrary, Gen};
use rand::distr::uniform::SampleUniform;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Values from a range.
pub trait GenRange {
    /// A value from `range`, each as likely as any other.
    fn gen_range<T: SampleUniform + PartialOrd>(&mut self, range: Range<T>) -> T;
}

impl GenRange for Gen {
    fn gen_range<T: SampleUniform + PartialOrd>(&mut self, range: Range<T>) -> T {
        // The generator does not expose its source of randomness, but can make a seed.
        let mut seed = <StdRng as SeedableRng>::Seed::default();
        seed.iter_mut().for_each(|byte| *byte = u8::arbitrary(self));
        StdRng::from_seed(seed).random_range(range)
    }
}
