//! Installs signal handlers.
#![allow(unsafe_code, reason = "installs a signal handler")]

use std::{mem, ptr};

use libc::{c_int, c_void, siginfo_t};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use crate::scope::Unobservable;

/// A handler that only does what handlers may do, at any moment.
pub(crate) type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// Installs a handler permanently, unless it is there: without it, a signal that arrives late would end the process.
pub(crate) fn install(
    what: &str,
    signal: Signal,
    handler: Handler,
    flags: SaFlags,
    blocked: SigSet,
) -> Result<(), Unobservable> {
    let before = action(signal as c_int);
    if before.is_some_and(|action| action.sa_sigaction == handler as *const () as usize) {
        return Ok(());
    }
    if before.is_none_or(|action| has_handler(&action)) {
        let why = format!("the process already has a handler for {signal}");
        return Err(Unobservable::new(what, why));
    }
    let flags = flags | SaFlags::SA_RESTART;
    let action = SigAction::new(SigHandler::SigAction(handler), flags, blocked);
    // SAFETY: the handler only does what handlers may do.
    let installed = unsafe { sigaction(signal, &action) };
    installed.map(drop).map_err(|errno| {
        let why = format!("the kernel accepts no handler for {signal}: {errno}");
        Unobservable::new(what, why)
    })
}

pub(crate) fn action(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: all zeros are a valid value of this struct, and the call only writes it.
    unsafe {
        let mut action = mem::zeroed();
        (libc::sigaction(signal, ptr::null(), &mut action) == 0).then_some(action)
    }
}

pub(crate) fn has_handler(action: &libc::sigaction) -> bool {
    ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction)
}
