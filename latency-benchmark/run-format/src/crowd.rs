//! Other tasks that keep central's runtime busy, as they are typed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use poll_probe::number::{Number, TIME};

use crate::serde_as_text;

/// The accepted forms, for help texts and errors.
pub const CROWD_FORMS: &str = "TASKSxTIME@SHARE, such as 24x100us@30%: up to 1024 tasks that work for 1us to 10ms at a time, \
     and all together for 1% to 90% of a core";

const WORK: Number = Number {
    least: 1e3,
    most: 10e6,
    ..TIME
};

const SHARE: Number = Number {
    units: &[("%", 1.0)],
    bare: "",
    least: 1.0,
    most: 90.0,
};

/// So many tasks, each of which works for so long at a time, and the share of a core of all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    pub tasks: u32,
    pub work: Duration,
    pub percent: u64,
}

impl Crowd {
    /// A task is woken this often, and then works so many times, and yields after each time. Timers are a millisecond
    /// coarse, so no period is short.
    pub fn period(self) -> (Duration, u32) {
        const SHORTEST: Duration = Duration::from_millis(4);
        let one = self.work * self.tasks * 100 / self.percent as u32;
        let times = SHORTEST.div_duration_f64(one).ceil().max(1.0) as u32;
        (one * times, times)
    }
}

impl fmt::Display for Crowd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = WORK.show(self.work.as_nanos() as f64);
        write!(f, "{}x{work}@{}%", self.tasks, self.percent)
    }
}

impl FromStr for Crowd {
    type Err = String;

    fn from_str(text: &str) -> Result<Crowd, String> {
        let crowd = || {
            let no_crowd = || format!("{text:?} is no crowd");
            let (tasks, rest) = text.split_once('x').ok_or_else(no_crowd)?;
            let (work, share) = rest.split_once('@').ok_or_else(no_crowd)?;
            Ok(Crowd {
                tasks: match tasks.parse() {
                    Ok(tasks @ 1..=1024) => tasks,
                    _ => return Err(format!("{tasks:?} is no number from 1 to 1024")),
                },
                work: Duration::from_nanos(WORK.read_whole(work)?),
                percent: SHARE.read_whole(share)?,
            })
        };
        crowd().map_err(|wrong: String| format!("{wrong} (accepted: {CROWD_FORMS})"))
    }
}

serde_as_text!(Crowd);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_read_as_it_is_written_and_takes_its_share() {
        for text in ["24x100us@30%", "1x10us@1%", "1024x10ms@90%", "8x1ms@50%"] {
            let crowd: Crowd = text.parse().expect("a crowd");
            assert_eq!(crowd.to_string(), text);
            let (period, times) = crowd.period();
            assert!(period >= Duration::from_millis(4), "{text}: {period:?}");
            let busy = crowd.work * times * crowd.tasks;
            let percent = 100.0 * busy.div_duration_f64(period);
            assert!((percent - crowd.percent as f64).abs() < 0.01, "{text}");
        }
    }

    #[test]
    fn what_is_no_crowd_says_what_would_be() {
        for text in [
            "",
            "24",
            "24x100us",
            "0x100us@30%",
            "2000x100us@30%",
            "24x100@30%",
            "24x20ms@30%",
            "24x100us@30",
            "24x100us@95%",
            "24x100us@0.5%",
        ] {
            let error = text.parse::<Crowd>().expect_err(text);
            assert!(error.contains("accepted: TASKSxTIME@SHARE"), "{error}");
        }
    }
}
