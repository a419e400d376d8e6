//! A machine in words.

use run_format::manifest::Machine;

/// "2 cores of …, Linux 6.8"
pub(crate) fn described(machine: &Machine) -> String {
    let cores = machine.cores;
    let cores = cores.map_or_else(String::new, |cores| format!("{cores} cores of "));
    let cpu = machine.cpu.as_deref().unwrap_or("an unknown CPU");
    let kernel = machine.kernel.as_deref();
    let kernel = kernel.map_or_else(String::new, |kernel| format!(", Linux {kernel}"));
    format!("{cores}{cpu}{kernel}")
}

/// The name of a machine, or what it is like if that is not recorded.
pub(crate) fn name(machine: &Machine) -> String {
    let name = machine.host.clone();
    name.unwrap_or_else(|| described(machine))
}
