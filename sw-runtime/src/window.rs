//! A scheduling window in plain software: kernels that wait, the oldest ready one first.

use crate::words::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use thiserror::Error;

/// What a window refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WindowError {
    /// All slots hold unfinished kernels.
    #[error("kernel {kernel}: all {slots} slots are in use; retire a kernel first")]
    Full {
        /// The kernel to insert.
        kernel: u32,
        /// Slots of the window.
        slots: usize,
    },
    /// Kernels go in by ascending index.
    #[error("kernel {kernel} comes after kernel {last}; insert kernels in program order")]
    NotInOrder {
        /// The kernel to insert.
        kernel: u32,
        /// The kernel inserted last.
        last: u32,
    },
    /// A kernel waits for earlier ones only.
    #[error("kernel {kernel} waits for kernel {upstream}; upstream kernels must come before it")]
    UpstreamNotEarlier {
        /// The kernel to insert.
        kernel: u32,
        /// What it is said to wait for.
        upstream: u32,
    },
    /// A kernel that is not in the window.
    #[error("kernel {kernel} is not in the window; it was never inserted, or has retired")]
    Absent {
        /// The kernel.
        kernel: u32,
    },
    /// It waits, or it was dispatched before.
    #[error(
        "kernel {kernel} is not ready: it waits for {}; dispatch what `next_ready` offers",
        counted(*waits_for, "kernel")
    )]
    NotReady {
        /// The kernel.
        kernel: u32,
        /// Unfinished kernels it waits for; 0 where it was dispatched before.
        waits_for: usize,
    },
    /// A kernel that has not run cannot have finished.
    #[error("kernel {kernel} was not dispatched; only a dispatched kernel retires")]
    NotDispatched {
        /// The kernel.
        kernel: u32,
    },
}

#[derive(Clone, Debug)]
struct Slot {
    /// Unfinished kernels it waits for.
    waits_for: usize,
    /// Kernels that wait for it.
    downstream: Vec<u32>,
    dispatched: bool,
}

/// W slots, or as many as there are kernels. Kernels go in by ascending index, and leave in any order.
#[derive(Clone, Debug)]
pub struct SoftwareWindow {
    slots: Option<NonZeroUsize>,
    kernels: BTreeMap<u32, Slot>,
    ready: BTreeSet<u32>,
    last: Option<u32>,
}

impl SoftwareWindow {
    /// An empty window with this many slots; without limit for `None`.
    pub fn new(slots: Option<NonZeroUsize>) -> Self {
        Self { slots, kernels: BTreeMap::new(), ready: BTreeSet::new(), last: None }
    }

    /// Inserts a kernel. Of `upstream`, kernels that are no longer in the window have retired and do not count.
    ///
    /// # Errors
    /// `Full`, `NotInOrder`, `UpstreamNotEarlier`; the window is then as it was.
    pub fn insert(&mut self, kernel: u32, upstream: &[u32]) -> Result<(), WindowError> {
        if let Some(last) = self.last.filter(|last| kernel <= *last) {
            return Err(WindowError::NotInOrder { kernel, last });
        }
        if let Some(&upstream) = upstream.iter().find(|u| **u >= kernel) {
            return Err(WindowError::UpstreamNotEarlier { kernel, upstream });
        }
        if let Some(slots) = self.slots.filter(|_| self.is_full()) {
            return Err(WindowError::Full { kernel, slots: slots.get() });
        }
        let mut waits_for = 0;
        for u in upstream {
            // The same upstream kernel twice is one reason to wait: its list ends in us already.
            if let Some(slot) = self.kernels.get_mut(u)
                && slot.downstream.last() != Some(&kernel)
            {
                slot.downstream.push(kernel);
                waits_for += 1;
            }
        }
        if waits_for == 0 {
            self.ready.insert(kernel);
        }
        self.kernels.insert(kernel, Slot { waits_for, downstream: Vec::new(), dispatched: false });
        self.last = Some(kernel);
        Ok(())
    }

    /// The oldest kernel that is ready and not dispatched.
    pub fn next_ready(&self) -> Option<u32> {
        self.ready.first().copied()
    }

    /// All that are ready and not dispatched, oldest first.
    pub fn ready(&self) -> impl Iterator<Item = u32> {
        self.ready.iter().copied()
    }

    /// Marks a ready kernel as dispatched; it need not be the oldest.
    ///
    /// # Errors
    /// `Absent`, `NotReady`.
    pub fn dispatch(&mut self, kernel: u32) -> Result<(), WindowError> {
        let slot = self.kernels.get_mut(&kernel).ok_or(WindowError::Absent { kernel })?;
        if !self.ready.remove(&kernel) {
            return Err(WindowError::NotReady { kernel, waits_for: slot.waits_for });
        }
        slot.dispatched = true;
        Ok(())
    }

    /// Takes a dispatched kernel out, and returns those that became ready by it, oldest first.
    ///
    /// # Errors
    /// `Absent`, `NotDispatched`.
    pub fn retire(&mut self, kernel: u32) -> Result<Vec<u32>, WindowError> {
        match self.kernels.get(&kernel) {
            None => return Err(WindowError::Absent { kernel }),
            Some(slot) if !slot.dispatched => return Err(WindowError::NotDispatched { kernel }),
            Some(_) => {}
        }
        let downstream = self.kernels.remove(&kernel).map(|slot| slot.downstream).unwrap_or_default();
        let mut freed = Vec::new();
        for k in downstream {
            // Downstream kernels are younger, and cannot retire before this one: they are all here.
            if let Some(slot) = self.kernels.get_mut(&k) {
                slot.waits_for -= 1;
                if slot.waits_for == 0 {
                    self.ready.insert(k);
                    freed.push(k);
                }
            }
        }
        Ok(freed)
    }

    /// Unfinished kernels.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// True where no kernel is unfinished.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// True where nothing more goes in; never so without a limit.
    pub fn is_full(&self) -> bool {
        self.slots.is_some_and(|slots| self.kernels.len() >= slots.get())
    }

    /// The oldest unfinished kernel.
    pub fn oldest(&self) -> Option<u32> {
        self.kernels.first_key_value().map(|(k, _)| *k)
    }
}
