//! What `signal` is built of; its loom test brings loom's own.

pub(super) use std::sync::atomic::{AtomicBool, Ordering, fence};
pub(super) use std::sync::{Condvar, Mutex};
