//! The scheduler's ports as Rust values: what a host runtime and a device exchange with it in one cycle.

use crate::model::one_hot;
use crate::params::{Encoding, RETIRE_PORTS, SchedulerParams, UpstreamParams};
use crate::port::{Layout, MissingPort, Slot, find, find_all, indexed};

/// Most retire ports a scheduler can have.
pub const MAX_RETIRE_PORTS: usize = *RETIRE_PORTS.end();

/// One beat of the host channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostBeat {
    /// `ids` encoding: up to eight upstream ids; the kernel enters the window with the beat that is `last`.
    Ids {
        /// The kernel's id; the same in all its beats, one more (mod 256) than the kernel before.
        id: u8,
        /// Upstream ids; lanes beyond those of the hardware must be `None`.
        upstream: [Option<u8>; 8],
        /// True on the kernel's last beat.
        last: bool,
    },
    /// `mask` encoding: bit j (word j / 32, bit j % 32) is set where the kernel depends on the one sent j + 1 before it.
    Mask {
        /// The kernel's id, one more (mod 256) than the kernel before.
        id: u8,
        /// The mask, low word first; bits from M up must be zero.
        upstream: [u32; 8],
    },
}

impl HostBeat {
    /// The beats of a kernel of that id, which waits for these, over so many lanes; one where it waits for none.
    pub fn of_ids(id: u8, upstream: &[u8], lanes: usize) -> impl Iterator<Item = Self> {
        let lanes = lanes.clamp(1, 8);
        let count = upstream.len().div_ceil(lanes).max(1);
        (0..count).map(move |i| {
            let mut of_beat = [None; 8];
            for (to, from) in of_beat.iter_mut().zip(upstream.iter().skip(i * lanes).take(lanes)) {
                *to = Some(*from);
            }
            Self::Ids { id, upstream: of_beat, last: i + 1 == count }
        })
    }
}

/// Inputs of one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerIn {
    /// Reset, active low: true in normal operation.
    pub rst_ni: bool,
    /// What the host offers, if anything; to be held until it is taken.
    pub host: Option<HostBeat>,
    /// True where the device takes the offered kernel in this cycle.
    pub disp_ready: bool,
    /// Slots whose kernels retire, one per retire port; to be held until taken.
    pub retire: [Option<u8>; MAX_RETIRE_PORTS],
}

impl SchedulerIn {
    /// Nothing happens: no reset, no host, no retirement, dispatch not ready.
    pub const IDLE: Self =
        Self { rst_ni: true, host: None, disp_ready: false, retire: [None; MAX_RETIRE_PORTS] };

    /// Reset asserted, all else idle.
    pub const RESET: Self = Self { rst_ni: false, ..Self::IDLE };
}

/// A kernel offered for dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The kernel's id.
    pub id: u8,
    /// Its window slot: the tag under which it retires.
    pub slot: u8,
}

/// Outputs of one cycle, read before the clock edge that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SchedulerOut {
    /// The host's beat is taken at the end of this cycle.
    pub host_ready: bool,
    /// The oldest kernel without unfinished upstream, held until taken.
    pub offer: Option<Offer>,
    /// The slot of the kernel that enters the window at the end of this cycle.
    pub inserted: Option<u8>,
    /// Which retire ports are taken at the end of this cycle.
    pub retire_ready: [bool; MAX_RETIRE_PORTS],
    /// Kernels in the window.
    pub occupancy: u8,
    /// Id of the oldest kernel in the window.
    pub oldest: Option<u8>,
    /// The host waits because M newer kernels than the oldest that has a place were sent.
    pub stall_limit: bool,
    /// The host waits because every slot is taken.
    pub stall_full: bool,
    /// The host waits because the window works on an insertion or a retirement.
    pub stall_busy: bool,
    /// The window walks its lists: its state changes without any input.
    pub busy: bool,
    /// A retire port named a slot whose kernel was not dispatched, or the same slot as a lower port; it was ignored.
    pub retire_error: bool,
}

/// The host channel's ports, which the front end has too.
#[derive(Clone, Debug)]
pub(crate) struct HostPorts {
    valid: Slot,
    id: Slot,
    beat: BeatPorts,
}

#[derive(Clone, Debug)]
enum BeatPorts {
    Ids { last: Slot, lanes: Vec<[Slot; 2]> },
    Mask(Slot),
}

impl HostPorts {
    pub(crate) fn new(params: UpstreamParams, inputs: &Layout) -> Result<Self, MissingPort> {
        let beat = match params.encoding() {
            Encoding::Ids { lanes } => BeatPorts::Ids {
                last: find(inputs, "host_last_i")?,
                lanes: find_all(inputs, "host_up_valid_i", lanes)?
                    .into_iter()
                    .zip(find_all(inputs, "host_up_id_i", lanes)?)
                    .map(<[Slot; 2]>::from)
                    .collect(),
            },
            Encoding::Mask => BeatPorts::Mask(find(inputs, "host_up_i")?),
        };
        Ok(Self { valid: find(inputs, "host_valid_i")?, id: find(inputs, "host_id_i")?, beat })
    }

    /// Writes what the host offers into `words`, which are zero. A beat of the other encoding is offered as if it had no upstream.
    pub(crate) fn pack(&self, host: Option<HostBeat>, words: &mut [u32]) {
        self.valid.set(words, u128::from(host.is_some()));
        match (host, &self.beat) {
            (Some(HostBeat::Ids { upstream, last, .. }), BeatPorts::Ids { last: last_slot, lanes }) => {
                last_slot.set(words, u128::from(last));
                for (lane, up) in lanes.iter().zip(upstream) {
                    lane[0].set(words, u128::from(up.is_some()));
                    lane[1].set(words, u128::from(up.unwrap_or(0)));
                }
            }
            (Some(HostBeat::Mask { upstream, .. }), BeatPorts::Mask(mask)) => {
                mask.copy_from(words, &upstream)
            }
            _ => {}
        }
        if let Some(HostBeat::Ids { id, .. } | HostBeat::Mask { id, .. }) = host {
            self.id.set(words, u128::from(id));
        }
    }

    pub(crate) fn unpack(&self, words: &[u32]) -> Option<HostBeat> {
        let bit = |slot: Slot| slot.get(words) != 0;
        let id = self.id.get(words) as u8;
        bit(self.valid).then(|| match &self.beat {
            BeatPorts::Ids { last, lanes } => {
                let mut upstream = [None; 8];
                for (up, lane) in upstream.iter_mut().zip(lanes) {
                    *up = bit(lane[0]).then(|| lane[1].get(words) as u8);
                }
                HostBeat::Ids { id, upstream, last: bit(*last) }
            }
            BeatPorts::Mask(mask) => {
                let mut upstream = [0; 8];
                for (to, from) in upstream.iter_mut().zip(mask.slice(words)) {
                    *to = *from;
                }
                HostBeat::Mask { id, upstream }
            }
        })
    }
}

/// The scheduler's outputs that are the front end's too.
#[derive(Clone, Debug)]
pub(crate) struct StatusPorts {
    host_ready: Slot,
    disp_valid: Slot,
    disp_id: Slot,
    disp_slot: Slot,
    occupancy: Slot,
    oldest_valid: Slot,
    oldest_id: Slot,
    stall_limit: Slot,
    stall_full: Slot,
    stall_busy: Slot,
    busy: Slot,
    retire_error: Slot,
}

impl StatusPorts {
    pub(crate) fn new(outputs: &Layout) -> Result<Self, MissingPort> {
        let output = |name| find(outputs, name);
        Ok(Self {
            host_ready: output("host_ready_o")?,
            disp_valid: output("disp_valid_o")?,
            disp_id: output("disp_id_o")?,
            disp_slot: output("disp_slot_o")?,
            occupancy: output("occupancy_o")?,
            oldest_valid: output("oldest_valid_o")?,
            oldest_id: output("oldest_id_o")?,
            stall_limit: output("stall_limit_o")?,
            stall_full: output("stall_full_o")?,
            stall_busy: output("stall_busy_o")?,
            busy: output("busy_o")?,
            retire_error: output("ret_err_o")?,
        })
    }

    /// Reads all but `retire_ready` and `inserted`.
    pub(crate) fn unpack(&self, words: &[u32]) -> SchedulerOut {
        let bit = |slot: Slot| slot.get(words) != 0;
        let byte = |slot: Slot| slot.get(words) as u8;
        SchedulerOut {
            host_ready: bit(self.host_ready),
            offer: bit(self.disp_valid).then(|| Offer { id: byte(self.disp_id), slot: byte(self.disp_slot) }),
            inserted: None,
            retire_ready: [false; MAX_RETIRE_PORTS],
            occupancy: byte(self.occupancy),
            oldest: bit(self.oldest_valid).then(|| byte(self.oldest_id)),
            stall_limit: bit(self.stall_limit),
            stall_full: bit(self.stall_full),
            stall_busy: bit(self.stall_busy),
            busy: bit(self.busy),
            retire_error: bit(self.retire_error),
        }
    }

    /// Writes all but `retire_ready` and `inserted`.
    pub(crate) fn pack(&self, out: &SchedulerOut, words: &mut [u32]) {
        let mut put = |slot: Slot, value: u8| slot.set(words, u128::from(value));
        put(self.host_ready, out.host_ready.into());
        put(self.disp_valid, out.offer.is_some().into());
        put(self.disp_id, out.offer.map_or(0, |o| o.id));
        put(self.disp_slot, out.offer.map_or(0, |o| o.slot));
        put(self.occupancy, out.occupancy);
        put(self.oldest_valid, out.oldest.is_some().into());
        put(self.oldest_id, out.oldest.unwrap_or(0));
        put(self.stall_limit, out.stall_limit.into());
        put(self.stall_full, out.stall_full.into());
        put(self.stall_busy, out.stall_busy.into());
        put(self.busy, out.busy.into());
        put(self.retire_error, out.retire_error.into());
    }
}

/// Translates between the typed form and the flat words of the `kernel_scheduler` block.
#[derive(Clone, Debug)]
pub struct SchedulerPorts {
    inputs: usize,
    outputs: usize,
    rst_ni: Slot,
    host: HostPorts,
    disp_ready: Slot,
    retire: Vec<[Slot; 3]>,
    status: StatusPorts,
    ins_slot: Slot,
}

impl SchedulerPorts {
    /// Finds every port of a scheduler with `params` in the two layouts. Errors name the port that is missing.
    pub fn new(params: SchedulerParams, inputs: &Layout, outputs: &Layout) -> Result<Self, MissingPort> {
        let retire = (0..params.window().retire_ports())
            .map(|r| {
                Ok([
                    find(inputs, &indexed("ret_valid_i", r))?,
                    find(inputs, &indexed("ret_slot_i", r))?,
                    find(outputs, &indexed("ret_ready_o", r))?,
                ])
            })
            .collect::<Result<_, MissingPort>>()?;
        Ok(Self {
            inputs: inputs.words(),
            outputs: outputs.words(),
            rst_ni: find(inputs, "rst_ni")?,
            host: HostPorts::new(params.upstream(), inputs)?,
            disp_ready: find(inputs, "disp_ready_i")?,
            retire,
            status: StatusPorts::new(outputs)?,
            ins_slot: find(outputs, "ins_slot_o")?,
        })
    }

    /// Words of the inputs of a cycle.
    pub fn input_words(&self) -> usize {
        self.inputs
    }

    /// Words of the outputs of a cycle.
    pub fn output_words(&self) -> usize {
        self.outputs
    }

    /// Writes the inputs of a cycle. A beat of the other encoding is offered as if it had no upstream.
    pub fn pack(&self, input: &SchedulerIn, words: &mut [u32]) {
        words.fill(0);
        self.rst_ni.set(words, u128::from(input.rst_ni));
        self.host.pack(input.host, words);
        self.disp_ready.set(words, u128::from(input.disp_ready));
        for (slots, retire) in self.retire.iter().zip(input.retire) {
            slots[0].set(words, u128::from(retire.is_some()));
            slots[1].set(words, u128::from(retire.unwrap_or(0)));
        }
    }

    /// Reads the inputs of a cycle back.
    pub fn unpack_inputs(&self, words: &[u32]) -> SchedulerIn {
        let bit = |slot: Slot| slot.get(words) != 0;
        let mut retire = [None; MAX_RETIRE_PORTS];
        for (to, slots) in retire.iter_mut().zip(&self.retire) {
            *to = bit(slots[0]).then(|| slots[1].get(words) as u8);
        }
        SchedulerIn {
            rst_ni: bit(self.rst_ni),
            host: self.host.unpack(words),
            disp_ready: bit(self.disp_ready),
            retire,
        }
    }

    /// Reads the outputs of a cycle.
    pub fn unpack(&self, words: &[u32]) -> SchedulerOut {
        let mut out = self.status.unpack(words);
        for (to, slots) in out.retire_ready.iter_mut().zip(&self.retire) {
            *to = slots[2].get(words) != 0;
        }
        let inserted = self.ins_slot.get(words);
        out.inserted = (inserted != 0).then(|| inserted.trailing_zeros() as u8);
        out
    }

    /// Writes the outputs of a cycle.
    pub fn pack_outputs(&self, out: &SchedulerOut, words: &mut [u32]) {
        words.fill(0);
        self.status.pack(out, words);
        for (slots, ready) in self.retire.iter().zip(out.retire_ready) {
            slots[2].set(words, ready.into());
        }
        self.ins_slot.set(words, one_hot(out.inserted.map(usize::from)));
    }
}
