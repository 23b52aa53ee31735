//! One SM: what is free on it, and the CTAs that run on it.

use super::work::{CtaWork, Resources, UNITS_PER_CYCLE};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use windlass_runtime::ktrace::KernelType;

/// Place of the memory pipe among the pipes.
const MEMORY: usize = 2;

/// A CTA that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Running {
    /// Counts CTAs of the device: makes the order of simultaneous ends that of their starts.
    pub number: u64,
    pub kernel: usize,
    pub start: u64,
    /// Cycle before which it does not end.
    pub not_before: u64,
}

/// A pipe shared by the CTAs that use it: in each cycle each of the k CTAs on it progresses by the integer part of
/// [`UNITS_PER_CYCLE`] / k.
///
/// All progress alike, so one number, what a CTA would have done that has been here from the beginning, stands for all.
#[derive(Clone, Debug, Default)]
struct Pipe {
    at: u64,
    progress: u128,
    /// CTAs by the progress at which their work is done.
    sharers: BinaryHeap<Reverse<(u128, Running)>>,
}

impl Pipe {
    fn rate(&self) -> u64 {
        UNITS_PER_CYCLE / (self.sharers.len() as u64).max(1)
    }

    /// Time goes on to `to`; at most to the next end.
    fn advance(&mut self, to: u64) {
        if self.sharers.is_empty() {
            self.progress = 0;
        } else {
            self.progress += u128::from(self.rate()) * u128::from(to - self.at);
        }
        self.at = to;
    }

    /// Cycle of the next end of work.
    fn next(&self) -> u64 {
        self.sharers.peek().map_or(u64::MAX, |Reverse((done, _))| {
            let left = done.saturating_sub(self.progress) as u64;
            self.at.saturating_add(left.div_ceil(self.rate()))
        })
    }

    fn pop_done(&mut self) -> Option<Running> {
        let Reverse((done, _)) = self.sharers.peek()?;
        if *done > self.progress {
            return None;
        }
        self.sharers.pop().map(|Reverse((_, cta))| cta)
    }
}

/// One SM.
#[derive(Clone, Debug)]
pub(super) struct Sm {
    pub free: Resources,
    /// CTAs on it: SIMT and COPY, TENSOR.
    by_type: [u32; 2],
    /// SIMT's, TENSOR's, and that to memory, which CTAs of all types use.
    pipes: [Pipe; 3],
    /// Numbers of the CTAs that have work left on two pipes.
    on_two: BTreeSet<u64>,
    /// CTAs whose work is done, but not their floor.
    waiting: BinaryHeap<Reverse<(u64, Running)>>,
    next: u64,
}

impl Sm {
    pub fn new(limits: Resources) -> Self {
        Self {
            free: limits,
            by_type: [0; 2],
            pipes: Default::default(),
            on_two: BTreeSet::new(),
            waiting: BinaryHeap::new(),
            next: u64::MAX,
        }
    }

    pub fn fits(&self, needs: &Resources) -> bool {
        self.free.iter().zip(needs).all(|(free, need)| free >= need)
    }

    /// CTAs on it.
    pub fn ctas(&self) -> u32 {
        self.by_type.iter().sum()
    }

    /// True where it has CTAs of both types.
    pub fn both_types(&self) -> bool {
        self.by_type.iter().all(|ctas| *ctas > 0)
    }

    /// Cycle in which this SM's state changes by itself.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// A CTA that fits starts in cycle `cta.start`.
    pub fn place(&mut self, work: &CtaWork, cta: Running) {
        for (free, need) in self.free.iter_mut().zip(work.needs) {
            *free -= need;
        }
        self.by_type[work.cta_type() as usize] += 1;
        let compute = match work.kind {
            KernelType::Simt => (0, work.compute),
            KernelType::Tensor => (1, work.compute),
            KernelType::Copy => (0, 0),
        };
        let mut used = 0;
        for (pipe, units) in [compute, (MEMORY, work.memory)] {
            let pipe = &mut self.pipes[pipe];
            pipe.advance(cta.start);
            if units > 0 {
                pipe.sharers.push(Reverse((pipe.progress + u128::from(units), cta)));
                used += 1;
            }
        }
        match used {
            0 => self.waiting.push(Reverse((cta.not_before, cta))),
            1 => {}
            _ => drop(self.on_two.insert(cta.number)),
        }
        self.find_next();
    }

    /// Moves the CTAs that end in cycle `now`, which is not after [`Self::next`], to `ended`.
    pub fn end(&mut self, now: u64, ended: &mut Vec<Running>) {
        for pipe in &mut self.pipes {
            pipe.advance(now);
            while let Some(cta) = pipe.pop_done() {
                if self.on_two.remove(&cta.number) {
                    continue;
                }
                if cta.not_before <= now {
                    ended.push(cta);
                } else {
                    self.waiting.push(Reverse((cta.not_before, cta)));
                }
            }
        }
        while let Some(Reverse((cycle, cta))) = self.waiting.peek().copied() {
            if cycle > now {
                break;
            }
            self.waiting.pop();
            ended.push(cta);
        }
        self.find_next();
    }

    /// Gives back what a CTA had.
    pub fn release(&mut self, work: &CtaWork) {
        for (free, need) in self.free.iter_mut().zip(work.needs) {
            *free += need;
        }
        self.by_type[work.cta_type() as usize] -= 1;
    }

    fn find_next(&mut self) {
        let floor = self.waiting.peek().map_or(u64::MAX, |Reverse((cycle, _))| *cycle);
        self.next = self.pipes.iter().map(Pipe::next).fold(floor, u64::min);
    }
}
