//! The registers that define a thread's position in its code and on its stack.
#![allow(unsafe_code, reason = "reads registers")]

use std::arch::asm;

use framehop::UnwindRegsNative;

#[derive(Clone, Copy)]
pub(crate) struct Registers {
    pub(crate) ip: usize,
    /// These are the stack pointer, the frame pointer, and a third register. On ARM it is the return address, which a
    /// function may not have stored yet. Elsewhere it is `ip` once more.
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

    /// The registers of the calling thread, in the function into which this is inlined. `getcontext` would make a system
    /// call for each sampled allocation.
    #[inline(always)]
    pub(crate) fn here() -> Registers {
        let (ip, sp, fp): (u64, u64, u64);
        // SAFETY: this only copies registers.
        #[cfg(target_arch = "x86_64")]
        let code = unsafe {
            asm!(
                "lea {}, [rip]", "mov {}, rsp", "mov {}, rbp",
                out(reg) ip, out(reg) sp, out(reg) fp,
                options(nomem, nostack, preserves_flags)
            );
            ip
        };
        // SAFETY: this only copies registers.
        #[cfg(target_arch = "aarch64")]
        let code = unsafe {
            let lr: u64;
            asm!(
                "adr {}, .", "mov {}, sp", "mov {}, x29", "mov {}, x30",
                out(reg) ip, out(reg) sp, out(reg) fp, out(reg) lr,
                options(nomem, nostack, preserves_flags)
            );
            lr
        };
        Registers {
            ip: ip as usize,
            unwound: UnwindRegsNative::new(code, sp, fp),
        }
    }

    pub(crate) fn sp(&self) -> usize {
        self.unwound.sp() as usize
    }
}
