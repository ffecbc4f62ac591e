//! Addresses that sockets are bound to or reach.

use std::ffi::{c_int, c_void};
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::external::paths;

/// An address as a resource is named, and whether its port is for the system to choose.
pub(super) struct Address {
    pub(super) name: String,
    pub(super) is_open: bool,
}

/// The address, for the kind of that socket.
///
/// # Safety
/// `address` has `length` readable bytes, or is null.
pub(super) unsafe fn address(
    socket: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> Option<Address> {
    if address.is_null() || (length as usize) < size_of::<libc::sa_family_t>() {
        return None;
    }
    let length = length as usize;
    // SAFETY: the family is in the first bytes.
    match c_int::from(unsafe { (*address).sa_family }) {
        libc::AF_INET if length >= size_of::<libc::sockaddr_in>() => {
            // SAFETY: it is long enough for an address of this family; it need not be aligned.
            let found: libc::sockaddr_in = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            let host = IpAddr::V4(Ipv4Addr::from(u32::from_be(found.sin_addr.s_addr)));
            Some(internet(socket, host, u16::from_be(found.sin_port)))
        }
        libc::AF_INET6 if length >= size_of::<libc::sockaddr_in6>() => {
            // SAFETY: as above.
            let found: libc::sockaddr_in6 = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            let host = Ipv6Addr::from(found.sin6_addr.s6_addr);
            let host = host.to_ipv4_mapped().map_or(IpAddr::V6(host), IpAddr::V4);
            Some(internet(socket, host, u16::from_be(found.sin6_port)))
        }
        libc::AF_UNIX => {
            let start = mem::offset_of!(libc::sockaddr_un, sun_path);
            // SAFETY: the address is that long.
            let bytes =
                unsafe { std::slice::from_raw_parts(address.cast::<u8>().add(start), length.saturating_sub(start)) };
            let path = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
            // Without a name, or with one that is no file's.
            if path.is_empty() {
                return None;
            }
            let path = std::path::absolute(Path::new(std::ffi::OsStr::from_bytes(path))).ok()?;
            Some(Address { name: format!("unix:{}", paths::text(&paths::canonical(&path, true))), is_open: false })
        }
        _ => None,
    }
}

/// All names of this machine are one.
fn internet(socket: c_int, host: IpAddr, port: u16) -> Address {
    let is_local = host.is_loopback() || host.is_unspecified();
    let host = if is_local { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { host };
    let protocol = if option(socket, libc::SO_TYPE) == Some(libc::SOCK_DGRAM) { "udp" } else { "tcp" };
    let name = match host {
        IpAddr::V4(host) => format!("{protocol}:{host}:{port}"),
        IpAddr::V6(host) => format!("{protocol}:[{host}]:{port}"),
    };
    Address { name, is_open: port == 0 }
}

fn option(socket: c_int, name: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the value has the length that is passed.
    let status =
        unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, name, (&raw mut value).cast::<c_void>(), &mut length) };
    (status == 0).then_some(value)
}

/// What the system gave the socket.
pub(super) fn own_address(socket: c_int) -> Option<Address> {
    // SAFETY: an all-zero address is a valid value.
    let mut found: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: the storage has the length that is passed; what was filled in is read.
    unsafe {
        let pointer = (&raw mut found).cast::<libc::sockaddr>();
        if libc::getsockname(socket, pointer, &mut length) != 0 {
            return None;
        }
        address(socket, pointer, length)
    }
}
