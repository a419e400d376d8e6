//! Grafts the probe and the budgets onto the pristine source.

use swarm_patch::RacingTest;

const RACING: [RacingTest; 1] = [RacingTest {
    file: "src/connection.rs",
    function: "idle_timeout_with_keep_alive_no",
    reason: "the connection's timer and a timer of the test race on two threads; \
             passes_under_budgets runs it",
}];

fn main() {
    swarm_patch::package::build(&RACING);
}
