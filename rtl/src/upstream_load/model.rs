//! Golden model of `upstream_load`: turns what the host believes into the slots a kernel really waits for.

use crate::kernel_scheduler::io::HostBeat;
use crate::params::UpstreamParams;
use std::collections::BTreeSet;

/// What the window tells the upstream load module in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowView {
    /// Slots in use, those that retire in this cycle left out.
    pub live: BTreeSet<usize>,
    /// Id in each slot.
    pub ids: Vec<u8>,
    /// Id of the oldest unfinished kernel.
    pub oldest: Option<u8>,
    /// The window takes an insertion in this cycle.
    pub ins_ready: bool,
}

/// Outputs of one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamOut {
    /// The host's beat is taken.
    pub host_ready: bool,
    /// The insertion offered to the window.
    pub insert: Option<(u8, BTreeSet<usize>)>,
    /// The beat waits because M newer kernels than the oldest unfinished one were sent.
    pub stall_limit: bool,
}

/// The model: one step per clock.
#[derive(Clone, Debug)]
pub struct UpstreamLoadModel {
    params: UpstreamParams,
    /// Slots named by the beats of the present kernel that came before this one.
    gathered: BTreeSet<usize>,
}

impl UpstreamLoadModel {
    /// No beat taken yet.
    pub fn new(params: UpstreamParams) -> Self {
        Self { params, gathered: BTreeSet::new() }
    }

    /// The outputs that follow from the state and the inputs; changes nothing.
    pub fn outputs(&self, host: Option<HostBeat>, view: &WindowView) -> UpstreamOut {
        let Some(beat) = host else {
            // Without a beat `host_ready_o` is what it would be for an `ids` beat of id 0 that is not the last,
            // or a mask for id 0: the model says it the way the ports do.
            let blocked = self.blocked(0, view);
            let last = self.params.encoding() == crate::params::Encoding::Mask;
            return UpstreamOut {
                host_ready: !blocked && (!last || view.ins_ready),
                ..UpstreamOut::default()
            };
        };
        let (id, last) = match beat {
            HostBeat::Ids { id, last, .. } => (id, last),
            HostBeat::Mask { id, .. } => (id, true),
        };
        if self.blocked(id, view) {
            return UpstreamOut { stall_limit: true, ..UpstreamOut::default() };
        }
        UpstreamOut {
            host_ready: !last || view.ins_ready,
            insert: last.then(|| (id, self.slots(beat, view))),
            stall_limit: false,
        }
    }

    /// One cycle: the outputs, then the clock edge.
    pub fn cycle(&mut self, rst_ni: bool, host: Option<HostBeat>, view: &WindowView) -> UpstreamOut {
        let out = self.outputs(host, view);
        if !rst_ni {
            self.gathered.clear();
        } else if let (true, Some(beat)) = (out.host_ready, host) {
            if out.insert.is_some() {
                self.gathered.clear();
            } else {
                self.gathered = self.slots(beat, view);
            }
        } else {
            self.gathered.retain(|slot| view.live.contains(slot));
        }
        out
    }

    /// True where M kernels newer than the oldest unfinished one were sent before kernel `id`.
    fn blocked(&self, id: u8, view: &WindowView) -> bool {
        view.oldest.is_some_and(|oldest| {
            let newer = id.wrapping_sub(oldest).wrapping_sub(1);
            usize::from(newer) >= self.params.scheduled()
        })
    }

    /// The live slots that the kernel waits for, as far as this beat and those before it say.
    fn slots(&self, beat: HostBeat, view: &WindowView) -> BTreeSet<usize> {
        let named = |kernel: u8| match beat {
            HostBeat::Ids { upstream, .. } => upstream.contains(&Some(kernel)),
            HostBeat::Mask { id, upstream } => {
                let j = usize::from(id.wrapping_sub(1).wrapping_sub(kernel));
                j < self.params.scheduled() && upstream[j / 32] >> (j % 32) & 1 == 1
            }
        };
        view.live.iter().copied().filter(|&s| self.gathered.contains(&s) || named(view.ids[s])).collect()
    }
}
