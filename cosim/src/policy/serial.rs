//! `serial` and `queue`: one stream. The host launches ahead of the device; each kernel waits for the one before.

use super::machine::{Machine, Pending};
use super::{Host, SimError};
use crate::device::Completion;
use crate::profile::Profile;

pub(crate) struct SerialHost {
    launch: u64,
    /// From the host to the device, beside the launches before.
    transfer: u64,
    gap: u64,
    synchronise: u64,
    section: usize,
    /// Cycle in which the host began to launch the present section.
    began: u64,
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

    /// Packets as under `window`, without its check for hazards, into a queue in hardware: the next kernel starts when the one
    /// before has ended, and the hardware knows it.
    pub fn queue(profile: &Profile, driver_launch: bool, kernel_end: u64) -> Self {
        let costs = &profile.host;
        Self {
            launch: profile.cycles(if driver_launch { costs.launch_ns } else { costs.packet_ns }),
            transfer: profile.cycles(costs.transfer_ns),
            gap: kernel_end,
            synchronise: profile.cycles(costs.synchronise_ns),
            ..Self::free()
        }
    }

    /// One kernel after the other, without any overhead.
    pub fn free() -> Self {
        Self {
            launch: 0,
            transfer: 0,
            gap: 0,
            synchronise: 0,
            section: 0,
            began: 0,
            started: false,
            pending: Pending::default(),
            finished: None,
        }
    }

    /// Cycle in which the launch of the section's `j`-th kernel has reached the device.
    fn launched(&self, j: usize) -> u64 {
        self.began + self.launch * (j as u64 + 1) + self.transfer
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
                Some(first) => self.pending.push(self.launched(0), first.start),
            }
        }
        for completion in done {
            let next = completion.kernel + 1;
            if next < sections[self.section].end {
                let launched = self.launched(next - sections[self.section].start);
                self.pending.push(launched.max(now + self.gap), next);
                continue;
            }
            self.section += 1;
            self.began = now + self.synchronise;
            match sections.get(self.section) {
                None => self.finished = Some(self.began),
                Some(section) => self.pending.push(self.launched(0), section.start),
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
        format!("section {}, {} kernels on their way to the device", self.section, self.pending.len())
    }
}
