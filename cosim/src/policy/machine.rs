//! The device under the order checker, and the loop that all policies run in.

use super::{Host, SimError, Stream};
use crate::device::{CtaWork, Device, DeviceError, NoRoom};
use crate::partition::Partitions;
use crate::profile::Profile;
use std::collections::BTreeSet;
use windlass_runtime::hazards;

/// Cycles in a row in which the hardware may work without anything moving before it counts as stuck. Its longest walk is one of
/// 128 slots.
const STUCK: u64 = 4096;

/// Device, order checker and what each kernel did.
pub(crate) struct Machine<'a> {
    pub stream: &'a Stream,
    pub device: Device,
    policy: &'static str,
    pub dispatched: Vec<Option<u64>>,
    pub completed: Vec<Option<u64>>,
    /// Kernels that completed.
    pub done: usize,
}

impl<'a> Machine<'a> {
    pub fn new(
        profile: &Profile,
        partitions: &Partitions,
        stream: &'a Stream,
        policy: &'static str,
    ) -> Result<Self, SimError> {
        let works = stream.kernels().iter().enumerate().map(|(k, kernel)| CtaWork::new(profile, kernel, k));
        let works = works.collect::<Result<Vec<_>, DeviceError>>()?;
        let n = works.len();
        let device = Device::new(profile, partitions.clone(), works);
        Ok(Self { stream, device, policy, dispatched: vec![None; n], completed: vec![None; n], done: 0 })
    }

    pub fn now(&self) -> u64 {
        self.device.now()
    }

    /// True where a kernel can be dispatched in this cycle.
    pub fn ready(&self) -> bool {
        self.device.ready()
    }

    /// Dispatches a kernel to the device's dispatcher in this cycle, in which [`Self::ready`] holds.
    pub fn dispatch(&mut self, kernel: usize) -> Result<(), SimError> {
        self.start(kernel)?;
        let taken = self.device.offer(kernel);
        debug_assert!(taken, "dispatched while the device was not ready");
        Ok(())
    }

    /// From this cycle on, CTAs of the kernel may be placed. The order checker uses the exact hazards.
    pub fn start(&mut self, kernel: usize) -> Result<(), SimError> {
        let (cycle, policy) = (self.now(), self.policy);
        if self.dispatched.get(kernel).is_none_or(Option::is_some) {
            return Err(SimError::DispatchedTwice { cycle, policy, kernel: self.stream.label(kernel) });
        }
        let early = |u: &&u32| self.completed[**u as usize].is_none();
        if let Some(&upstream) = self.stream.upstream(kernel).iter().find(early) {
            let kernels = self.stream.kernels();
            let hazard = hazards::between(&kernels[upstream as usize], &kernels[kernel]);
            return Err(SimError::OutOfOrder {
                cycle,
                policy,
                kernel: self.stream.label(kernel),
                upstream: self.stream.label(upstream as usize),
                hazard: hazard.first().map(ToString::to_string).unwrap_or_default(),
            });
        }
        self.dispatched[kernel] = Some(cycle);
        Ok(())
    }

    /// Places a CTA of a kernel that has started, whoever decided that.
    pub fn place(&mut self, kernel: usize, sm: usize) -> Result<(), NoRoom> {
        debug_assert!(self.dispatched[kernel].is_some(), "placed before it was dispatched");
        self.device.place(kernel, sm)
    }

    fn deadlock(&self, host: &dyn Host) -> SimError {
        let left: Vec<usize> = (0..self.completed.len()).filter(|k| self.completed[*k].is_none()).collect();
        SimError::Deadlock {
            cycle: self.now(),
            policy: self.policy,
            left: left.len(),
            first: left.first().map_or_else(|| "none".into(), |k| self.stream.label(*k)),
            state: host.state(),
        }
    }
}

/// How a simulation went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Simulated {
    /// Cycle at which the host knew that everything had ended.
    pub cycles: u64,
    /// Cycles that the loop visited.
    pub visited: u64,
}

/// Runs a policy to its end. With `step` every cycle is visited; otherwise time jumps where neither host nor device has anything
/// to do.
pub(crate) fn simulate(
    host: &mut dyn Host,
    machine: &mut Machine<'_>,
    step: bool,
) -> Result<Simulated, SimError> {
    let mut visited = 0;
    let mut moved = (0, 0);
    let mut stuck = 0;
    loop {
        let now = machine.now();
        let ends = machine.device.take_ends();
        let done = machine.device.take_completions();
        for completion in &done {
            machine.completed[completion.kernel] = Some(completion.cycle);
            machine.done += 1;
        }
        visited += 1;
        host.ended(now, &ends);
        host.cycle(&done, machine)?;
        if let Some(cycles) = host.finished_at() {
            return Ok(Simulated { cycles, visited });
        }
        let timed = match (host.next_event(now), machine.device.next_event()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let next = match (timed, host.busy()) {
            (None, false) => return Err(machine.deadlock(host)),
            (None, true) => {
                stuck = if moved == (host.transfers(), machine.done) { stuck + 1 } else { 0 };
                if stuck > STUCK {
                    return Err(machine.deadlock(host));
                }
                now + 1
            }
            (Some(_), true) => now + 1,
            (Some(cycle), false) => cycle,
        };
        moved = (host.transfers(), machine.done);
        machine.device.advance(if step { now + 1 } else { next.max(now + 1) });
    }
}

/// Kernels on their way to the device, by the cycle from which it can have them; at most one is dispatched per cycle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending(BTreeSet<(u64, usize)>);

impl Pending {
    pub fn push(&mut self, available: u64, kernel: usize) {
        self.0.insert((available, kernel));
    }

    /// Dispatches the first kernel that is due, if any.
    pub fn feed(&mut self, machine: &mut Machine<'_>) -> Result<(), SimError> {
        if let Some(&(available, kernel)) = self.0.first()
            && available <= machine.now()
            && machine.ready()
        {
            self.0.pop_first();
            machine.dispatch(kernel)?;
        }
        Ok(())
    }

    /// The next cycle in which a kernel becomes due. One that is due already waits for the device.
    pub fn next_event(&self, now: u64) -> Option<u64> {
        self.0.range((now + 1, 0)..).next().map(|(available, _)| *available)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
