//! The SMs: they take the CTAs that they are given, and say which have ended. Who gives, and why, is somebody else's business.

use super::sm::{Running, Sm};
use super::work::{self, CtaWork, RESOURCES, UNITS_PER_CYCLE};
use crate::partition::Partitions;
use crate::profile::Profile;
use serde::Serialize;

/// A kernel whose last CTA has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Position in the stream.
    pub kernel: usize,
    /// The first cycle in which it does not run any more.
    pub cycle: u64,
}

/// A CTA that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtaEnd {
    /// Its kernel's position in the stream.
    pub kernel: usize,
    /// Where it ran.
    pub sm: usize,
}

/// Where a CTA was and when: one CTA's life, for timelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CtaSpan {
    /// Where it ran.
    pub sm: u32,
    /// Its kernel's position in the stream.
    pub kernel: u32,
    /// First cycle.
    pub start: u64,
    /// One past the last cycle.
    pub end: u64,
}

/// What an SM had too little of for a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// Name of the resource.
    pub resource: &'static str,
    /// What the CTA needs.
    pub needed: u32,
    /// What the SM had left.
    pub free: u32,
}

/// How full the device was over a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Occupancy {
    /// Mean share of SMs with at least one CTA, 0 to 1.
    pub sms: f64,
    /// Mean share of CTA slots in use, 0 to 1.
    pub cta_slots: f64,
    /// Mean share of warps in use, 0 to 1.
    pub warps: f64,
    /// Mean share of SMs with CTAs of both types, TENSOR and SIMT (which COPY counts as), 0 to 1.
    pub both_types: f64,
    /// The same, of the time in which an SM has a CTA at all.
    pub both_types_of_busy: f64,
    /// Share of the memory bandwidth that was used, 0 to 1; of a kernel with a measured duration no more than fits into that.
    pub memory: f64,
}

/// Sums over cycles, for [`Occupancy`].
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    sms: u64,
    ctas: u64,
    warps: u64,
    both: u64,
    sm_cycles: u128,
    cta_cycles: u128,
    warp_cycles: u128,
    both_cycles: u128,
    memory_units: u128,
}

/// All SMs of a GPU, for the kernels of one stream.
#[derive(Clone, Debug)]
pub struct SmArray {
    now: u64,
    limits: work::Resources,
    sms: Vec<Sm>,
    partitions: Partitions,
    kernels: Vec<CtaWork>,
    /// CTAs of each kernel that have not ended.
    left: Vec<u64>,
    /// Cycle of the next end of a CTA, or of its work.
    next: u64,
    placed: u64,
    ends: Vec<CtaEnd>,
    completions: Vec<Completion>,
    usage: Usage,
    spans: Option<Vec<CtaSpan>>,
    ended: Vec<Running>,
}

impl SmArray {
    /// The SMs of a profile, empty, in cycle 0.
    pub fn new(profile: &Profile, partitions: Partitions, kernels: Vec<CtaWork>) -> Self {
        let limits = work::limits(profile);
        Self {
            now: 0,
            limits,
            sms: vec![Sm::new(limits); profile.sms as usize],
            partitions,
            left: kernels.iter().map(|k| k.ctas).collect(),
            kernels,
            next: u64::MAX,
            placed: 0,
            ends: Vec::new(),
            completions: Vec::new(),
            usage: Usage::default(),
            spans: None,
            ended: Vec::new(),
        }
    }

    /// Keeps the life of every CTA, for timelines and tests.
    pub fn record(&mut self) {
        self.spans.get_or_insert_default();
    }

    /// The lives of the CTAs that have ended, in order of their ends; empty without [`Self::record`].
    pub fn spans(&self) -> &[CtaSpan] {
        self.spans.as_deref().unwrap_or_default()
    }

    /// The present cycle.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// How many SMs there are.
    pub fn sms(&self) -> usize {
        self.sms.len()
    }

    /// What each CTA of a kernel needs and does.
    pub fn work(&self, kernel: usize) -> &CtaWork {
        &self.kernels[kernel]
    }

    /// How many kernels there are.
    pub fn kernels(&self) -> usize {
        self.kernels.len()
    }

    /// CTAs placed so far.
    pub fn placed(&self) -> u64 {
        self.placed
    }

    /// CTAs on each SM.
    pub fn resident(&self) -> Vec<u32> {
        self.sms.iter().map(Sm::ctas).collect()
    }

    /// True where the kernel's partition has the SM.
    pub fn allows(&self, kernel: usize, sm: usize) -> bool {
        self.partitions.allows(self.kernels[kernel].partition, sm)
    }

    /// True where a CTA of the kernel can be placed on the SM: it is in the kernel's partition and has room.
    pub fn fits(&self, kernel: usize, sm: usize) -> bool {
        self.sms[sm].fits(&self.kernels[kernel].needs) && self.allows(kernel, sm)
    }

    /// Starts a CTA of the kernel on the SM in this cycle.
    ///
    /// # Errors
    /// What the SM has too little of; nothing is placed then. Partitions are not looked at.
    pub fn place(&mut self, kernel: usize, sm: usize) -> Result<(), NoRoom> {
        let (work, sm) = (&self.kernels[kernel], &mut self.sms[sm]);
        let lacking = sm.free.iter().zip(work.needs).position(|(free, need)| *free < need);
        if let Some(r) = lacking {
            return Err(NoRoom { resource: RESOURCES[r], needed: work.needs[r], free: sm.free[r] });
        }
        let cta = Running {
            number: self.placed,
            kernel,
            start: self.now,
            not_before: self.now.saturating_add(work.floor),
        };
        self.usage.sms += u64::from(sm.ctas() == 0);
        self.usage.both -= u64::from(sm.both_types());
        sm.place(work, cta);
        self.usage.both += u64::from(sm.both_types());
        self.usage.ctas += 1;
        self.usage.warps += u64::from(work.needs[1]);
        self.usage.memory_units += u128::from(work.memory);
        self.next = self.next.min(sm.next());
        self.placed += 1;
        Ok(())
    }

    /// The CTAs that ended since the last call, in order of their ends.
    pub fn take_ends(&mut self) -> Vec<CtaEnd> {
        std::mem::take(&mut self.ends)
    }

    /// The kernels that completed since the last call, in order of completion.
    pub fn take_completions(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.completions)
    }

    /// The next cycle in which an SM's state changes by itself; `None` where all are empty.
    pub fn next_event(&self) -> Option<u64> {
        (self.next != u64::MAX).then_some(self.next)
    }

    /// Time goes on to `to`, not beyond the next event; what ends in `to` ends. True where a CTA did.
    pub fn go_to(&mut self, to: u64) -> bool {
        let cycles = u128::from(to - self.now);
        self.usage.sm_cycles += cycles * u128::from(self.usage.sms);
        self.usage.cta_cycles += cycles * u128::from(self.usage.ctas);
        self.usage.warp_cycles += cycles * u128::from(self.usage.warps);
        self.usage.both_cycles += cycles * u128::from(self.usage.both);
        self.now = to;
        if self.next > to {
            return false;
        }
        let before = self.ends.len();
        for (index, sm) in self.sms.iter_mut().enumerate() {
            if sm.next() > to {
                continue;
            }
            sm.end(to, &mut self.ended);
            for cta in self.ended.drain(..) {
                let work = &self.kernels[cta.kernel];
                self.usage.both -= u64::from(sm.both_types());
                sm.release(work);
                self.usage.both += u64::from(sm.both_types());
                self.usage.ctas -= 1;
                self.usage.warps -= u64::from(work.needs[1]);
                self.usage.sms -= u64::from(sm.ctas() == 0);
                self.ends.push(CtaEnd { kernel: cta.kernel, sm: index });
                self.left[cta.kernel] -= 1;
                if self.left[cta.kernel] == 0 {
                    self.completions.push(Completion { kernel: cta.kernel, cycle: to });
                }
                if let Some(spans) = &mut self.spans {
                    let (sm, kernel) = (index as u32, cta.kernel as u32);
                    spans.push(CtaSpan { sm, kernel, start: cta.start, end: to });
                }
            }
        }
        self.next = self.sms.iter().map(Sm::next).min().unwrap_or(u64::MAX);
        self.ends.len() != before
    }

    /// How full the SMs were in the first `cycles` cycles.
    pub fn occupancy(&self, cycles: u64) -> Occupancy {
        let sms = self.sms.len() as f64 * cycles.max(1) as f64;
        let usage = &self.usage;
        Occupancy {
            sms: usage.sm_cycles as f64 / sms,
            cta_slots: usage.cta_cycles as f64 / (sms * f64::from(self.limits[0])),
            warps: usage.warp_cycles as f64 / (sms * f64::from(self.limits[1])),
            both_types: usage.both_cycles as f64 / sms,
            both_types_of_busy: usage.both_cycles as f64 / usage.sm_cycles.max(1) as f64,
            memory: usage.memory_units as f64 / (sms * UNITS_PER_CYCLE as f64),
        }
    }
}
