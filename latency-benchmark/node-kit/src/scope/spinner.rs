//! Keeps a core from sleeping without taking time from other threads.
#![allow(unsafe_code, reason = "sets the scheduling policy")]

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::scope::Unobservable;

const WHAT: &str = "idle-priority spinner";

const PARKED: u8 = 0;
const SPINNING: u8 = 1;
const STOPPED: u8 = 2;

/// A thread of idle priority on one core. It spins while spinning is on, and sleeps otherwise. Any other thread
/// gets the core at once, and the core is awake. Dropping this value stops the thread.
pub struct Spinner {
    state: Arc<AtomicU8>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    /// The name of the thread.
    pub const NAME: &str = "spinner";

    /// Starts a thread of that name on that core. It does not spin yet.
    pub fn start(core: usize) -> Result<Spinner, Unobservable> {
        let unavailable = |why: String| Unobservable::new(WHAT, why);
        let state = Arc::new(AtomicU8::new(PARKED));
        let (prepared, preparing) = mpsc::sync_channel(1);
        let states = Arc::clone(&state);
        let spin = move || {
            let outcome = prepare(core);
            let is_prepared = outcome.is_ok();
            // The starting thread waits for this.
            if prepared.send(outcome).is_ok() && is_prepared {
                run(&states);
            }
        };
        let thread = thread::Builder::new()
            .name(Spinner::NAME.to_owned())
            .spawn(spin)
            .map_err(|error| unavailable(format!("no thread can be started: {error}")))?;
        let ended = |_| Err("the thread ended".to_owned());
        let outcome = preparing.recv().unwrap_or_else(ended);
        outcome.map_err(unavailable)?;
        Ok(Spinner {
            state,
            thread: Some(thread),
        })
    }

    /// Switches spinning on or off.
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
            // The thread does not panic. If it did, it has stopped.
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

/// Gives this thread its core and its priority: with any other priority, the thread would take time from the
/// threads for which it keeps the core awake.
fn prepare(core: usize) -> Result<(), String> {
    const THIS_THREAD: Pid = Pid::from_raw(0);
    let on_core = |error| format!("core {core} cannot be chosen: {error}");
    let mut only = CpuSet::new();
    only.set(core).map_err(on_core)?;
    sched_setaffinity(THIS_THREAD, &only).map_err(on_core)?;
    // SAFETY: the struct consists of plain numbers. Zero is the only permitted priority here.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the call only reads the parameters.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) };
    Errno::result(result)
        .map(drop)
        .map_err(|errno| format!("the kernel refuses the idle policy: {errno}"))
}
