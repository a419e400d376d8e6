//! Grafts the probe and the budgets onto the pristine source.

fn main() {
    swarm_patch::package::build(&[]);
}
