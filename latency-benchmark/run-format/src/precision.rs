//! How well a slow ratio is to be known, as it is typed.

use std::fmt;
use std::str::FromStr;

use poll_probe::number::{PERCENT, POINTS};
use serde::{Deserialize, Serialize};

/// How well a slow ratio is to be known: within the larger of the two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    pub percentage_points: f64,
    pub percent_of_value: f64,
}

impl Precision {
    /// Never reached, so that all of the time is used.
    pub const EXACT: Precision = Precision {
        percentage_points: 0.0,
        percent_of_value: 0.0,
    };
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}pp,{}%", self.percentage_points, self.percent_of_value)
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (points, percent) = text.split_once(',').ok_or("it has no comma")?;
            Ok(Precision {
                percentage_points: POINTS.read(points)?,
                percent_of_value: PERCENT.read(percent)?,
            })
        };
        read().map_err(|wrong: String| format!("precision {text:?}: {wrong} (accepted: 1pp,5%)"))
    }
}
