//! The behavioural CTA dispatchers, for policies without hardware of ours. They know kernels, how many of their CTAs are left, and which
//! SMs fit one; what an SM has is somebody else's business.

use super::array::SmArray;
use std::collections::VecDeque;
use windlass_rtl::front_end::CtaType;

/// Kernels that the dispatcher holds: the one it places and one behind it, so that no cycle is lost between them.
pub const DEPTH: usize = 2;

/// One CTA placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The kernel.
    pub kernel: usize,
    /// Where its CTA went.
    pub sm: usize,
    /// It was the kernel's last CTA.
    pub last: bool,
}

/// Today's: one kernel at a time, head of line, round robin over SMs, one CTA per cycle.
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

/// An ideal one: it takes any number of kernels, none waits for another that fits nowhere, and each cycle places a CTA of each type, of
/// the first kernel that has one which fits somewhere.
#[derive(Clone, Debug, Default)]
pub struct IdealDispatcher {
    /// Kernels with the CTAs they have left, in dispatch order.
    kernels: Vec<(usize, u64)>,
    /// Where the round robin goes on.
    pointer: usize,
}

impl IdealDispatcher {
    /// Takes a kernel of `ctas` CTAs at the end of a cycle.
    pub fn take(&mut self, kernel: usize, ctas: u64) {
        debug_assert!(ctas > 0);
        self.kernels.push((kernel, ctas));
    }

    /// True where it has nothing to place.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// One cycle; true where it placed something.
    pub fn place(&mut self, array: &mut SmArray) -> bool {
        let mut placed = false;
        for kind in [CtaType::Simt, CtaType::Tensor] {
            // Kernels with the same needs have the same luck.
            let mut fit_nowhere = Vec::new();
            let found = self.kernels.iter().enumerate().find_map(|(i, (kernel, _))| {
                let work = array.work(*kernel);
                let wants = (work.needs, work.partition);
                if work.cta_type() != kind || fit_nowhere.contains(&wants) {
                    return None;
                }
                let sm =
                    (self.pointer..array.sms()).chain(0..self.pointer).find(|sm| array.fits(*kernel, *sm));
                if sm.is_none() {
                    fit_nowhere.push(wants);
                }
                Some((i, *kernel, sm?))
            });
            if let Some((i, kernel, sm)) = found {
                let result = array.place(kernel, sm);
                debug_assert_eq!(result, Ok(()), "it asked first");
                self.pointer = (sm + 1) % array.sms();
                self.kernels[i].1 -= 1;
                if self.kernels[i].1 == 0 {
                    self.kernels.remove(i);
                }
                placed = true;
            }
        }
        placed
    }
}
