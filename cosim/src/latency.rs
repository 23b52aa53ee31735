//! Latencies and stalls at the scheduler's ports, in SM clock cycles, from what was transferred on its channels.
//!
//! - **insert**: from the transfer of a kernel's last host beat to the first cycle in which it is offered, for kernels none of whose
//!   announced upstream was unretired at that transfer.
//! - **retire to dispatch**: from the transfer of the retirement that left a kernel without announced upstream to the first cycle in
//!   which it is offered, for kernels that were in the window by then.
//! - **host to dispatch**: from the first cycle in which a kernel's first beat is on the host channel to the device's taking it; all
//!   kernels.
//!
//! One kernel is offered at a time, so the first two are measured only where no other was on offer in between: they say what the
//! hardware takes, not how long the queue is.

use serde::Serialize;
use windlass_rtl::kernel_scheduler::SchedulerOut;

/// Least, middle, 99th percentile and greatest of a set of cycle counts; all 0 for an empty set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// How many were counted.
    pub count: u64,
    /// The least.
    pub min: u64,
    /// The middle one; the lower of the two in an even number.
    pub median: u64,
    /// No more than 1 % are greater.
    pub p99: u64,
    /// The greatest.
    pub max: u64,
}

impl Distribution {
    /// Of these values.
    pub fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let Some(max) = values.last().copied() else {
            return Self::default();
        };
        let at = |numerator: usize, denominator: usize| {
            values[(values.len() * numerator).div_ceil(denominator).saturating_sub(1)]
        };
        Self { count: values.len() as u64, min: values[0], median: at(1, 2), p99: at(99, 100), max }
    }
}

/// Cycles in which something held the scheduler up. More than one reason can hold in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stalls {
    /// A beat waits: M newer kernels than the oldest unfinished one were sent.
    pub limit: u64,
    /// A beat waits: every slot is taken.
    pub full: u64,
    /// A beat waits: the window works on an insertion or a retirement.
    pub busy: u64,
    /// The window has room and kernels are still to come, but no beat is there.
    pub host: u64,
    /// A kernel is on offer, but the dispatcher has no room.
    pub dispatch: u64,
}

/// What the window did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WindowReport {
    /// Last host beat to first offer, in cycles.
    pub insert: Distribution,
    /// Retirement to the offer of a kernel it freed, in cycles.
    pub retire_to_dispatch: Distribution,
    /// First host beat to dispatch, in cycles.
    pub host_to_dispatch: Distribution,
    /// Mean number of kernels in the window over all cycles.
    pub fill_mean: f64,
    /// Most kernels in the window.
    pub fill_max: u8,
    /// Why it waited, in cycles.
    pub stalls: Stalls,
    /// Cycles of the scheduler that were simulated.
    pub simulated_cycles: u64,
    /// Cycles that were skipped, for nothing could change in them.
    pub skipped_cycles: u64,
}

/// One cycle at the scheduler's ports. It stands for the cycles up to the next one, too.
pub(crate) struct Cycle {
    pub now: u64,
    /// A beat is on the host channel.
    pub beat: bool,
    /// The kernel of the first packet that has not been taken.
    pub kernel: Option<usize>,
    /// Kernels are still to come.
    pub more: bool,
    pub slots: usize,
    pub disp_ready: bool,
    /// The kernel on offer.
    pub offered: Option<usize>,
    pub out: SchedulerOut,
}

/// What is known of one kernel.
#[derive(Clone, Debug, Default)]
struct Times {
    beat: Option<u64>,
    insert: Option<u64>,
    upstream: Vec<usize>,
    offer: Option<u64>,
    retire: Option<u64>,
}

/// Collects [`WindowReport`] cycle by cycle.
pub(crate) struct WindowMeter {
    kernels: Vec<Times>,
    last: Option<Cycle>,
    /// Last cycle in which a kernel was taken.
    taken: Option<u64>,
    insert: Vec<u64>,
    freed: Vec<u64>,
    host: Vec<u64>,
    fill: u128,
    fill_max: u8,
    stalls: Stalls,
    cycles: u64,
}

impl WindowMeter {
    pub fn new(kernels: usize) -> Self {
        Self {
            kernels: vec![Times::default(); kernels],
            last: None,
            taken: None,
            insert: Vec::new(),
            freed: Vec::new(),
            host: Vec::new(),
            fill: 0,
            fill_max: 0,
            stalls: Stalls::default(),
            cycles: 0,
        }
    }

    /// A cycle, before its transfers are told.
    pub fn cycle(&mut self, cycle: &Cycle) {
        self.account(cycle.now);
        let now = cycle.now;
        if cycle.beat
            && let Some(times) = cycle.kernel.and_then(|k| self.kernels.get_mut(k))
        {
            times.beat.get_or_insert(now);
        }
        if let Some(k) = cycle.offered {
            self.offered(k, now, cycle.disp_ready);
        }
        self.last = Some(Cycle { ..*cycle });
    }

    fn offered(&mut self, k: usize, now: u64, taken: bool) {
        let Some(times) = self.kernels.get(k) else { return };
        if times.offer.is_none()
            && let Some(insert) = times.insert
        {
            // The retirement that left it without upstream, where that came after its insertion.
            let retired = times.upstream.iter().filter_map(|u| self.kernels.get(*u)?.retire).max();
            let freed = retired.filter(|at| *at > insert);
            let from = freed.unwrap_or(insert);
            // Where another kernel was on offer after `from`, this one may have waited for its turn.
            if self.taken.is_none_or(|at| at <= from) {
                if freed.is_some() { &mut self.freed } else { &mut self.insert }.push(now - from);
            }
        }
        let times = &mut self.kernels[k];
        times.offer.get_or_insert(now);
        if taken {
            self.taken = Some(now);
            self.host.extend(times.beat.map(|beat| now - beat));
        }
    }

    /// The last beat of a kernel was taken; `upstream` is what was announced.
    pub fn inserted(&mut self, kernel: usize, now: u64, upstream: Vec<usize>) {
        if let Some(times) = self.kernels.get_mut(kernel) {
            times.insert = Some(now);
            times.upstream = upstream;
        }
    }

    /// The retirement of a kernel was taken.
    pub fn retired(&mut self, kernel: usize, now: u64) {
        if let Some(times) = self.kernels.get_mut(kernel) {
            times.retire = Some(now);
        }
    }

    /// Counts the last cycle for all cycles from it to `to`.
    fn account(&mut self, to: u64) {
        let Some(last) = self.last.take() else { return };
        let cycles = to.saturating_sub(last.now);
        let out = &last.out;
        self.cycles += cycles;
        self.fill += u128::from(cycles) * u128::from(out.occupancy);
        self.fill_max = self.fill_max.max(out.occupancy);
        let mut count = |holds: bool, counter: fn(&mut Stalls) -> &mut u64| {
            *counter(&mut self.stalls) += if holds { cycles } else { 0 };
        };
        count(out.stall_limit, |s| &mut s.limit);
        count(out.stall_full, |s| &mut s.full);
        count(out.stall_busy, |s| &mut s.busy);
        count(!last.beat && last.more && usize::from(out.occupancy) < last.slots, |s| &mut s.host);
        count(out.offer.is_some() && !last.disp_ready, |s| &mut s.dispatch);
    }

    /// The simulation ended in cycle `end`.
    pub fn finish(&mut self, end: u64) {
        self.account(end);
    }

    /// The report, with `simulated` cycles of the scheduler in `total`.
    pub fn report(self, simulated: u64, total: u64) -> WindowReport {
        WindowReport {
            insert: Distribution::of(self.insert),
            retire_to_dispatch: Distribution::of(self.freed),
            host_to_dispatch: Distribution::of(self.host),
            fill_mean: self.fill as f64 / self.cycles.max(1) as f64,
            fill_max: self.fill_max,
            stalls: self.stalls,
            simulated_cycles: simulated,
            skipped_cycles: total.saturating_sub(simulated),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distribution_of_nothing_one_and_a_hundred() {
        assert_eq!(Distribution::of(vec![]), Distribution::default());
        assert_eq!(Distribution::of(vec![7]), Distribution { count: 1, min: 7, median: 7, p99: 7, max: 7 });
        assert_eq!(
            Distribution::of((1..=100).rev().collect()),
            Distribution { count: 100, min: 1, median: 50, p99: 99, max: 100 }
        );
    }
}
