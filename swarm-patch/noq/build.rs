//! Grafts the probe and the budgets onto the pristine source.

use swarm_patch::RacingTest;

const RACING: [RacingTest; 1] = [RacingTest {
    file: "src/tests.rs",
    function: "stream_stopped",
    reason: "the test gives a connection 100 ms; passes_under_budgets runs it",
}];

fn main() {
    swarm_patch::package::build(&RACING);
}
