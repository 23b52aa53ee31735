//! Golden model of `kernel_scheduler`: the two blocks' models, joined as the hardware joins them.

use super::io::{HostBeat, SchedulerIn, SchedulerOut, SchedulerPorts};
use crate::model::{CycleError, CycleModel};
use crate::params::{Encoding, SchedulerParams};
use crate::port::{Direction, Layout, MissingPort, Port};
use crate::upstream_load::model::{UpstreamLoadModel, WindowView};
use crate::window::model::{WindowIn, WindowModel};

/// The model: one step per clock.
#[derive(Clone, Debug)]
pub struct SchedulerModel {
    params: SchedulerParams,
    window: WindowModel,
    upstream: UpstreamLoadModel,
}

impl SchedulerModel {
    /// An empty scheduler.
    pub fn new(params: SchedulerParams) -> Self {
        let window = WindowModel::new(params.kind(), params.window());
        Self { params, window, upstream: UpstreamLoadModel::new(params.upstream()) }
    }

    /// No kernel is in the window.
    pub fn is_empty(&self) -> bool {
        self.window.outputs(&WindowIn::default()).occupancy == 0
    }

    /// One cycle: the outputs for `input`, then the clock edge.
    pub fn cycle(&mut self, input: &SchedulerIn) -> SchedulerOut {
        let mut to_window = WindowIn {
            rst_ni: input.rst_ni,
            insert: None,
            disp_ready: input.disp_ready,
            retire: input.retire,
        };
        let seen = self.window.outputs(&to_window);
        let view = WindowView {
            live: seen.live,
            shift: seen.shift,
            ids: self.window.ids(),
            oldest: seen.oldest,
            ins_ready: seen.ins_ready,
        };
        // An idle host's ports are zero.
        let beat = input.host.unwrap_or(match self.params.upstream().encoding() {
            Encoding::Ids { .. } => HostBeat::Ids { id: 0, upstream: [None; 8], last: false },
            Encoding::Mask => HostBeat::Mask { id: 0, upstream: [0; 8] },
        });
        let load = self.upstream.cycle(input.rst_ni, beat, input.host.is_some(), &view);
        let waiting = load.ins_valid && !seen.ins_ready;
        let (HostBeat::Ids { id, .. } | HostBeat::Mask { id, .. }) = beat;
        to_window.insert = load.ins_valid.then_some((id, load.places));
        let out = self.window.cycle(&to_window);
        SchedulerOut {
            host_ready: load.host_ready,
            offer: out.offer,
            inserted: out.ins_slot.map(|slot| slot as u8),
            retire_ready: out.retire_ready,
            occupancy: out.occupancy as u8,
            oldest: out.oldest,
            stall_limit: load.stall_limit,
            stall_full: waiting && out.full,
            stall_busy: waiting && !out.full,
            busy: out.busy,
            retire_error: out.retire_error,
        }
    }
}

/// The model behind flat words.
pub struct FlatScheduler {
    model: SchedulerModel,
    ports: Vec<Port>,
    io: SchedulerPorts,
}

impl FlatScheduler {
    /// The model with `params`, behind the hardware's `ports`.
    pub fn new(params: SchedulerParams, ports: Vec<Port>) -> Result<Self, MissingPort> {
        let inputs = Layout::new(&ports, Direction::Input);
        let outputs = Layout::new(&ports, Direction::Output);
        let io = SchedulerPorts::new(params, &inputs, &outputs)?;
        Ok(Self { model: SchedulerModel::new(params), ports, io })
    }
}

impl CycleModel for FlatScheduler {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        let out = self.model.cycle(&self.io.unpack_inputs(inputs));
        self.io.pack_outputs(&out, outputs);
        Ok(())
    }
}
