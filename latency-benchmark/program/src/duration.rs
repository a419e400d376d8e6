//! Durations for people.

use std::time::Duration;

/// "42 s", "3 min 5 s", "7 h 12 min".
pub fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes if minutes < 60 => format!("{minutes} min {} s", seconds % 60),
        minutes => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}
