//! The registers that define a thread's position in its code and on its stack.
#![allow(unsafe_code, reason = "reads registers")]

use std::mem;

use framehop::UnwindRegsNative;

#[derive(Clone, Copy)]
pub(crate) struct Registers {
    pub(crate) ip: usize,
    /// With the stack pointer and the frame pointer. On ARM with the return address of a function that has not stored it
    /// yet, elsewhere with the position once more.
    pub(crate) unwound: UnwindRegsNative,
}

impl Registers {
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn interrupted(context: &libc::ucontext_t) -> Registers {
        let register = |number: libc::c_int| context.uc_mcontext.gregs[number as usize] as u64;
        let [ip, sp, fp] = [libc::REG_RIP, libc::REG_RSP, libc::REG_RBP].map(register);
        Registers {
            ip: ip as usize,
            unwound: UnwindRegsNative::new(ip, sp, fp),
        }
    }

    #[cfg(target_arch = "aarch64")]
    pub(crate) fn interrupted(context: &libc::ucontext_t) -> Registers {
        let machine = &context.uc_mcontext;
        Registers {
            ip: machine.pc as usize,
            unwound: UnwindRegsNative::new(machine.regs[30], machine.sp, machine.regs[29]),
        }
    }

    /// The registers of the calling thread, in the function into which this is inlined.
    #[inline(always)]
    pub(crate) fn here() -> Registers {
        // SAFETY: all zeros are a valid value of this struct, which the call fills.
        unsafe {
            let mut context = mem::zeroed();
            libc::getcontext(&raw mut context);
            Registers::interrupted(&context)
        }
    }

    pub(crate) fn sp(&self) -> usize {
        self.unwound.sp() as usize
    }
}
