//! Installs budgets from an environment variable, because upstream's tests run unchanged. This is not in poll-probe, so only
//! test binaries read the variable.
#![allow(
    unsafe_code,
    reason = "code before `main`; it reads one variable and installs one variant"
)]

use poll_probe::{Mode, Variant};
use run_format::Budgets;

/// The name of the variable.
pub(crate) const POLL_BUDGET: &str = "POLL_BUDGET";

#[ctor::ctor(unsafe)]
fn install() {
    let Some(text) = std::env::var_os(POLL_BUDGET) else {
        return;
    };
    match text.to_string_lossy().parse::<Budgets>() {
        Ok(budgets) => {
            Variant {
                budgets: budgets.in_central(),
                mode: Mode::Off,
            }
            .install();
        }
        Err(error) => {
            eprintln!("error: {POLL_BUDGET}: {error}");
            std::process::exit(2);
        }
    }
}
