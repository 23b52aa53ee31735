//! Today's CTA dispatcher, for policies without hardware of ours: one kernel at a time, head of line, round robin over SMs, one CTA per
//! cycle.
//!
//! It knows kernels, how many of their CTAs are left, and which SMs fit one; what an SM has is somebody else's business. The hardware
//! `cta_arbiter_single` does the same with SMs that go round.

use std::collections::VecDeque;

/// Kernels that the dispatcher holds: the one it places and one behind it, so that no cycle is lost between them.
pub const DEPTH: usize = 2;

/// A CTA that the dispatcher placed: of which kernel, on which SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The kernel.
    pub kernel: usize,
    /// Where its CTA went.
    pub sm: usize,
    /// It was the kernel's last CTA.
    pub last: bool,
}

/// The dispatcher's state between two cycles.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    sms: usize,
    /// Kernels with the CTAs they have left, in dispatch order.
    queue: VecDeque<(usize, u64)>,
    /// Where the round robin goes on.
    pointer: usize,
}

impl Dispatcher {
    /// An empty dispatcher for `sms` SMs.
    pub fn new(sms: usize) -> Self {
        Self { sms, queue: VecDeque::with_capacity(DEPTH), pointer: 0 }
    }

    /// True where it takes a kernel in this cycle.
    pub fn ready(&self) -> bool {
        self.queue.len() < DEPTH
    }

    /// Takes a kernel of `ctas` CTAs at the end of a cycle in which [`Self::ready`] held.
    pub fn take(&mut self, kernel: usize, ctas: u64) {
        debug_assert!(self.ready() && ctas > 0);
        self.queue.push_back((kernel, ctas));
    }

    /// The kernel whose CTAs are placed now.
    pub fn head(&self) -> Option<usize> {
        self.queue.front().map(|(kernel, _)| *kernel)
    }

    /// One cycle: places a CTA of the head on the first SM, from the round robin pointer on, for which `fits` holds.
    pub fn place(&mut self, fits: impl Fn(usize) -> bool) -> Option<Placement> {
        let (kernel, left) = self.queue.front_mut()?;
        let sm = (self.pointer..self.sms).chain(0..self.pointer).find(|&sm| fits(sm))?;
        let kernel = *kernel;
        *left -= 1;
        let last = *left == 0;
        if last {
            self.queue.pop_front();
        }
        self.pointer = (sm + 1) % self.sms;
        Some(Placement { kernel, sm, last })
    }
}
