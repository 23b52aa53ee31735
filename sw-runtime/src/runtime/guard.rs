//! Calls what others wrote: bodies, callbacks, executors, memory. Their panics are theirs, and end no thread of the runtime.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a call gives, or what its panic said. What it leaves half done is its author's.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        let text = message(panic.as_ref());
        discard(panic);
        text
    })
}

/// Drops what others wrote: an error, a panic's payload, memory.
pub(crate) fn discard<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // Its drop may panic as well, and so on.
        std::mem::forget(panic);
    }
}

/// What a panic said.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without a message").to_string()
}
