//! The registers that define a thread's position in its code and on its stack.
#![allow(unsafe_code, reason = "reads registers")]

use std::arch::asm;

#[derive(Clone, Copy)]
pub(crate) struct Registers {
    pub(crate) ip: usize,
    pub(crate) sp: usize,
    pub(crate) fp: usize,
    /// The return address of a function that has not stored it yet.
    #[cfg(target_arch = "aarch64")]
    pub(crate) lr: usize,
}

impl Registers {
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn interrupted(context: &libc::ucontext_t) -> Registers {
        let register = |number: libc::c_int| context.uc_mcontext.gregs[number as usize] as usize;
        Registers {
            ip: register(libc::REG_RIP),
            sp: register(libc::REG_RSP),
            fp: register(libc::REG_RBP),
        }
    }

    #[cfg(target_arch = "aarch64")]
    pub(crate) fn interrupted(context: &libc::ucontext_t) -> Registers {
        let machine = &context.uc_mcontext;
        Registers {
            ip: machine.pc as usize,
            sp: machine.sp as usize,
            fp: machine.regs[29] as usize,
            lr: machine.regs[30] as usize,
        }
    }

    /// The registers of the calling thread, in the function into which this is inlined.
    #[inline(always)]
    pub(crate) fn here() -> Registers {
        let (ip, sp, fp): (usize, usize, usize);
        #[cfg(target_arch = "aarch64")]
        let lr: usize;
        // SAFETY: this only copies registers.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            asm!(
                "lea {}, [rip]", "mov {}, rsp", "mov {}, rbp",
                out(reg) ip, out(reg) sp, out(reg) fp,
                options(nomem, nostack, preserves_flags)
            );
            #[cfg(target_arch = "aarch64")]
            asm!(
                "adr {}, .", "mov {}, sp", "mov {}, x29", "mov {}, x30",
                out(reg) ip, out(reg) sp, out(reg) fp, out(reg) lr,
                options(nomem, nostack, preserves_flags)
            );
        }
        Registers {
            ip,
            sp,
            fp,
            #[cfg(target_arch = "aarch64")]
            lr,
        }
    }

    pub(crate) fn to_unwind(self) -> framehop::UnwindRegsNative {
        #[cfg(target_arch = "x86_64")]
        let code = self.ip;
        #[cfg(target_arch = "aarch64")]
        let code = self.lr;
        framehop::UnwindRegsNative::new(code as u64, self.sp as u64, self.fp as u64)
    }
}
