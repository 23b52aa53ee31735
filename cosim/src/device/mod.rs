//! The device model: SMs that run CTAs, cycle exact in SM clock cycles, without data.
//!
//! A cycle: CTAs end, kernels complete; the outside may offer one kernel; the dispatcher places one CTA of a kernel that it
//! took in an earlier cycle. Where nothing can happen, [`Device::advance`] jumps, and every number is as if it had not.

pub mod dispatcher;
mod sm;
pub mod work;

use crate::profile::Profile;
use dispatcher::Dispatcher;
use serde::Serialize;
use sm::{Running, Sm};
pub use work::{CtaWork, DeviceError};

/// A kernel whose last CTA has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Position in the stream.
    pub kernel: usize,
    /// The first cycle in which it does not run any more.
    pub cycle: u64,
}

/// One CTA's life.
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

/// How full the device was over a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Occupancy {
    /// Mean share of SMs with at least one CTA, 0 to 1.
    pub sms: f64,
    /// Mean share of CTA slots in use, 0 to 1.
    pub cta_slots: f64,
    /// Mean share of warps in use, 0 to 1.
    pub warps: f64,
}

/// Sums over cycles, for [`Occupancy`].
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    sms: u64,
    ctas: u64,
    warps: u64,
    sm_cycles: u128,
    cta_cycles: u128,
    warp_cycles: u128,
}

/// The device.
#[derive(Clone, Debug)]
pub struct Device {
    now: u64,
    limits: work::Resources,
    sms: Vec<Sm>,
    kernels: Vec<CtaWork>,
    /// CTAs of each kernel that have not ended.
    left: Vec<u64>,
    dispatcher: Dispatcher,
    /// The kernel taken in this cycle.
    incoming: Option<usize>,
    /// The dispatcher's head fits nowhere until a CTA ends.
    blocked: bool,
    placed: u64,
    completions: Vec<Completion>,
    usage: Usage,
    spans: Option<Vec<CtaSpan>>,
    ended: Vec<Running>,
}

impl Device {
    /// An idle device for the kernels of one stream, in cycle 0.
    pub fn new(profile: &Profile, kernels: Vec<CtaWork>) -> Self {
        let limits = work::limits(profile);
        Self {
            now: 0,
            limits,
            sms: vec![Sm::new(limits); profile.sms as usize],
            left: kernels.iter().map(|k| k.ctas).collect(),
            kernels,
            dispatcher: Dispatcher::new(profile.sms as usize),
            incoming: None,
            blocked: false,
            placed: 0,
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

    /// CTAs placed so far.
    pub fn placed(&self) -> u64 {
        self.placed
    }

    /// CTAs on each SM.
    pub fn resident(&self) -> Vec<u32> {
        self.sms.iter().map(|sm| sm.ctas).collect()
    }

    /// CTAs of a kernel that have not ended.
    pub fn ctas_left(&self, kernel: usize) -> u64 {
        self.left.get(kernel).copied().unwrap_or(0)
    }

    /// True where the dispatcher takes a kernel in this cycle.
    pub fn ready(&self) -> bool {
        self.incoming.is_none() && self.dispatcher.ready()
    }

    /// Offers a kernel in this cycle; true where it is taken. Its CTAs can be placed from the next cycle on.
    pub fn offer(&mut self, kernel: usize) -> bool {
        let take = self.ready() && kernel < self.kernels.len();
        if take {
            self.incoming = Some(kernel);
        }
        take
    }

    /// The kernels that completed since the last call, in order of completion.
    pub fn take_completions(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.completions)
    }

    /// The next cycle that is not like the present one, as far as the device alone decides; `None` where it is idle.
    pub fn next_event(&self) -> Option<u64> {
        if self.incoming.is_some() || (self.dispatcher.head().is_some() && !self.blocked) {
            return Some(self.now + 1);
        }
        let next = self.sms.iter().map(Sm::next).min().unwrap_or(u64::MAX);
        (next != u64::MAX).then_some(next)
    }

    /// Ends the present cycle.
    pub fn step(&mut self) {
        self.place();
        self.go_to(self.now + 1);
    }

    /// Ends the present cycle and all before cycle `to`: as many [`Self::step`]s, but jumps where nothing happens.
    pub fn advance(&mut self, to: u64) {
        while self.now < to {
            self.place();
            let next = self.next_event().unwrap_or(u64::MAX);
            self.go_to(next.clamp(self.now + 1, to));
        }
    }

    /// How full the device was in the first `cycles` cycles.
    pub fn occupancy(&self, cycles: u64) -> Occupancy {
        let sms = self.sms.len() as f64 * cycles.max(1) as f64;
        Occupancy {
            sms: self.usage.sm_cycles as f64 / sms,
            cta_slots: self.usage.cta_cycles as f64 / (sms * f64::from(self.limits[0])),
            warps: self.usage.warp_cycles as f64 / (sms * f64::from(self.limits[1])),
        }
    }

    /// The dispatcher's part of a cycle.
    fn place(&mut self) {
        if let Some(head) = self.dispatcher.head()
            && !self.blocked
        {
            let needs = &self.kernels[head].needs;
            match self.dispatcher.place(|sm| self.sms[sm].fits(needs)) {
                None => self.blocked = true,
                Some(placement) => {
                    let work = &self.kernels[placement.kernel];
                    let sm = &mut self.sms[placement.sm];
                    let cta = Running {
                        number: self.placed,
                        kernel: placement.kernel,
                        start: self.now,
                        not_before: self.now.saturating_add(work.floor),
                    };
                    self.usage.sms += u64::from(sm.ctas == 0);
                    self.usage.ctas += 1;
                    self.usage.warps += u64::from(work.needs[1]);
                    sm.place(work, cta);
                    self.placed += 1;
                }
            }
        }
        if let Some(kernel) = self.incoming.take() {
            self.dispatcher.take(kernel, self.kernels[kernel].ctas);
        }
    }

    /// Time goes on to `to`, not beyond the next end of a CTA; what ends in `to` ends.
    fn go_to(&mut self, to: u64) {
        let cycles = u128::from(to - self.now);
        self.usage.sm_cycles += cycles * u128::from(self.usage.sms);
        self.usage.cta_cycles += cycles * u128::from(self.usage.ctas);
        self.usage.warp_cycles += cycles * u128::from(self.usage.warps);
        self.now = to;
        for (index, sm) in self.sms.iter_mut().enumerate() {
            if sm.next() > to {
                continue;
            }
            sm.end(to, &mut self.ended);
            for cta in self.ended.drain(..) {
                let work = &self.kernels[cta.kernel];
                sm.release(&work.needs);
                self.usage.ctas -= 1;
                self.usage.warps -= u64::from(work.needs[1]);
                self.usage.sms -= u64::from(sm.ctas == 0);
                self.blocked = false;
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
    }
}
