//! Grafts the probe and the budgets onto the pristine source.

fn main() {
    swarm_patch::package::build(&[(
        "idle_timeout_with_keep_alive_no",
        "the connection's timer and a timer of the test race on two threads; \
         passes_under_budgets runs it",
    )]);
}
