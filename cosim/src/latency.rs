//! Latencies, stalls and placements at the front end's ports, in SM clock cycles, from what was transferred on its channels.
//!
//! - **insert**: from the transfer of a kernel's last host beat to its dispatch from the window, for kernels none of whose announced
//!   upstream was unretired at that transfer.
//! - **retire to dispatch**: from the retirement that left a kernel without announced upstream to its dispatch, for kernels that were in
//!   the window by then.
//! - **done to first CTA**: from the transfer of the last completion of the kernel of that retirement to the first CTA of the kernel that
//!   it freed; of those counted in *retire to dispatch*, where at the dispatch no other kernel of the CTA channel had CTAs to place, and
//!   an SM had room for one of this one, then and until its first CTA.
//! - **host to dispatch**: from the first cycle in which a kernel's first beat is on the host channel to its dispatch; all kernels.
//!
//! One kernel is dispatched per cycle, so the first two are measured only where no other was in between: they say what the hardware
//! takes, not how long the queue is.

use serde::Serialize;
use windlass_rtl::front_end::CtaType;
use windlass_rtl::kernel_scheduler::SchedulerOut;
use windlass_runtime::percentile::percentile;

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
        let at = |percent| percentile(&values, percent).unwrap_or(max);
        Self { count: values.len() as u64, min: values[0], median: at(50), p99: at(99), max }
    }
}

/// Cycles in which something held the front end up. More than one reason can hold in a cycle.
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
    /// Dispatched kernels have CTAs to place, and no SM has room for any.
    pub room: u64,
    /// An SM has room for a CTA of a dispatched kernel, and none is placed: the front end does not know it yet, or places in another
    /// order.
    pub place: u64,
}

/// How CTAs came to the SMs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Placement {
    /// SIMT CTAs placed; COPY is SIMT here.
    pub simt: u64,
    /// TENSOR CTAs placed.
    pub tensor: u64,
    /// Cycles in which a kernel that was dispatched before had CTAs to place.
    pub waiting_cycles: u64,
    /// CTAs placed per such cycle.
    pub per_waiting_cycle: f64,
    /// Those of these cycles in which an SM of its partition had room for one.
    pub possible_cycles: u64,
    /// CTAs placed per such cycle.
    pub per_possible_cycle: f64,
    /// Cycles in which two or more were.
    pub double_cycles: u64,
    /// Most cycles in a row in which two or more were.
    pub longest_double: u64,
}

/// What a front end did in a run of `window`: its latencies, stalls and placements, in its own cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WindowReport {
    /// Last host beat to dispatch, in cycles.
    pub insert: Distribution,
    /// Retirement to the dispatch of a kernel it freed, in cycles.
    pub retire_to_dispatch: Distribution,
    /// Last completion of a kernel to the first CTA of one that it freed, in cycles.
    pub done_to_first_cta: Distribution,
    /// First host beat to dispatch, in cycles.
    pub host_to_dispatch: Distribution,
    /// How CTAs came to the SMs.
    pub placement: Placement,
    /// Mean number of kernels in the window over all cycles.
    pub fill_mean: f64,
    /// Most kernels in the window.
    pub fill_max: u8,
    /// Why it waited, in cycles.
    pub stalls: Stalls,
    /// Cycles of the front end that were simulated.
    pub simulated_cycles: u64,
    /// Cycles that were skipped, for nothing could move in them.
    pub skipped_cycles: u64,
    /// Cycles of both kinds in which the SM array went round, where it stands still while nothing is asked of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array_cycles: Option<u64>,
}

/// One cycle at the front end's ports. It stands for the cycles up to the next one, too, but for what is placed.
pub(crate) struct Cycle {
    pub now: u64,
    /// A beat is on the host channel.
    pub beat: bool,
    /// The kernel of the first packet that has not been taken.
    pub kernel: Option<usize>,
    /// Kernels are still to come.
    pub more: bool,
    pub slots: usize,
    /// A kernel that was dispatched in an earlier cycle has CTAs to place.
    pub waiting: bool,
    /// And an SM has room for one.
    pub possible: bool,
    /// CTAs placed in this cycle.
    pub placed: u64,
    pub out: SchedulerOut,
    /// The SM array goes round.
    pub run: bool,
}

/// What is known of one kernel.
#[derive(Clone, Debug, Default)]
struct Times {
    beat: Option<u64>,
    insert: Option<u64>,
    upstream: Vec<usize>,
    /// Its last completion was taken.
    ended: Option<u64>,
    retire: Option<u64>,
    /// Where its first CTA is to be measured: the last completion of the kernel that freed it.
    freed_by: Option<u64>,
}

/// Collects [`WindowReport`] cycle by cycle.
pub(crate) struct WindowMeter {
    kernels: Vec<Times>,
    last: Option<Cycle>,
    /// Last cycle in which a kernel was dispatched.
    dispatched: Option<u64>,
    insert: Vec<u64>,
    freed: Vec<u64>,
    first_cta: Vec<u64>,
    host: Vec<u64>,
    placement: Placement,
    /// Cycles in a row, up to the present one, in which two or more CTAs were placed.
    double: u64,
    fill: u128,
    fill_max: u8,
    stalls: Stalls,
    cycles: u64,
    array_cycles: u64,
}

impl WindowMeter {
    pub fn new(kernels: usize) -> Self {
        Self {
            kernels: vec![Times::default(); kernels],
            last: None,
            dispatched: None,
            insert: Vec::new(),
            freed: Vec::new(),
            first_cta: Vec::new(),
            host: Vec::new(),
            placement: Placement::default(),
            double: 0,
            fill: 0,
            fill_max: 0,
            stalls: Stalls::default(),
            cycles: 0,
            array_cycles: 0,
        }
    }

    /// A cycle, before its transfers are told.
    pub fn cycle(&mut self, cycle: &Cycle) {
        self.account(cycle.now);
        if cycle.beat
            && let Some(times) = cycle.kernel.and_then(|k| self.kernels.get_mut(k))
        {
            times.beat.get_or_insert(cycle.now);
        }
        let placement = &mut self.placement;
        self.double = if cycle.placed > 1 { self.double + 1 } else { 0 };
        placement.longest_double = placement.longest_double.max(self.double);
        placement.double_cycles += u64::from(cycle.placed > 1);
        self.last = Some(Cycle { ..*cycle });
    }

    /// A kernel was dispatched; `alone` where nothing is in the way of its first CTA.
    pub fn dispatched(&mut self, k: usize, now: u64, alone: bool) {
        let Some(times) = self.kernels.get(k) else { return };
        self.host.extend(times.beat.map(|beat| now - beat));
        if let Some(insert) = times.insert {
            // The retirement that left it without upstream, where that came after its insertion.
            let upstream = || times.upstream.iter().filter_map(|u| self.kernels.get(*u));
            let freed = upstream().filter_map(|u| u.retire).max().filter(|at| *at > insert);
            let from = freed.unwrap_or(insert);
            // Where another kernel was dispatched after `from`, this one may have waited for its turn.
            if self.dispatched.is_none_or(|at| at <= from) {
                let ended = upstream().filter(|u| u.retire == freed).filter_map(|u| u.ended).max();
                if freed.is_some() { &mut self.freed } else { &mut self.insert }.push(now - from);
                self.kernels[k].freed_by = ended.filter(|_| alone && freed.is_some());
            }
        }
        self.dispatched = Some(now);
    }

    /// No SM has room for a dispatched kernel's next CTA: what its first one waits for is not the front end.
    pub fn crowded(&mut self, kernel: usize) {
        if let Some(times) = self.kernels.get_mut(kernel) {
            times.freed_by = None;
        }
    }

    /// A CTA of a kernel was placed.
    pub fn placed(&mut self, kernel: usize, now: u64, kind: CtaType) {
        match kind {
            CtaType::Simt => self.placement.simt += 1,
            CtaType::Tensor => self.placement.tensor += 1,
        }
        let freed_by = self.kernels.get_mut(kernel).and_then(|times| times.freed_by.take());
        self.first_cta.extend(freed_by.map(|at| now - at));
    }

    /// The last completion of a kernel was taken.
    pub fn ended(&mut self, kernel: usize, now: u64) {
        if let Some(times) = self.kernels.get_mut(kernel) {
            times.ended = Some(now);
        }
    }

    /// The last beat of a kernel was taken; `upstream` is what was announced.
    pub fn inserted(&mut self, kernel: usize, now: u64, upstream: Vec<usize>) {
        if let Some(times) = self.kernels.get_mut(kernel) {
            times.insert = Some(now);
            times.upstream = upstream;
        }
    }

    /// A kernel retired.
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
        self.array_cycles += if last.run { cycles } else { 0 };
        self.fill += u128::from(cycles) * u128::from(out.occupancy);
        self.fill_max = self.fill_max.max(out.occupancy);
        let mut count = |holds: bool, counter: fn(&mut Stalls) -> &mut u64| {
            *counter(&mut self.stalls) += if holds { cycles } else { 0 };
        };
        count(out.stall_limit, |s| &mut s.limit);
        count(out.stall_full, |s| &mut s.full);
        count(out.stall_busy, |s| &mut s.busy);
        count(!last.beat && last.more && usize::from(out.occupancy) < last.slots, |s| &mut s.host);
        count(last.waiting && !last.possible, |s| &mut s.room);
        count(last.possible && last.placed == 0, |s| &mut s.place);
        self.placement.waiting_cycles += if last.waiting { cycles } else { 0 };
        self.placement.possible_cycles += if last.possible { cycles } else { 0 };
    }

    /// The simulation ended in cycle `end`.
    pub fn finish(&mut self, end: u64) {
        self.account(end);
    }

    /// The report, with `simulated` cycles of the front end in `total`, whose SM array stands still at times where it `holds`.
    pub fn report(self, simulated: u64, total: u64, holds: bool) -> WindowReport {
        let mut placement = self.placement;
        let per = |cycles: u64| (placement.simt + placement.tensor) as f64 / cycles.max(1) as f64;
        let rates = [per(placement.waiting_cycles), per(placement.possible_cycles)];
        [placement.per_waiting_cycle, placement.per_possible_cycle] = rates;
        WindowReport {
            insert: Distribution::of(self.insert),
            retire_to_dispatch: Distribution::of(self.freed),
            done_to_first_cta: Distribution::of(self.first_cta),
            host_to_dispatch: Distribution::of(self.host),
            placement,
            fill_mean: self.fill as f64 / self.cycles.max(1) as f64,
            fill_max: self.fill_max,
            stalls: self.stalls,
            simulated_cycles: simulated,
            skipped_cycles: total.saturating_sub(simulated),
            array_cycles: holds.then_some(self.array_cycles),
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
