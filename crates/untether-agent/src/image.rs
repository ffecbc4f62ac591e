//! Reads classes out of the JDK's own image, through the library that the JVM uses for it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

type Open = unsafe extern "C" fn(*const c_char, *mut c_int) -> *mut c_void;
type PackageToModule = unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_char;
type FindResource = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, *const c_char, *mut i64) -> i64;
type GetResource = unsafe extern "C" fn(*mut c_void, i64, *mut c_char, i64) -> i64;

/// An open `lib/modules`.
pub(crate) struct Image {
    handle: *mut c_void,
    package_to_module: PackageToModule,
    find: FindResource,
    get: GetResource,
}

// SAFETY: the image is read-only once open, and libjimage is called by the JVM from many threads.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

impl Image {
    pub(crate) fn open(java_home: &str) -> Option<Self> {
        let library = CString::new(format!("{java_home}/lib/libjimage.so")).ok()?;
        let modules = CString::new(format!("{java_home}/lib/modules")).ok()?;
        // SAFETY: the strings are NUL-terminated; the symbols have had these signatures since JDK 9
        // (jimage.hpp), and a missing one yields `None`.
        unsafe {
            let library = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY);
            if library.is_null() {
                return None;
            }
            let symbol = |name: &CStr| {
                let address = libc::dlsym(library, name.as_ptr());
                (!address.is_null()).then_some(address)
            };
            let open: Open = std::mem::transmute(symbol(c"JIMAGE_Open")?);
            let package_to_module: PackageToModule = std::mem::transmute(symbol(c"JIMAGE_PackageToModule")?);
            let find: FindResource = std::mem::transmute(symbol(c"JIMAGE_FindResource")?);
            let get: GetResource = std::mem::transmute(symbol(c"JIMAGE_GetResource")?);
            let mut error = 0;
            let handle = open(modules.as_ptr(), &mut error);
            (!handle.is_null()).then_some(Image { handle, package_to_module, find, get })
        }
    }

    /// The bytes of a class given by its internal name.
    pub(crate) fn class(&self, name: &[u8]) -> Option<Vec<u8>> {
        let package_end = name.iter().rposition(|&b| b == b'/')?;
        let package = CString::new(&name[..package_end]).ok()?;
        let mut resource = name.to_vec();
        resource.extend_from_slice(b".class");
        let resource = CString::new(resource).ok()?;
        // SAFETY: the handle is open for the life of the process; buffers have the size that is passed.
        unsafe {
            let module = (self.package_to_module)(self.handle, package.as_ptr());
            if module.is_null() {
                return None;
            }
            let mut size = 0i64;
            let location = (self.find)(self.handle, module, c"9.0".as_ptr(), resource.as_ptr(), &mut size);
            if location == 0 || size <= 0 {
                return None;
            }
            let mut bytes = vec![0u8; usize::try_from(size).ok()?];
            (self.get)(self.handle, location, bytes.as_mut_ptr().cast(), size);
            Some(bytes)
        }
    }
}
