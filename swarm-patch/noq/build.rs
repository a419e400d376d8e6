//! Grafts the probe and the budgets onto the pristine source.

fn main() {
    swarm_patch::package::build(&[(
        "stream_stopped",
        "the test gives a connection 100 ms; passes_under_budgets runs it",
    )]);
}
