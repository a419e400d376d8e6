/// A part of a whole in percent, from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Share(f64);

impl Share {
    const ALL: f64 = 100.0;

    /// None if the whole is zero. If the two are measured apart, the part may be a little more than the whole, and counts as all
    /// of it.
    pub(crate) fn part(part: f64, whole: f64) -> Option<Share> {
        let percent = Share::ALL * part / whole;
        (whole > 0.0 && percent >= 0.0).then(|| Share(percent.min(Share::ALL)))
    }

    /// The share of two parts of the same whole together.
    pub(crate) fn with(self, other: Share) -> Share {
        Share((self.0 + other.0).min(Share::ALL))
    }

    pub(crate) fn percent(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_from_0_to_100() {
        for (part, whole, percent) in [
            (0.0, 4.0, Some(0.0)),
            (1.0, 4.0, Some(25.0)),
            (4.1, 4.0, Some(100.0)),
            (1e300, 1e-300, Some(100.0)),
            (0.0, 0.0, None),
            (1.0, 0.0, None),
            (-1.0, 4.0, None),
            (f64::NAN, 4.0, None),
            (1.0, f64::NAN, None),
        ] {
            let share = Share::part(part, whole);
            assert_eq!(share.map(Share::percent), percent, "{part} of {whole}");
        }
        let half = Share::part(3.0, 4.0).expect("a share");
        assert_eq!(half.with(half).percent(), 100.0);
    }
}
