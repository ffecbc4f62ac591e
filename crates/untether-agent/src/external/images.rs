//! Where in memory libraries lie, to tell whose call it is.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;

/// The path of this library, as the loader knows it.
pub(super) fn own_path() -> Vec<u8> {
    // SAFETY: the structure is filled in by the call, where it succeeds; its name lives as long as the library.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(look as *const c_void, &mut found) == 0 || found.dli_fname.is_null() {
            return Vec::new();
        }
        CStr::from_ptr(found.dli_fname).to_bytes().to_vec()
    }
}

/// Libraries whose calls are the JVM's own doing: its class path, its images, its counters.
const OF_JVM: &[&str] = &["/libjvm.so", "/libjimage.so", "/libjli.so", "/libzip.so", "/libinstrument.so"];

#[derive(Debug, Default)]
pub(super) struct Images {
    own: Range<usize>,
    of_jvm: Vec<Range<usize>>,
}

impl Images {
    /// Those that are loaded by now.
    pub(super) fn loaded() -> Self {
        let mut images = Images::default();
        // SAFETY: the callback gets the pointer that is passed here, while it is valid.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut images).cast()) };
        images
    }

    pub(super) fn is_left_out(&self, address: usize) -> bool {
        self.own.contains(&address) || self.of_jvm.iter().any(|image| image.contains(&address))
    }
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, images: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid entry, and our own pointer.
    let (info, images) = unsafe { (&*info, &mut *images.cast::<Images>()) };
    // SAFETY: the entry has so many headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let ends = loaded.map(|header| {
        let start = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        start..start.wrapping_add(header.p_memsz as usize)
    });
    let Some(range) = ends.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end)) else { return 0 };
    let own = look as *const () as usize;
    // SAFETY: the name is null or a NUL-terminated string.
    let name = if info.dlpi_name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.dlpi_name) } };
    if range.contains(&own) {
        images.own = range;
    } else if OF_JVM.iter().any(|end| name.to_bytes().ends_with(end.as_bytes())) {
        images.of_jvm.push(range);
    }
    0
}
