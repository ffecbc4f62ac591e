//! Keeps panics out of the JVM.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body`; a panic yields `fallback` and is noted in the trace.
pub(crate) fn guarded<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => value,
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("of unknown cause");
            if let Some(agent) = crate::agent::get() {
                agent.trace.note("panic", text);
            }
            fallback
        }
    }
}
