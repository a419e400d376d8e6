//! Findings of needless work: injected causes are found, and a clean launch has none.

use crate::fixture::evidence::{CELL, add, change, set};
use crate::fixture::{FixtureCopy, holds};

/// The kinds of the findings, the most severe first.
fn kinds(copy: &FixtureCopy) -> Vec<String> {
    copy.reported();
    let table = copy.explain_file("findings.csv");
    let rows = table.lines().skip(1);
    rows.map(|row| row.split(',').nth(1).expect("a kind").to_owned())
        .collect()
}

#[test]
fn a_clean_launch_has_no_findings() {
    assert_eq!(kinds(&FixtureCopy::explained()), Vec::<String>::new());
}

#[test]
fn a_handler_that_sleeps_is_the_first_finding() {
    let copy = FixtureCopy::explained();
    // 50 samples beside the 100 of the other slow polls.
    add(
        &copy,
        "stacks.csv",
        "stacks",
        "connection,handler.poll,100000,Connection::poll;std::thread::sleep;clock_nanosleep;[kernel],50,",
    );
    assert_eq!(kinds(&copy), ["sleeping-poll"]);
    let table = copy.explain_file("findings.csv");
    holds(
        &table,
        &[
            &format!("{CELL},sleeping-poll,connection,handler.poll,33.33,5,"),
            "33.3 % of the time in slow polls, most of it in `clock_nanosleep`",
        ],
    );
    holds(
        &copy.reported(),
        &[
            "[1 found](explain/findings.csv)",
            "**sleeping-poll** (`pl065536_rtt000_n02`): The child `handler.poll` of `Connection::poll` waits",
        ],
    );
}

#[test]
fn a_handler_that_allocates_is_the_first_finding() {
    let copy = FixtureCopy::explained();
    change(&copy, "allocations.csv", |text| {
        text.replace(",4400,44000", ",11000000,440000000")
    });
    assert_eq!(kinds(&copy), ["allocating-poll"]);
    holds(
        &copy.explain_file("findings.csv"),
        &["allocating-poll,connection,handler.poll,10000,1000,"],
    );
}

#[test]
fn a_behaviour_that_wakes_itself_is_the_first_finding() {
    let copy = FixtureCopy::explained();
    set(&copy, "central_self_wakes", |_| 190);
    set(&copy, "swarm_polls_idle", |_| 390);
    assert_eq!(kinds(&copy), ["self-waking", "idle-polls"]);
    holds(
        &copy.explain_file("findings.csv"),
        &["self-waking,swarm,,95,50,", "idle-polls,swarm,,97.5,60,"],
    );
    // No poll is idle twice.
    set(&copy, "central_self_wakes", |_| 1900);
    set(&copy, "swarm_polls_idle", |_| 3900);
    assert_eq!(kinds(&copy), ["self-waking", "idle-polls"]);
    holds(
        &copy.explain_file("findings.csv"),
        &["self-waking,swarm,,100,50,", "idle-polls,swarm,,100,60,"],
    );
}

#[test]
fn tasks_that_spend_their_budget_do_not_count_as_waking_themselves() {
    let copy = FixtureCopy::explained();
    set(&copy, "task_self_wakes", |_| 900);
    // The task found something to do each time.
    assert_eq!(kinds(&copy), Vec::<String>::new());
    set(&copy, "connection_polls_idle", |_| 700);
    assert_eq!(kinds(&copy), ["self-waking"]);
    set(&copy, "task_yields", |_| 600);
    assert_eq!(kinds(&copy), Vec::<String>::new());
}

#[test]
fn dials_of_connected_peers_come_before_the_connections_they_make() {
    let copy = FixtureCopy::explained();
    set(&copy, "dials", |_| 10);
    set(&copy, "connections", |slice| 2 + slice);
    assert_eq!(
        kinds(&copy),
        [
            "redundant-dials",
            "growing-connections",
            "several-connections"
        ]
    );
    holds(
        &copy.explain_file("findings.csv"),
        &["redundant-dials,swarm,,40,0.1,"],
    );
}

#[test]
fn connections_beyond_one_for_each_peer_are_found() {
    let copy = FixtureCopy::explained();
    set(&copy, "connections", |_| 4);
    assert_eq!(kinds(&copy), ["several-connections"]);
    holds(
        &copy.explain_file("findings.csv"),
        &["several-connections,,,2,1,"],
    );
}

#[test]
fn tasks_that_leak_are_the_first_finding() {
    let copy = FixtureCopy::explained();
    set(&copy, "tasks", |slice| 12 + slice / 2 + slice % 3);
    set(&copy, "resident_bytes", |slice| {
        50_000_000 + 1_000_000 * slice + 4096 * (slice % 5)
    });
    assert_eq!(kinds(&copy), ["growing-tasks", "growing-memory"]);
    // By half a task in 0.3 s.
    holds(&copy.explain_file("findings.csv"), &["1.67 ["]);
}

#[test]
fn growth_that_is_small_or_by_chance_is_none() {
    let copy = FixtureCopy::explained();
    set(&copy, "resident_bytes", |slice| {
        500_000_000 + 100_000 * slice
    });
    set(&copy, "tasks", |slice| 12 + (slice * 7919 % 13));
    assert_eq!(kinds(&copy), Vec::<String>::new());
}

#[test]
fn tasks_that_come_from_nothing_have_no_growth_in_percent() {
    let copy = FixtureCopy::explained();
    set(&copy, "tasks", |slice| (slice / 2).saturating_sub(12));
    assert_eq!(kinds(&copy), ["growing-tasks"]);
    holds(
        &copy.explain_file("findings.csv"),
        &["growing-tasks,,,,10,"],
    );
}
