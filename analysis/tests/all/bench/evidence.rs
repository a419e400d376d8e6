//! Evidence of a cell of the fixture as `explain` would have written it, made by hand. It shows no needless work, and its
//! figures are round, so that what a report makes of them can be computed on paper.

use std::fs;
use std::path::PathBuf;

use super::{Copy, edit, fixture};

/// The cell that is explained.
pub(crate) const CELL: &str = "pl065536_rtt000_n02";

pub(crate) const BLOCKS: u64 = 6;

/// The passes of a block, in their order. Each has a slice of the baseline and then one of the budget.
#[rustfmt::skip]
const PASSES: [&str; 6] = [
    "stacks", "allocations", "counters", "system-calls", "timeline", "activity",
];

/// The budget that is compared with the baseline: `muxer=1/deferred`.
pub(crate) const BUDGET: usize = 2;

/// The number of slow polls among the baseline's 1,100 polls by block, in slices of the pass `normal` and in those of the pass
/// `warm`. Only earlier versions measured the second ones, and their results must remain readable.
const NORMAL: [u64; 6] = [100, 104, 96, 100, 102, 98];
const WARM: [u64; 6] = [70, 72, 68, 71, 70, 69];

/// A slice of the launch.
#[derive(Clone, Copy)]
pub(crate) struct EvidenceSlice {
    pub(crate) number: u64,
    pub(crate) pass: &'static str,
    pub(crate) block: u64,
    pub(crate) variant: usize,
}

impl EvidenceSlice {
    /// The number of polls of `Connection::poll` that take 120 µs. The others take 5 µs.
    fn slow(self) -> u64 {
        let block = self.block as usize - 1;
        match self.pass {
            "normal" => NORMAL[block],
            "warm" => WARM[block],
            _ if self.variant == BUDGET => 50,
            _ => 100,
        }
    }
}

pub(crate) fn slices() -> Vec<EvidenceSlice> {
    let mut slices = Vec::new();
    for block in 1..=BLOCKS {
        let of_budgets = PASSES.iter().flat_map(|pass| [(*pass, 0), (*pass, BUDGET)]);
        for (pass, variant) in of_budgets.chain([("normal", 0), ("warm", 0)]) {
            slices.push(EvidenceSlice {
                number: slices.len() as u64 + 1,
                pass,
                block,
                variant,
            });
        }
    }
    slices
}

/// The folder of the cell's evidence.
pub(crate) fn dir(copy: &Copy) -> PathBuf {
    copy.dir().join("explain").join(CELL)
}

/// Writes the evidence of the cell into a copy of the fixture.
pub(crate) fn explain(copy: &Copy) {
    let dir = dir(copy);
    fs::create_dir_all(&dir).expect("a folder");
    fs::write(
        dir.with_file_name("explain.json"),
        format!(
            r#"{{"schema": 3, "command": ["latency-benchmark", "explain"], "tool": {{"version": "0", "commit": null, "profile": "release", "rustc": "rustc", "sha256": null, "upstream": []}}, "variants": [0, {BUDGET}],
                "cells": [{{"id": "{CELL}", "rank": 1, "why": "beyond-time", "beyond_ms_per_s": 48.0}}],
                "created_unix_s": 1795200999}}"#
        ),
    )
    .expect("a file");
    fs::write(
        dir.join("evidence.json"),
        r#"{"unavailable": [{"evidence": "counters", "what": "cycles", "why": "the machine has no such counter"}],
            "stack_interval_ns": 100000, "stacks_lost": 0, "objects_per_stack": 128,
            "allocation_stacks_lost": 0, "counters": ["context-switches"]}"#,
    )
    .expect("a file");
    let run = fixture().join("cells").join(CELL).join("run-1");
    let row = fs::read_to_string(run.join("run.json")).expect("the fixture");
    let plan =
        format!(r#""measurement": {{"explain": {{"variants": [0, {BUDGET}], "blocks": 6}}}}"#);
    let row = row
        .replacen(r#""measurement": "compare""#, &plan, 1)
        .replacen(r#""took_ms": 5462"#, r#""took_ms": 60000"#, 1);
    fs::write(dir.join("run.json"), row).expect("a file");
    fs::write(dir.join("histograms.hlog"), "").expect("a file");
    let header = fs::read_to_string(run.join("slices.csv"))
        .expect("the fixture")
        .lines()
        .next()
        .expect("a header")
        .to_owned();
    write(copy, "slices.csv", &header, slice_row);
    for (name, header, rows) in TABLES {
        write(copy, name, header, rows);
    }
    write(
        copy,
        "peers.csv",
        "slice,peer,requests,latency_p50_ns,latency_p99_ns",
        |_| String::new(),
    );
}

fn write(copy: &Copy, name: &str, header: &str, rows: impl Fn(EvidenceSlice) -> String) {
    let rows: String = slices().into_iter().map(rows).collect();
    let text = format!("{header}\n{rows}");
    fs::write(dir(copy).join(name), text).expect("a table");
}

/// The row of a slice. Each slice has 250 ms and 200 requests, and begins 300 ms after the one before.
fn slice_row(slice: EvidenceSlice) -> String {
    let EvidenceSlice {
        number,
        pass,
        block,
        variant,
    } = slice;
    let start_ms = 500.0 + 300.0 * number as f64;
    let counts = ["0", "1000", "0"].join(",");
    let of_os = [""; 4].join(",");
    format!(
        "{number},{pass},{block},{variant},{start_ms},250.0,250.0,1,200,{counts},{of_os},0,0,0,0,0,0,,,,,,,,\n"
    )
}

type RowsOfSlice = fn(EvidenceSlice) -> String;
const EVIDENCE_COLUMNS: &str = "slice,site,child,from_ns,what,count,amount";
const TABLES: [(&str, &str, RowsOfSlice); 10] = [
    (
        "sites.csv",
        "slice,site,polls,ready,pending,yielded,iterations,own_ns,wall_ns,wall_slow_polls,wall_beyond_ns,lost,children_lost",
        sites,
    ),
    ("bands.csv", "slice,site,from_ns,iterations,polls,ns", bands),
    (
        "children.csv",
        "slice,site,from_ns,child,polls,ns,beyond_ns",
        children,
    ),
    ("stacks.csv", EVIDENCE_COLUMNS, stacks),
    ("allocations.csv", EVIDENCE_COLUMNS, allocations),
    ("allocation_stacks.csv", EVIDENCE_COLUMNS, allocation_stacks),
    ("counters.csv", EVIDENCE_COLUMNS, counters),
    ("system_calls.csv", EVIDENCE_COLUMNS, system_calls),
    (
        "timeline.csv",
        "slice,rank,site,child,iteration,depth,start_ns,duration_ns,outcome,iterations",
        timeline,
    ),
    ("activity.csv", EVIDENCE_COLUMNS, activity),
];

fn sites(slice: EvidenceSlice) -> String {
    let number = slice.number;
    format!(
        "{number},connection,1100,0,1100,0,1300,17000000,17000000,0,0,0,0\n\
         {number},swarm,400,200,200,0,600,400000,400000,0,0,0,0\n\
         {number},task,1000,0,1000,0,1100,18000000,18000000,0,0,0,0\n"
    )
}

fn bands(slice: EvidenceSlice) -> String {
    let (number, slow) = (slice.number, slice.slow());
    format!(
        "{number},connection,0,1,{},{}\n\
         {number},connection,100000,2,{slow},{}\n\
         {number},swarm,0,1,400,400000\n",
        1100 - slow,
        (1100 - slow) * 5_000,
        slow * 120_000
    )
}

/// The children of polls. A slow poll of 120 µs has 90 µs and 18 µs of children, and 12 µs of its own.
fn children(slice: EvidenceSlice) -> String {
    if !["stacks", "timeline"].contains(&slice.pass) {
        return String::new();
    }
    let (number, slow) = (slice.number, slice.slow());
    format!(
        "{number},connection,0,muxing.poll_unpin,1000,1000000,0\n\
         {number},connection,100000,handler.poll,{slow},{},0\n\
         {number},connection,100000,muxing.poll_unpin,{slow},{},{}\n",
        slow * 18_000,
        slow * 90_000,
        slow * 40_000
    )
}

/// Samples of stacks. Of 100 samples in slow polls 72 are in the muxer, 40 of these in the kernel, 18 in the handler, and 10
/// in the poll's own code.
fn stacks(slice: EvidenceSlice) -> String {
    if slice.pass != "stacks" {
        return String::new();
    }
    let number = slice.number;
    let kernel = if slice.variant == BUDGET { 20 } else { 40 };
    format!(
        "{number},connection,muxing.poll_unpin,100000,Connection::poll;yamux::Active::poll;__libc_sendto;[kernel],{kernel},\n\
         {number},connection,muxing.poll_unpin,100000,Connection::poll;yamux::Active::poll;yamux::frame::encode,32,\n\
         {number},connection,handler.poll,100000,\"Connection::poll;request_response::Handler::poll\",18,\n\
         {number},connection,,100000,Connection::poll,10,\n\
         {number},connection,muxing.poll_unpin,0,Connection::poll;yamux::Active::poll,50,\n\
         {number},muxer,self.socket.poll_flush_unpin,0,yamux::Active::poll;__libc_sendto;[kernel],999,\n\
         {number},swarm,this.behaviour.poll,0,Swarm::poll_next_event;ping::Behaviour::poll,7,\n\
         {number},,,,tokio::park,500,\n"
    )
}

/// Allocations: 20 objects in each poll of the muxer, and 4 in each poll of the handler.
fn allocations(slice: EvidenceSlice) -> String {
    if slice.pass != "allocations" {
        return String::new();
    }
    let number = slice.number;
    let place = |place: &str, polls: u64, objects: u64, bytes: u64| {
        format!("{number},{place},polls,{polls},\n{number},{place},objects,{objects},{bytes}\n")
    };
    [
        place("connection,muxing.poll_unpin,0", 1000, 19_000, 1_900_000),
        place("connection,muxing.poll_unpin,100000", 100, 3000, 300_000),
        place("connection,handler.poll,0", 1100, 4400, 44_000),
        place("connection,,0", 1100, 0, 0),
        place("swarm,this.behaviour.poll,0", 400, 100, 6400),
        format!("{number},,,,objects,777,77777\n"),
    ]
    .concat()
}

fn allocation_stacks(slice: EvidenceSlice) -> String {
    if slice.pass != "allocations" {
        return String::new();
    }
    let number = slice.number;
    format!(
        "{number},connection,muxing.poll_unpin,,Connection::poll;yamux::frame::encode;alloc::vec::Vec::push,19200,2000000\n\
         {number},connection,handler.poll,,Connection::poll;request_response::Handler::poll;alloc::boxed::Box::new,6400,60000\n"
    )
}

fn counters(slice: EvidenceSlice) -> String {
    if slice.pass != "counters" {
        return String::new();
    }
    let (number, slow) = (slice.number, slice.slow());
    format!(
        "{number},connection,muxing.poll_unpin,0,context-switches,11,\n\
         {number},connection,muxing.poll_unpin,100000,context-switches,{},\n\
         {number},,,,context-switches,1000,\n",
        slow / 10
    )
}

/// System calls: 1,200 that take 6.1 ms, and 500 that wait for 50 ms.
fn system_calls(slice: EvidenceSlice) -> String {
    if slice.pass != "system-calls" {
        return String::new();
    }
    let number = slice.number;
    format!(
        "{number},,,,sendto,1200,6100000\n\
         {number},,,,epoll_wait,500,50000000\n"
    )
}

/// The timeline: three polls of each variant, in the first block.
fn timeline(slice: EvidenceSlice) -> String {
    if slice.pass != "timeline" || slice.block != 1 {
        return String::new();
    }
    let number = slice.number;
    let poll = |rank: u64| {
        let start = 1_000_000_000 + 10_000_000 * rank + 1_000 * slice.variant as u64;
        let long = 900_000 - 100_000 * rank;
        format!(
            "{number},{rank},connection,,,0,{start},{long},pending,2\n\
             {number},{rank},connection,muxing.poll_unpin,1,1,{},{},,\n\
             {number},{rank},muxer,,,2,{},{},pending,1\n\
             {number},{rank},connection,handler.poll,1,1,{},2000,,\n\
             {number},{rank},connection,handler.poll,2,1,{},100000,,\n",
            start + 1_000,
            long - 200_000,
            start + 1_500,
            long - 201_000,
            start + long - 199_000,
            start + long - 150_000,
        )
    };
    (1..=3).map(poll).collect()
}

fn activity(slice: EvidenceSlice) -> String {
    let number = slice.number;
    // These go up and down without a trend.
    let tasks = [12, 13, 12, 11, 12, 14, 12, 11, 13][number as usize % 9];
    let memory = 50_000_000 + [0, 4096, 0, 8192, 4096][number as usize % 5];
    let row = |(counter, value): (&str, u64)| format!("{number},,,,{counter},{value},\n");
    let gauges = [
        ("connections", 2),
        ("peers", 2),
        ("tasks", tasks),
        ("resident_bytes", memory),
    ]
    .map(row)
    .concat();
    if slice.pass != "activity" {
        return gauges;
    }
    let of_pass: String = [
        ("connection_polls", 1100),
        ("connection_polls_idle", 300),
        ("swarm_polls", 400),
        ("swarm_polls_idle", 60),
        ("central_self_wakes", 10),
        ("task_self_wakes", 120),
        ("task_yields", if slice.variant == BUDGET { 100 } else { 0 }),
        ("dials", 0),
        ("connections_opened", 0),
        ("connections_closed", 0),
        ("dial_failures", 0),
    ]
    .map(row)
    .concat();
    of_pass + &gauges
}

/// Changes a file of the cell's evidence.
pub(crate) fn change(copy: &Copy, name: &str, change: impl FnOnce(String) -> String) {
    edit(&dir(copy).join(name), change);
}

/// Sets a counter of activity in every slice that has it.
pub(crate) fn set(copy: &Copy, counter: &str, value: impl Fn(u64) -> u64) {
    change(copy, "activity.csv", |text| {
        let row = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            match fields[0].parse() {
                Ok(slice) if fields[4] == counter => {
                    format!("{slice},,,,{counter},{},\n", value(slice))
                }
                _ => format!("{line}\n"),
            }
        };
        text.lines().map(row).collect()
    });
}

/// Adds rows for every slice of a pass.
pub(crate) fn add(copy: &Copy, name: &str, pass: &str, row: &str) {
    change(copy, name, |text| {
        let slices = slices().into_iter().filter(|slice| slice.pass == pass);
        let rows: String = slices
            .map(|slice| format!("{},{row}\n", slice.number))
            .collect();
        text + &rows
    });
}

/// The rows of a table that are about slices of this variant, below the header.
pub(crate) fn rows_of(variant: usize, table: &str) -> String {
    let is_other = |line: &str| {
        let slice = line.split(',').next().and_then(|slice| slice.parse().ok());
        let mut others = slices().into_iter();
        others.any(|other| other.variant != variant && slice == Some(other.number))
    };
    let rows = table.lines().filter(|line| !is_other(line));
    rows.map(|line| format!("{line}\n")).collect()
}
