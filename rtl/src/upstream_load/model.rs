//! Golden model of `upstream_load`: turns what the host believes into the places of the kernels that a kernel really waits for.

use crate::kernel_scheduler::io::HostBeat;
use crate::model::{CycleError, CycleModel, one_hot, ones};
use crate::params::{Encoding, UpstreamParams};
use crate::port::{Direction, Layout, MissingPort, Port, Slot, find, find_all};
use crate::window::model::{PlaceSet, shifted};

/// What the window tells the upstream load module in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowView<'a> {
    /// Places whose kernels have not retired, nor retire in this cycle.
    pub live: PlaceSet,
    /// Places whose kernel comes from the place above at the end of this cycle.
    pub shift: PlaceSet,
    /// Id in each place.
    pub ids: &'a [u8],
    /// Id of the oldest kernel that has a place.
    pub oldest: Option<u8>,
    /// The window takes an insertion in this cycle.
    pub ins_ready: bool,
}

/// Outputs of one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpstreamOut {
    /// The beat would be taken.
    pub host_ready: bool,
    /// The kernel is offered to the window.
    pub ins_valid: bool,
    /// The places of the live kernels that it waits for, as far as this beat and those before it say.
    pub places: PlaceSet,
    /// The beat waits because M newer kernels than the oldest that has a place were sent.
    pub stall_limit: bool,
}

/// The model: one step per clock.
#[derive(Clone, Debug)]
pub struct UpstreamLoadModel {
    params: UpstreamParams,
    /// Places named by the beats of the present kernel that came before this one.
    gathered: PlaceSet,
}

impl UpstreamLoadModel {
    /// No beat taken yet.
    pub fn new(params: UpstreamParams) -> Self {
        Self { params, gathered: 0 }
    }

    /// One cycle with what stands on the host's ports, `valid` or not: the outputs, then the clock edge.
    pub fn cycle(&mut self, rst_ni: bool, beat: HostBeat, valid: bool, view: &WindowView) -> UpstreamOut {
        let (id, last) = match beat {
            HostBeat::Ids { id, last, .. } => (id, last),
            HostBeat::Mask { id, .. } => (id, true),
        };
        let blocked = self.blocked(id, view);
        let out = UpstreamOut {
            host_ready: !blocked && (!last || view.ins_ready),
            ins_valid: valid && last && !blocked,
            places: self.places(beat, view),
            stall_limit: valid && blocked,
        };
        self.gathered = match (valid && out.host_ready, last) {
            _ if !rst_ni => 0,
            (true, true) => 0,
            (true, false) => shifted(out.places, view.shift),
            (false, _) => shifted(self.gathered & view.live, view.shift),
        };
        out
    }

    /// True where M kernels newer than the oldest that has a place were sent before kernel `id`.
    fn blocked(&self, id: u8, view: &WindowView) -> bool {
        view.oldest.is_some_and(|oldest| {
            let newer = id.wrapping_sub(oldest).wrapping_sub(1);
            usize::from(newer) >= self.params.scheduled()
        })
    }

    /// The places of the live kernels that the kernel waits for, as far as this beat and those before it say.
    fn places(&self, beat: HostBeat, view: &WindowView) -> PlaceSet {
        let named = |kernel: u8| match beat {
            HostBeat::Ids { upstream, .. } => upstream.contains(&Some(kernel)),
            HostBeat::Mask { id, upstream } => {
                let j = usize::from(id.wrapping_sub(1).wrapping_sub(kernel));
                j < self.params.scheduled() && upstream[j / 32] >> (j % 32) & 1 == 1
            }
        };
        let named = ones(view.live).filter(|&p| view.ids.get(p).is_some_and(|id| named(*id)));
        named.fold(view.live & self.gathered, |set, p| set | one_hot(Some(p)))
    }
}

/// The model behind flat words.
pub struct FlatUpstreamLoad {
    model: UpstreamLoadModel,
    ports: Vec<Port>,
    outputs: Layout,
    rst_ni: Option<Slot>,
    host: [Slot; 2],
    beat: BeatSlots,
    view: [Slot; 4],
    place_id: Vec<Slot>,
    place_shift: Option<Slot>,
}

enum BeatSlots {
    Ids { last: Slot, valid: Vec<Slot>, id: Vec<Slot> },
    Mask(Slot),
}

impl FlatUpstreamLoad {
    /// The model with `params`, behind the hardware's `ports`.
    pub fn new(params: UpstreamParams, ports: Vec<Port>) -> Result<Self, MissingPort> {
        let inputs = Layout::new(&ports, Direction::Input);
        let outputs = Layout::new(&ports, Direction::Output);
        let beat = match params.encoding() {
            Encoding::Ids { lanes } => BeatSlots::Ids {
                last: find(&inputs, "host_last_i")?,
                valid: find_all(&inputs, "host_up_valid_i", lanes)?,
                id: find_all(&inputs, "host_up_id_i", lanes)?,
            },
            Encoding::Mask => BeatSlots::Mask(find(&inputs, "host_up_i")?),
        };
        Ok(Self {
            model: UpstreamLoadModel::new(params),
            rst_ni: inputs.slot("rst_ni"),
            host: [find(&inputs, "host_valid_i")?, find(&inputs, "host_id_i")?],
            beat,
            view: [
                find(&inputs, "ins_ready_i")?,
                find(&inputs, "place_live_i")?,
                find(&inputs, "oldest_valid_i")?,
                find(&inputs, "oldest_id_i")?,
            ],
            place_shift: inputs.slot("place_shift_i"),
            place_id: find_all(&inputs, "place_id_i", params.slots())?,
            ports,
            outputs,
        })
    }
}

impl CycleModel for FlatUpstreamLoad {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, words: &[u32], out_words: &mut [u32]) -> Result<(), CycleError> {
        let bit = |slot: Slot| slot.get(words) != 0;
        let byte = |slot: Slot| slot.get(words) as u8;
        let id = byte(self.host[1]);
        let beat = match &self.beat {
            BeatSlots::Ids { last, valid, id: ids } => {
                let mut upstream = [None; 8];
                for ((to, valid), id) in upstream.iter_mut().zip(valid).zip(ids) {
                    *to = bit(*valid).then(|| byte(*id));
                }
                HostBeat::Ids { id, upstream, last: bit(*last) }
            }
            BeatSlots::Mask(mask) => {
                let mut upstream = [0; 8];
                for (to, from) in upstream.iter_mut().zip(mask.slice(words)) {
                    *to = *from;
                }
                HostBeat::Mask { id, upstream }
            }
        };
        let [ins_ready, live, oldest_valid, oldest_id] = self.view;
        let ids: Vec<u8> = self.place_id.iter().map(|s| byte(*s)).collect();
        let view = WindowView {
            live: live.get(words),
            shift: self.place_shift.map_or(0, |slot| slot.get(words)),
            ids: &ids,
            oldest: bit(oldest_valid).then(|| byte(oldest_id)),
            ins_ready: bit(ins_ready),
        };
        let valid = bit(self.host[0]);
        let rst_ni = self.rst_ni.is_none_or(bit);
        let out = self.model.cycle(rst_ni, beat, valid, &view);

        let fault = |missing: MissingPort| CycleError { cycle: 0, message: missing.to_string() };
        out_words.fill(0);
        for (name, value) in [
            ("host_ready_o", u128::from(out.host_ready)),
            ("ins_valid_o", out.ins_valid.into()),
            ("ins_id_o", id.into()),
            ("ins_up_o", out.places),
            ("stall_limit_o", out.stall_limit.into()),
        ] {
            find(&self.outputs, name).map_err(fault)?.set(out_words, value);
        }
        Ok(())
    }
}
