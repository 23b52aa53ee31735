//! `serial` and `queue`: one stream. The host launches ahead of the device; each kernel waits for the one before.

use super::machine::{Machine, Pending};
use super::{Host, SimError};
use crate::device::Completion;
use crate::profile::Profile;
use std::collections::VecDeque;
use windlass_gen::table::counted;

pub(crate) struct SerialHost {
    launch: u64,
    /// From the host to the device, beside the launches before.
    transfer: u64,
    gap: u64,
    /// From the end of a section's last kernel until the hardware tells the host.
    end: u64,
    synchronise: u64,
    /// Packets that the queue holds, and cycles until the host learns of a free entry.
    depth: usize,
    notice: u64,
    section: usize,
    /// The host is done with the launches before in this cycle.
    free_at: u64,
    /// When the host learnt of the entries of the queue that became free, in this section, without those that it has used again.
    returned: VecDeque<u64>,
    started: bool,
    pending: Pending,
    finished: Option<u64>,
}

impl SerialHost {
    pub fn new(profile: &Profile) -> Self {
        Self {
            launch: profile.cycles(profile.host.launch_ns),
            gap: profile.cycles(profile.host.stream_gap_ns),
            synchronise: profile.cycles(profile.host.synchronise_ns),
            ..Self::free()
        }
    }

    /// Packets as under `window`, without its check for hazards, into a queue of `depth` in hardware: the next kernel starts when the one
    /// before has ended, and the hardware knows it.
    pub fn queue(profile: &Profile, driver_launch: bool, kernel_end: u64, depth: usize) -> Self {
        let costs = &profile.host;
        Self {
            launch: profile.cycles(if driver_launch { costs.launch_ns } else { costs.packet_ns }),
            transfer: profile.cycles(costs.transfer_ns),
            gap: kernel_end,
            end: kernel_end,
            synchronise: profile.cycles(costs.synchronise_ns),
            depth,
            notice: profile.cycles(costs.notice_ns),
            ..Self::free()
        }
    }

    /// One kernel after the other, without any overhead.
    pub fn free() -> Self {
        Self {
            launch: 0,
            transfer: 0,
            gap: 0,
            end: 0,
            synchronise: 0,
            depth: usize::MAX,
            notice: 0,
            section: 0,
            free_at: 0,
            returned: VecDeque::new(),
            started: false,
            pending: Pending::default(),
            finished: None,
        }
    }

    /// The section's next kernel starts, at `now` at the earliest: when its launch has reached the device.
    fn send(&mut self, now: u64, kernel: usize) {
        // All kernels before have started, so that it is known when there was an entry for it.
        if self.returned.len() == self.depth {
            self.free_at = self.free_at.max(self.returned.pop_front().unwrap_or(0));
        }
        self.free_at += self.launch;
        let starts = now.max(self.free_at + self.transfer);
        self.returned.push_back(starts + self.notice);
        self.pending.push(starts, kernel);
    }
}

impl Host for SerialHost {
    fn cycle(&mut self, done: &[Completion], machine: &mut Machine<'_>) -> Result<(), SimError> {
        let sections = machine.stream.sections();
        let now = machine.now();
        if !self.started {
            self.started = true;
            match sections.first() {
                None => self.finished = Some(now),
                Some(first) => self.send(now, first.start),
            }
        }
        for completion in done {
            let next = completion.kernel + 1;
            if next < sections[self.section].end {
                self.send(now + self.gap, next);
                continue;
            }
            self.section += 1;
            self.free_at = now + self.end + self.synchronise;
            self.returned.clear();
            match sections.get(self.section) {
                None => self.finished = Some(self.free_at),
                Some(section) => self.send(self.free_at, section.start),
            }
        }
        self.pending.feed(machine)
    }

    fn next_event(&self, now: u64) -> Option<u64> {
        self.pending.next_event(now)
    }

    fn finished_at(&self) -> Option<u64> {
        self.finished
    }

    fn state(&self) -> String {
        format!(
            "section {}, {} on the way to the device",
            self.section,
            counted(self.pending.len(), "kernel")
        )
    }
}
