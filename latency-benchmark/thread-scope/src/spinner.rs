//! Keeps a core from sleeping, without taking it from anyone.
#![allow(unsafe_code, reason = "asks the kernel for an idle thread")]

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
};

use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};

use crate::Unavailable;

const WHAT: &str = "idle-priority spinner";

const PARKED: u8 = 0;
const SPINNING: u8 = 1;
const STOPPED: u8 = 2;

/// A thread of idle priority on one core that spins, when it is told to, and sleeps otherwise. Whoever
/// else has work for that core gets it at once, and finds it awake. Dropping this stops the thread.
pub struct Spinner {
    state: Arc<AtomicU8>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    /// A thread named `spinner` on that core, not spinning yet.
    pub fn start(core: usize) -> Result<Spinner, Unavailable> {
        let unavailable = |why: String| Unavailable::new(WHAT, why);
        let state = Arc::new(AtomicU8::new(PARKED));
        let (prepared, preparing) = mpsc::sync_channel(1);
        let thread = thread::Builder::new()
            .name("spinner".to_owned())
            .spawn({
                let state = Arc::clone(&state);
                move || {
                    let outcome = prepare(core);
                    let is_prepared = outcome.is_ok();
                    // Whoever started this waits for it.
                    if prepared.send(outcome).is_ok() && is_prepared {
                        run(&state);
                    }
                }
            })
            .map_err(|error| unavailable(format!("no thread can be started: {error}")))?;
        let spinner = Spinner {
            state,
            thread: Some(thread),
        };
        match preparing.recv() {
            Ok(Ok(())) => Ok(spinner),
            Ok(Err(why)) => Err(unavailable(why)),
            Err(_) => Err(unavailable("its thread ended".to_owned())),
        }
    }

    /// Has the thread spin, or sleep.
    pub fn set_spinning(&self, spinning: bool) {
        self.set(if spinning { SPINNING } else { PARKED });
    }

    fn set(&self, state: u8) {
        self.state.store(state, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.set(STOPPED);
        if let Some(thread) = self.thread.take() {
            // It does not panic, and if it did, it has stopped.
            let _ = thread.join();
        }
    }
}

fn run(state: &AtomicU8) {
    loop {
        match state.load(Ordering::Acquire) {
            PARKED => thread::park(),
            SPINNING => std::hint::spin_loop(),
            _ => return,
        }
    }
}

/// Gives this thread its core and its priority, and makes sure that it has them: at any other priority
/// it would take time from those whom it is to keep the core awake for.
fn prepare(core: usize) -> Result<(), String> {
    const THIS_THREAD: Pid = Pid::from_raw(0);
    let on_core = |error| format!("core {core} cannot be chosen: {error}");
    let mut only = CpuSet::new();
    only.set(core).map_err(on_core)?;
    sched_setaffinity(THIS_THREAD, &only).map_err(on_core)?;
    if sched_getaffinity(THIS_THREAD).map_err(on_core)? != only {
        return Err(format!(
            "core {core} was chosen, and the kernel chose others"
        ));
    }
    // SAFETY: all of its parameters are plain numbers, of which zero is the only one permitted here.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the parameters are there.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) } != 0 {
        let error = io::Error::last_os_error();
        return Err(format!("the kernel refuses the idle policy: {error}"));
    }
    // SAFETY: the call has no preconditions.
    match unsafe { libc::sched_getscheduler(0) } {
        libc::SCHED_IDLE => Ok(()),
        policy => Err(format!(
            "its policy is number {policy} and not the idle one"
        )),
    }
}
