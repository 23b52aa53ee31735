//! What long work is at, on a terminal; elsewhere, nothing.

use std::io::IsTerminal;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Says it.
pub fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        eprintln!("{text}");
    }
}

/// The same, once the command has taken some seconds; they count from the first call.
pub fn slow_progress(text: &str) {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    if BEGAN.elapsed() > Duration::from_secs(3) {
        progress(text);
    }
}
