//! Which stream each kernel goes to, and what it waits for there.

use serde::{Deserialize, Serialize};
use windlass_hazards::Slot;

/// What calls cost the host and waits cost the device, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Host: a launch.
    pub launch_ns: u32,
    /// Host: the same of a kernel that is set up early.
    pub early_launch_ns: u32,
    /// Host: a launch into another stream than the launch before.
    pub other_launch_ns: u32,
    /// Host: a launch while the other launching threads launch, too.
    pub busy_launch_ns: u32,
    /// Host: recording an event.
    pub record_ns: u32,
    /// Host: making a stream wait for an event.
    pub wait_ns: u32,
    /// Device: from the end of a kernel to the start of the next in its stream.
    pub gap_ns: u32,
    /// Device: the same where the next is set up early.
    pub early_gap_ns: u32,
    /// Device: from the end of a kernel to the start of one in another stream that waits for it.
    pub cross_ns: u32,
    /// Host: a launch of a chain of kernels as one kept graph. 0 where it is not known, then as a kernel's.
    #[serde(default)]
    pub chain_launch_ns: u32,
    /// Device: from the end of a kernel to the start of the next in its chain. 0 where it is not known, then as in a stream.
    #[serde(default)]
    pub chain_gap_ns: u32,
}

impl Costs {
    /// Nothing costs anything: overlap always pays.
    pub const FREE: Self = Self {
        launch_ns: 0,
        early_launch_ns: 0,
        other_launch_ns: 0,
        busy_launch_ns: 0,
        record_ns: 0,
        wait_ns: 0,
        gap_ns: 0,
        early_gap_ns: 0,
        cross_ns: 0,
        chain_launch_ns: 0,
        chain_gap_ns: 0,
    };

    /// What kept graphs cost: launch, and gap from node to node.
    pub(super) fn chain(&self) -> (u32, u32) {
        let or = |known, else_| if known == 0 { else_ } else { known };
        (or(self.chain_launch_ns, self.launch_ns), or(self.chain_gap_ns, self.gap_ns))
    }
}

/// What is expected of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// How long it takes alone, in nanoseconds.
    pub ns: f32,
    /// The part of the device that it fills, 0 to 1: two that fill it do not overlap.
    pub share: f32,
}

/// A kernel of the plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Planned {
    pub(super) kernel: u32,
    pub(super) slot: u16,
    pub(super) stream: u32,
    /// Place in its stream, from 1.
    pub(super) place: u32,
    /// Before it: streams whose last kernel is to be recorded, and that kernel.
    pub(super) records_before: Vec<(u32, u32)>,
    /// Kernels whose events its stream waits for before it.
    pub(super) waits: Vec<u32>,
    /// Somebody waits for it: record its event after it.
    pub(super) record: bool,
    /// May be set up while the one before it runs.
    pub(super) early: bool,
}

/// A kernel in flight. Its event has its number.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    kernel: u32,
    stream: u32,
    place: u32,
    /// Its event was recorded.
    recorded: bool,
    /// When it is expected to end.
    end: f64,
}

/// The end of a stream.
#[derive(Clone, Copy, Debug, Default)]
struct Tail {
    slot: u16,
    /// Kernels given to the stream so far.
    place: u32,
    /// Of those, how many the host knows to have ended.
    known: u32,
}

/// What is in flight, and where. Streams know of each other how far they are behind: a stream that has waited for a kernel comes after all
/// that this kernel came after, and needs no wait for those (a vector clock).
#[derive(Clone, Debug)]
pub(super) struct Planner {
    streams: usize,
    flights: Vec<Flight>,
    tails: Vec<Tail>,
    /// Of each slot, and of each stream's end: the place in each stream that it comes after.
    slot_clocks: Vec<u32>,
    stream_clocks: Vec<u32>,
    /// When each stream is expected to end, and each launching thread to be free.
    ends: Vec<f64>,
    hosts: Vec<f64>,
    /// Time for which all of the device is expected to be taken.
    area: f64,
    /// The stream that each launching thread launched into last.
    last: Vec<usize>,
    costs: Costs,
    early: bool,
    /// Kernels that a stream is given with nothing in between, and that are planned together, are one launch.
    chains: bool,
    pub(super) dropped: u64,
}

impl Planner {
    pub(super) fn new(
        streams: usize,
        window: usize,
        launchers: usize,
        costs: Costs,
        early: bool,
        chains: bool,
    ) -> Self {
        Self {
            streams,
            flights: vec![Flight::default(); window],
            tails: vec![Tail::default(); streams],
            slot_clocks: vec![0; window * streams],
            stream_clocks: vec![0; streams * streams],
            ends: vec![0.0; streams],
            hosts: vec![0.0; launchers.max(1)],
            area: 0.0,
            last: vec![usize::MAX; launchers.max(1)],
            costs,
            early,
            chains,
            dropped: 0,
        }
    }

    pub(super) fn copy_from(&mut self, other: &Self) {
        self.flights.copy_from_slice(&other.flights);
        self.tails.copy_from_slice(&other.tails);
        self.slot_clocks.copy_from_slice(&other.slot_clocks);
        self.stream_clocks.copy_from_slice(&other.stream_clocks);
        self.ends.copy_from_slice(&other.ends);
        self.hosts.copy_from_slice(&other.hosts);
        self.last.copy_from_slice(&other.last);
        (self.area, self.dropped) = (other.area, other.dropped);
    }

    /// The host has seen so many kernels of the stream end.
    pub(super) fn saw(&mut self, stream: usize, place: u32) {
        let tail = &mut self.tails[stream];
        tail.known = tail.known.max(place);
    }

    /// Where a kernel in flight is.
    pub(super) fn stream(&self, slot: Slot) -> u32 {
        self.flights[slot.index()].stream
    }

    /// The number of a kernel in flight.
    pub(super) fn kernel(&self, slot: Slot) -> u32 {
        self.flights[slot.index()].kernel
    }

    /// When a kernel with this upstream could start in a stream, as far as is expected.
    pub(super) fn start(&self, upstream: &[(u32, Slot)], stream: usize) -> f64 {
        let gap = f64::from(self.costs.gap_ns);
        let ready = upstream.iter().filter(|(_, slot)| !self.has_ended(*slot)).map(|(_, slot)| {
            let flight = &self.flights[slot.index()];
            let there = flight.stream as usize == stream;
            flight.end + if there { gap } else { f64::from(self.costs.cross_ns) }
        });
        ready.fold(self.ends[stream] + gap, f64::max)
    }

    /// The event of a kernel, just planned, is recorded whether or not anybody is known to wait for it.
    pub(super) fn will_be_recorded(&mut self, slot: Slot) {
        self.flights[slot.index()].recorded = true;
    }

    pub(super) fn has_ended(&self, slot: Slot) -> bool {
        let flight = &self.flights[slot.index()];
        self.tails[flight.stream as usize].known >= flight.place
    }

    /// Kernels given to a stream so far.
    pub(super) fn place(&self, stream: usize) -> u32 {
        self.tails[stream].place
    }

    /// When all that is planned is expected to have ended.
    pub(super) fn end(&self) -> f64 {
        self.ends.iter().copied().fold(self.area, f64::max)
    }

    /// The stream that ends last.
    pub(super) fn longest(&self) -> usize {
        let by_end = |a: &usize, b: &usize| self.ends[*a].total_cmp(&self.ends[*b]);
        (0..self.streams).max_by(by_end).unwrap_or(0)
    }

    fn come_after(clock: &mut [u32], other: &[u32]) {
        clock.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
    }

    /// Calls `wait` for the upstream kernels that a stream with this clock must wait for, newest first; returns how many others there are.
    fn needed(&self, clock: &mut [u32], upstream: &[(u32, Slot)], mut wait: impl FnMut(Slot)) -> u64 {
        let mut dropped = 0;
        for (_, slot) in upstream.iter().rev() {
            let flight = &self.flights[slot.index()];
            let stream = flight.stream as usize;
            if clock[stream] >= flight.place || self.tails[stream].known >= flight.place {
                dropped += 1;
                continue;
            }
            wait(*slot);
            Self::come_after(clock, &self.slot_clocks[slot.index() * self.streams..][..self.streams]);
        }
        dropped
    }

    /// The stream for a kernel with this upstream.
    fn choose(&self, upstream: &[(u32, Slot)]) -> usize {
        let mut scratch = [0; MAX_STREAMS];
        let mut best: Option<(usize, u32, usize)> = None;
        for (kernel, slot) in upstream.iter().rev() {
            let flight = &self.flights[slot.index()];
            let stream = flight.stream as usize;
            if self.tails[stream].place != flight.place || self.tails[stream].known >= flight.place {
                continue;
            }
            // It is the last of its stream: behind it, there is nothing to wait for on its account.
            let clock = &mut scratch[..self.streams];
            clock.copy_from_slice(&self.stream_clocks[stream * self.streams..][..self.streams]);
            let mut waits = 0;
            self.needed(clock, upstream, |_| waits += 1);
            if best.is_none_or(|(w, k, _)| (waits, u32::MAX - kernel) < (w, u32::MAX - k)) {
                best = Some((waits, *kernel, stream));
            }
        }
        match best {
            Some((.., stream)) => stream,
            None => {
                let left = |s: &usize| (self.tails[*s].place - self.tails[*s].known, self.ends[*s] as u64);
                (0..self.streams).min_by_key(left).unwrap_or(0)
            }
        }
    }

    /// Plans the next kernel, which is in `slot`, on `stream` or where it fits best. `chunk` are the kernels planned and not yet launched.
    pub(super) fn plan(
        &mut self,
        (kernel, slot): (u32, Slot),
        upstream: &[(u32, Slot)],
        estimate: Estimate,
        stream: Option<usize>,
        chunk: &mut [Planned],
    ) -> Planned {
        // Threads that launch at the same time are in each other's way.
        let busy = stream.is_none() && self.hosts.len() > 1;
        let stream = stream.unwrap_or_else(|| self.choose(upstream));
        let mut planned = Planned { kernel, slot: slot.0, stream: stream as u32, ..Planned::default() };
        let mut clock = [0; MAX_STREAMS];
        let clock = &mut clock[..self.streams];
        clock.copy_from_slice(&self.stream_clocks[stream * self.streams..][..self.streams]);
        let mut waits = [Slot(0); MAX_WAITS];
        let mut count = 0;
        self.dropped += self.needed(clock, upstream, |slot| {
            // One per stream but this: what comes later in a stream comes after what came before.
            waits[count % MAX_WAITS] = slot;
            count += 1;
        });
        let mut ready = 0f64;
        for slot in &waits[..count.min(MAX_WAITS)] {
            ready = ready.max(self.flights[slot.index()].end + f64::from(self.costs.cross_ns));
            let waited_for = self.event(*slot, chunk, &mut planned);
            // Where a later kernel's event serves, the stream comes after that one.
            Self::come_after(clock, &self.slot_clocks[waited_for.index() * self.streams..][..self.streams]);
            planned.waits.push(self.flights[waited_for.index()].kernel);
        }
        let tail = &mut self.tails[stream];
        planned.early = self.early && planned.waits.is_empty() && tail.place > 0;
        let last = |p: &Planned| (p.stream, p.place, p.record) == (stream as u32, tail.place, false);
        let goes_on = self.chains && planned.waits.is_empty() && chunk.iter().any(last);
        let (chain_launch_ns, chain_gap_ns) = self.costs.chain();
        let gap = match (goes_on, planned.early) {
            (true, true) => chain_gap_ns.min(self.costs.early_gap_ns),
            (true, false) => chain_gap_ns,
            (false, true) => self.costs.early_gap_ns,
            (false, false) => self.costs.gap_ns,
        };
        tail.place += 1;
        tail.slot = slot.0;
        planned.place = tail.place;
        clock[stream] = tail.place;
        self.stream_clocks[stream * self.streams..][..self.streams].copy_from_slice(clock);
        self.slot_clocks[slot.index() * self.streams..][..self.streams].copy_from_slice(clock);
        // What is expected.
        let waits = planned.waits.len() as f64;
        let costs = &self.costs;
        let launcher = stream % self.hosts.len();
        let other = std::mem::replace(&mut self.last[launcher], stream) != stream;
        let launch = match (busy, other, planned.early) {
            _ if goes_on => 0,
            _ if self.chains && !planned.early => chain_launch_ns,
            (true, ..) => costs.busy_launch_ns,
            (false, true, _) => costs.other_launch_ns,
            (false, false, true) => costs.early_launch_ns,
            (false, false, false) => costs.launch_ns,
        };
        let host = &mut self.hosts[launcher];
        *host += f64::from(launch) + waits * f64::from(costs.wait_ns + costs.record_ns);
        let start = ready.max(self.ends[stream] + f64::from(gap)).max(*host);
        let end = start + f64::from(estimate.ns);
        self.area = self.area.max(start) + f64::from(estimate.ns) * f64::from(estimate.share);
        self.ends[stream] = end;
        self.flights[slot.index()] =
            Flight { kernel, stream: stream as u32, place: planned.place, recorded: false, end };
        planned
    }

    /// The kernel whose event to wait for: the one asked for, or a later one in its stream where its own was not recorded while it could be.
    fn event(&mut self, slot: Slot, chunk: &mut [Planned], planned: &mut Planned) -> Slot {
        if let Some(own) = chunk.iter_mut().find(|p| p.slot == slot.0) {
            own.record = true;
            self.flights[slot.index()].recorded = true;
            return slot;
        }
        if self.flights[slot.index()].recorded {
            return slot;
        }
        let stream = self.flights[slot.index()].stream;
        let tail = Slot(self.tails[stream as usize].slot);
        if let Some(last) = chunk.iter_mut().find(|p| p.slot == tail.0) {
            last.record = true;
        } else if !self.flights[tail.index()].recorded {
            planned.records_before.push((stream, self.flights[tail.index()].kernel));
        }
        self.flights[tail.index()].recorded = true;
        tail
    }
}

/// Streams that can be planned for, at most; and so the waits of a kernel, one per stream.
pub(super) const MAX_STREAMS: usize = 64;
const MAX_WAITS: usize = MAX_STREAMS;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::random::{Random, seed};

    /// What streams are told is followed by the letter: what comes after what is known of every kernel, and each hazard must be in it.
    #[test]
    fn waits_that_are_dropped_follow_from_others() {
        let mut random = Random(seed());
        let (mut dropped, mut waits) = (0, 0);
        for round in 0..600 {
            let (streams, window) = (1 + random.below(9) as usize, 4 + random.below(40) as usize);
            let (chunk_length, odds) = (1 + random.below(12) as usize, 1 + random.below(12));
            let forced = random.below(3) == 0;
            let mut planner = Planner::new(streams, window, 0, Costs::FREE, random.below(2) == 0, false);
            let kernels = 200;
            // Row k: the kernels that k comes after.
            let mut after: Vec<Vec<bool>> = Vec::new();
            // Of each stream, what the next in it comes after; of each event, what had ended when it was recorded last.
            let mut ends = vec![vec![false; kernels]; streams];
            let mut events: Vec<Option<Vec<bool>>> = vec![None; kernels];
            let mut flying: Vec<(u32, Slot)> = Vec::new();
            let mut free: Vec<u16> = (0..window as u16).collect();
            // Streams and places of the planned, and how many the host knows to have ended.
            let mut placed: Vec<(usize, u32)> = Vec::new();
            let mut known = 0;
            let mut chunk: Vec<Planned> = Vec::new();
            let mut expected = 0;
            for k in 0..kernels as u32 {
                // Some of the oldest have ended; what has not been told cannot have.
                if flying.len() == window || random.below(8) == 0 {
                    tell(&chunk, &mut after, &mut ends, &mut events);
                    chunk.clear();
                    let left = random.below(flying.len() as u64 / 2 + 1) as usize;
                    for (kernel, slot) in flying.drain(..flying.len() - left) {
                        let (stream, place) = placed[kernel as usize];
                        planner.saw(stream, place);
                        known = kernel + 1;
                        free.push(slot.0);
                    }
                }
                if chunk.len() == chunk_length {
                    tell(&chunk, &mut after, &mut ends, &mut events);
                    chunk.clear();
                }
                let upstream: Vec<(u32, Slot)> =
                    flying.iter().copied().filter(|_| random.below(odds) == 0).collect();
                let slot = Slot(free.swap_remove(random.below(free.len() as u64) as usize));
                let stream = forced.then(|| random.below(streams as u64) as usize);
                let planned = planner.plan((k, slot), &upstream, Estimate::default(), stream, &mut chunk);
                let elsewhere =
                    |(kernel, _): &&(u32, Slot)| placed[*kernel as usize].0 != planned.stream as usize;
                let without_dropping = upstream.iter().filter(elsewhere).count();
                assert!(planned.waits.len() <= without_dropping, "round {round}, kernel {k}: {planned:?}");
                assert!(!planned.early || (planned.waits.is_empty() && planned.place > 1), "{planned:?}");
                expected += upstream.len() as u64 - planned.waits.len() as u64;
                waits += planned.waits.len();
                placed.push((planned.stream as usize, planned.place));
                chunk.push(planned);
                flying.push((k, slot));
                // As if the chunk ended here: a later kernel of it may ask for records of these, no more.
                let mut trial = (after.clone(), ends.clone(), events.clone());
                tell(&chunk, &mut trial.0, &mut trial.1, &mut trial.2);
                // No wait follows from another, where none is for a later kernel than was asked for.
                let waits = &chunk[chunk.len() - 1].waits;
                if waits.iter().all(|w| upstream.iter().any(|(u, _)| u == w)) {
                    let implied = |w: &u32| waits.iter().any(|v| trial.0[*v as usize][*w as usize]);
                    assert!(
                        !waits.iter().any(implied),
                        "round {round}, kernel {k}: {waits:?} of {upstream:?}"
                    );
                }
                for (u, _) in &upstream {
                    let comes_after = trial.0[k as usize][*u as usize] || *u < known;
                    assert!(comes_after, "round {round}: kernel {k} does not come after {u}: {chunk:?}");
                }
            }
            assert_eq!(planner.dropped, expected, "round {round}");
            dropped += planner.dropped;
        }
        println!("{dropped} waits dropped, {waits} kept");
        assert!(dropped > 20_000 && waits > 20_000, "{dropped} dropped, {waits} kept");
    }

    /// Follows what streams are told.
    fn tell(
        chunk: &[Planned],
        after: &mut Vec<Vec<bool>>,
        ends: &mut [Vec<bool>],
        events: &mut [Option<Vec<bool>>],
    ) {
        for p in chunk {
            for (stream, kernel) in &p.records_before {
                events[*kernel as usize] = Some(ends[*stream as usize].clone());
            }
            let end = &mut ends[p.stream as usize];
            for kernel in &p.waits {
                let event = events[*kernel as usize].as_ref();
                let event = event.unwrap_or_else(|| panic!("the event of {kernel} was never recorded"));
                end.iter_mut().zip(event).for_each(|(mine, theirs)| *mine |= theirs);
            }
            after.push(end.clone());
            end[p.kernel as usize] = true;
            if p.record {
                events[p.kernel as usize] = Some(end.clone());
            }
        }
    }
}
