//! The files that `explain` writes: `explain.json` for all cells, `evidence.json` and tables for each.

use std::fmt;

use crate::plausible::{CALL_NS, COUNT, PlausibleValue, UNIX_S, WHAT_THE_TYPE_ALLOWS, plausible};
use crate::{Cell, Pass, Site, Text, Tool, shown_as_serialised};
use serde::{Deserialize, Serialize};

/// `explain.json` says what was asked for. A cell that was not launched, or whose launch did not end, has no folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExplainFile {
    pub schema: u32,
    pub command: Vec<String>,
    pub tool: Tool,
    pub variants: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<usize>,
    pub cells: Vec<ChosenCell>,
    pub created_unix_s: u64,
}

plausible! { ExplainFile;
    schema command tool variants subjects cells: WHAT_THE_TYPE_ALLOWS;
    created_unix_s: UNIX_S;
}

/// A cell to explain, with the figure of the baseline by which cells are chosen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChosenCell {
    pub id: String,
    pub rank: usize,
    pub why: ChosenBecause,
    pub beyond_ms_per_s: f64,
}

plausible! { ChosenCell;
    id rank why: WHAT_THE_TYPE_ALLOWS;
    beyond_ms_per_s: COUNT;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChosenBecause {
    Asked,
    BeyondTime,
    BeyondTimeWithDelay,
}

/// `evidence.json` says which kinds of evidence there are. A number is null if its kind is missing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EvidenceFile {
    pub unavailable: Vec<MissingEvidence>,
    pub stack_interval_ns: Option<u64>,
    pub stacks_lost: Option<u64>,
    pub objects_per_stack: Option<u64>,
    pub allocation_stacks_lost: Option<u64>,
    pub counters: Option<Vec<String>>,
    pub counter_reading_ns: Option<u64>,
}

plausible! { EvidenceFile;
    unavailable counters: WHAT_THE_TYPE_ALLOWS;
    stack_interval_ns stacks_lost objects_per_stack allocation_stacks_lost: COUNT;
    counter_reading_ns: CALL_NS;
}

/// A kind of evidence that this machine cannot give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingEvidence {
    #[serde(rename = "evidence")]
    pub pass: Pass,
    pub what: String,
    pub why: String,
}

/// A row of any table of evidence but `timeline.csv`. It says how often something happened, and how much that was together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EvidenceRow<What = Text> {
    pub slice: u32,
    pub site: Option<Site>,
    pub child: Option<Text>,
    pub from_ns: Option<u64>,
    pub what: What,
    pub count: u64,
    pub amount: Option<u64>,
}

plausible! { EvidenceRow<What>, [What: PlausibleValue], |span|;
    slice site child what: WHAT_THE_TYPE_ALLOWS;
    from_ns: span.launch_ns();
    count: span.events_of_all();
    amount: span.bytes();
}

/// The events and levels that rows of `activity.csv` count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityCounter {
    ConnectionPolls,
    ConnectionPollsIdle,
    SwarmPolls,
    SwarmPollsIdle,
    CentralSelfWakes,
    TaskSelfWakes,
    TaskYields,
    Dials,
    DialFailures,
    ConnectionsOpened,
    ConnectionsClosed,
    Connections,
    Peers,
    Tasks,
    ResidentBytes,
}

shown_as_serialised!(ActivityCounter);

/// The end of a sampled stack whose thread was in a system call.
pub const IN_KERNEL: &str = ";[kernel]";

/// The rows of `allocations.csv`.
pub const POLLS: &str = "polls";
pub const OBJECTS: &str = "objects";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TimelineRow {
    pub slice: u32,
    pub rank: usize,
    pub site: Site,
    pub child: Option<Text>,
    pub iteration: Option<u32>,
    pub depth: u32,
    pub start_ns: u64,
    pub duration_ns: u64,
    pub outcome: Option<Text>,
    pub iterations: Option<u32>,
}

plausible! { TimelineRow, |span|;
    slice rank site child iteration depth outcome iterations: WHAT_THE_TYPE_ALLOWS;
    start_ns duration_ns: span.launch_ns();
}

impl ChosenCell {
    /// Describes the cell in one line.
    pub fn in_words(&self, cell: &Cell) -> impl fmt::Display {
        let (id, ms) = (&self.id, self.beyond_ms_per_s);
        format!("{id}  {cell}: {ms:.1} ms per s beyond 50 µs")
    }
}
