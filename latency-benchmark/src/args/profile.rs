//! Reads profiles. A profile is a TOML file with workloads that run at the same time.

use std::path::Path;

use run_format::files;
use run_format::{Pace, Part, Phase, Workload};
use serde::Deserialize;
use toml::Spanned;

use super::pace::pace;

/// A workload without parts, or the workload of a profile's first part and all parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AskedWorkload {
    pub(crate) workload: Workload,
    pub(crate) parts: Vec<Part>,
}

impl From<Workload> for AskedWorkload {
    fn from(workload: Workload) -> AskedWorkload {
        let parts = Vec::new();
        AskedWorkload { workload, parts }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    part: Vec<Spanned<Part>>,
}

/// Reads the profile in a file.
pub(super) fn read(path: &str) -> Result<AskedWorkload, String> {
    const LONGEST: usize = 1 << 20;
    let text = files::read(Path::new(path)).map_err(|error| {
        let why = error.root_cause();
        format!("it is no workload, and no file with a profile: {why} (see --help)")
    })?;
    if text.len() > LONGEST {
        return Err("it is longer than any profile (accepted: up to 1 MiB)".to_owned());
    }
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    let line_at = |start: usize| 1 + text[..start.min(text.len())].matches('\n').count();
    let profile: Profile = toml::from_str(&text).map_err(|error| {
        let line = line_at(error.span().map_or(0, |span| span.start));
        let wrong = error.message().trim_end().replace('\n', ", ");
        format!("line {line}: {wrong}")
    })?;
    let parts = profile.part.into_iter().map(|part| {
        let line = line_at(part.span().start);
        checked(part.into_inner()).map_err(|wrong| format!("the part in line {line}: {wrong}"))
    });
    let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
    // The first byte of a stream is the number of its part.
    let Some(first) = parts.first().filter(|_| parts.len() < 256) else {
        let count = parts.len();
        return Err(format!(
            "the profile has {count} parts (accepted: 1 to 255)"
        ));
    };
    if first.peers.is_some() || first.phase.is_some() {
        return Err("the first part is measured all the time (remove its peers and phase)".into());
    }
    let workload = first.workload;
    Ok(AskedWorkload { workload, parts })
}

/// The part with its pace. Refuses keys that do not go together.
fn checked(part: Part) -> Result<Part, String> {
    const HOUR: f64 = 3600.0;
    let is_duplex = match part.workload {
        Workload::Duplex => true,
        Workload::Stream | Workload::Rr | Workload::Burst => false,
        other => {
            return Err(format!(
                "workload {other} (accepted: stream, rr, burst, duplex)"
            ));
        }
    };
    if part.rate.and(part.outstanding).is_some() {
        return Err("it has both rate and outstanding (remove one of them)".to_owned());
    }
    if part.peers.as_ref().is_some_and(Vec::is_empty) {
        return Err("it is for no peer (accepted: peers such as [1, 2])".to_owned());
    }
    let fits = |Phase { from, to, of }| 0.0 <= from && from < to && to <= of && of <= HOUR;
    if !part.phase.is_none_or(|phase| fits(phase) && !is_duplex) {
        let accepted = "0 <= from < to <= of <= 3600, and none with duplex";
        return Err(format!("phase (accepted: {accepted})"));
    }
    let asked = part.outstanding.map(|count| Pace::Outstanding(count.get()));
    let asked = asked.or(part.rate.map(Pace::PerSecond));
    let pace = pace(part.workload, asked).map_err(|wrong| wrong.replace("--", ""))?;
    Ok(part.paced(pace))
}
