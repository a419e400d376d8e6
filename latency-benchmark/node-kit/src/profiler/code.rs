//! Finds the code that is loaded into this process, and the tables for unwinding it.
#![allow(unsafe_code, reason = "reads the headers and the code of loaded files")]

use std::ffi::c_void;
use std::ops::Range;
use std::slice;

use framehop::{ExplicitModuleSectionInfo, Module, MustNotAllocateDuringUnwind, Unwinder as _};

/// Unwinds with the tables that compilers write for exceptions. Libc and assembly have them too.
pub(crate) type Unwinder = framehop::UnwinderNative<Vec<u8>, MustNotAllocateDuringUnwind>;

/// The code that is loaded at one moment. Libraries that are loaded later are not included.
pub(crate) struct Code {
    pub(crate) unwinder: Unwinder,
    all: Vec<Range<usize>>,
}

impl Code {
    pub(crate) fn read() -> Code {
        let mut code = Code {
            unwinder: Unwinder::new(),
            all: Vec::new(),
        };
        // SAFETY: the callback gets the pointer to `code`, which is not used otherwise meanwhile.
        unsafe { libc::dl_iterate_phdr(Some(see_module), (&raw mut code).cast()) };
        code
    }

    /// Whether a thread that was interrupted at `ip` is in a system call. It continues after the instruction of
    /// the call, or at the instruction if the call is restarted.
    pub(crate) fn is_in_system_call(&self, ip: usize) -> bool {
        let length = SYSTEM_CALL.len();
        ip.checked_sub(length)
            .is_some_and(|before| self.has(before, SYSTEM_CALL))
            || self.has(ip, SYSTEM_CALL)
    }

    fn has(&self, address: usize, instruction: &[u8]) -> bool {
        let end = address.saturating_add(instruction.len());
        let is_code = |range: &Range<usize>| range.start <= address && end <= range.end;
        // SAFETY: the address is in readable code, which stays loaded because it is about to run.
        self.all.iter().any(is_code)
            && unsafe { slice::from_raw_parts(address as *const u8, instruction.len()) }
                == instruction
    }
}

#[cfg(target_arch = "x86_64")]
const SYSTEM_CALL: &[u8] = &[0x0f, 0x05];
#[cfg(target_arch = "aarch64")]
const SYSTEM_CALL: &[u8] = &[0x01, 0x00, 0x00, 0xd4];

unsafe extern "C" fn see_module(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    code: *mut c_void,
) -> libc::c_int {
    // SAFETY: `Code::read` passes this pointer.
    let code = unsafe { &mut *code.cast::<Code>() };
    // SAFETY: the pointer is valid for the duration of the call.
    let info = unsafe { &*info };
    // SAFETY: the loader provides this number of headers.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let base = info.dlpi_addr as usize;
    let range = |header: &libc::Elf64_Phdr| {
        let start = base.wrapping_add(header.p_vaddr as usize);
        start..start.wrapping_add(header.p_memsz as usize)
    };
    let loaded = |flags: u32| {
        headers
            .iter()
            .filter(move |header| header.p_type == libc::PT_LOAD && header.p_flags & flags == flags)
    };

    for header in loaded(libc::PF_R | libc::PF_X) {
        code.all.push(range(header));
    }
    let is_index = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_GNU_EH_FRAME;
    let index = headers.iter().find(is_index).map(range);
    let segments: Vec<_> = loaded(libc::PF_R).map(range).collect();
    if let Some(index) = index
        && let Some(sections) = unwind_sections(&index, &segments, base)
        && let Some(start) = segments.iter().map(|segment| segment.start).min()
        && let Some(end) = segments.iter().map(|segment| segment.end).max()
    {
        let range = start as u64..end as u64;
        code.unwinder
            .add_module(Module::new(String::new(), range, base as u64, sections));
    }
    0
}

/// Copies the tables, since a library may be unloaded while they are used.
fn unwind_sections(
    index: &Range<usize>,
    segments: &[Range<usize>],
    base: usize,
) -> Option<ExplicitModuleSectionInfo<Vec<u8>>> {
    /// The encoding of the table's address: four bytes with a sign, relative to their own address.
    const RELATIVE: u8 = 0x1b;
    const AT: usize = 4;

    // SAFETY: the range is loaded from the file.
    let copy = |range: &Range<usize>| unsafe {
        slice::from_raw_parts(range.start as *const u8, range.len()).to_vec()
    };
    let is_loaded = |address| segments.iter().find(|segment| segment.contains(&address));
    is_loaded(index.start)?;
    let eh_frame_hdr = copy(index);
    if *eh_frame_hdr.get(1)? != RELATIVE {
        return None;
    }
    let offset = i32::from_le_bytes(eh_frame_hdr.get(AT..AT + 4)?.try_into().ok()?);
    let start = (index.start + AT).wrapping_add_signed(offset as isize);
    // The end of the table is unknown. The memory after it is never looked up.
    let frames = start..is_loaded(start)?.end;
    let from_base = |range: &Range<usize>| {
        let relative = |address: usize| address.wrapping_sub(base) as u64;
        relative(range.start)..relative(range.end)
    };
    Some(ExplicitModuleSectionInfo {
        eh_frame_hdr_svma: Some(from_base(index)),
        eh_frame_hdr: Some(eh_frame_hdr),
        eh_frame_svma: Some(from_base(&frames)),
        eh_frame: Some(copy(&frames)),
        ..Default::default()
    })
}
