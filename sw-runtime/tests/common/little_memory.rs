//! Tests of what is said where memory runs out.

use std::time::Duration;

/// Runs an ignored test of this program in a process of its own, with so many KiB of addresses and threads with stacks of so many bytes.
pub fn with_little_memory(kib: u64, stack: usize, test: &str) {
    let limited = format!("ulimit -v {kib}; exec \"$0\" --exact {test} --ignored");
    let this = std::env::current_exe().unwrap_or_else(|e| panic!("{e}"));
    let mut child = std::process::Command::new("sh")
        .args(["-c", &limited])
        .arg(this)
        .env("RUST_MIN_STACK", stack.to_string())
        // Else every thread sets addresses aside.
        .env("MALLOC_ARENA_MAX", "1")
        .spawn()
        .unwrap_or_else(|e| panic!("{e}"));
    for _ in 0..600 {
        if let Some(status) = child.try_wait().unwrap_or_else(|e| panic!("{e}")) {
            assert!(status.success(), "{status}");
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let _ = child.kill();
    panic!("it waits for ever");
}
