//! Whether the user wants us to stop: signals, which a process has only once.
//!
//! Whoever waits for JVMs asks now and then, ends them and keeps what was seen. A second signal ends us at once; JVMs end
//! with us in any case (`lifeline`).

use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

static RECEIVED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// From now on, INT, TERM and HUP are noted instead of ending us.
pub fn listen_for_signals() -> io::Result<()> {
    let received = RECEIVED.get_or_init(Arc::default);
    let is_second = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the first signal arms the end, the second one ends.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&is_second))?;
        signal_hook::flag::register(signal, Arc::clone(&is_second))?;
        signal_hook::flag::register_usize(signal, Arc::clone(received), signal as usize)?;
    }
    Ok(())
}

/// The signal that asked us to stop.
pub fn stop_signal() -> Option<u8> {
    let received = RECEIVED.get()?.load(Ordering::Relaxed);
    u8::try_from(received).ok().filter(|signal| *signal > 0)
}
