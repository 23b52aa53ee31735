//! Inserting and retiring allocate nothing.

mod common;

use common::{Kernel, Layout, Mix, Rng, amount};
use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use windlass_hazards::{Config, Engine, Error};

struct Counting;

// Of this thread alone: the test harness allocates on its own thread, whenever it gets to it.
thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all calls go to the system's allocator as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Memory) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Memory) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn nothing_is_allocated() {
    for window in [4, 32, 64, 128, 256, 512, 600, 4096] {
        let mut rng = Rng(window as u64);
        let mut engine = Engine::with_config(&Config::new(window)).unwrap();
        let layout = Layout::random(&mut rng, &mut engine, 24, true, 1);
        let kernels: Vec<_> =
            (0..amount(2000, 2000)).map(|_| Kernel::random(&mut rng, &layout, Mix::All)).collect();
        let mut ready = Vec::with_capacity(window);
        let before = ALLOCATIONS.get();
        for kernel in &kernels {
            loop {
                match engine.insert(&kernel.reads, &kernel.writes) {
                    Ok(inserted) => {
                        if inserted.upstream.is_empty() {
                            ready.push(inserted.slot);
                        }
                        break;
                    }
                    Err(Error::Full { .. } | Error::SpillFull { .. } | Error::EdgesFull { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                let slot = ready.swap_remove(rng.below(ready.len()));
                ready.extend(engine.retire(slot).unwrap().iter());
            }
        }
        let allocations = ALLOCATIONS.get() - before;
        assert_eq!(allocations, 0, "window {window}");
    }
}
