/// What [`Unobservable`](crate::Unobservable) reports as not observable.
pub(super) const WHAT: &str = "system calls";

/// A system call that has returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemCall {
    /// The time of the call on the caller's clock.
    pub at: u64,
    /// The duration on the same clock, including waiting.
    pub ns: u64,
    /// The number; see [`name`](SystemCall::name).
    pub number: i64,
    /// The second argument, which selects the operation of some calls.
    pub second: u64,
    /// The result. An error is a negative error number.
    pub result: i64,
}

impl SystemCall {
    /// The name, or `unknown` for a call that is newer than this crate. A `futex` call that waits and one that
    /// wakes have different names, those of the kernel's newer calls `futex_wait` and `futex_wake`.
    pub fn name(&self) -> &'static str {
        if self.number == libc::SYS_futex {
            let operation = libc::c_int::try_from(self.second).unwrap_or(0);
            match operation & libc::FUTEX_CMD_MASK {
                libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => return "futex_wait",
                libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => return "futex_wake",
                _ => {}
            }
        }
        let number = usize::try_from(self.number).ok();
        let call = number.and_then(syscalls::Sysno::new);
        call.map_or("unknown", |call| call.name())
    }
}
