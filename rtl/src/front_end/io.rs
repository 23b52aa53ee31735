//! The front end's ports as Rust values: what a host runtime and a GPU's SMs exchange with it in one cycle.

use crate::cta_arbiter_typed::model::CtaPorts;
use crate::kernel_scheduler::io::{HostPorts, StatusPorts};
use crate::kernel_scheduler::{HostBeat, SchedulerOut};
use crate::kernel_table::model::LaunchPorts;
use crate::params::{DONE_PORTS, FrontEndParams, MAX_PLACES, RETIRE_PORTS, SmLimits};
use crate::port::{Layout, MissingPort, Slot, find, find_all, indexed};

/// Most CTA channels a front end can have: one per type.
pub const MAX_CTA_CHANNELS: usize = 2;

/// Most CTA ports of all channels.
pub const MAX_CTA_PORTS: usize = MAX_CTA_CHANNELS * MAX_PLACES;

/// Which of an SM's pipes a CTA uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CtaType {
    /// Ordinary lanes, and copies.
    #[default]
    Simt,
    /// Matrix units.
    Tensor,
}

impl CtaType {
    /// The type that a port's bit names.
    pub fn of_bit(bit: bool) -> Self {
        if bit { Self::Tensor } else { Self::Simt }
    }

    /// The bit that names it: high for [`Tensor`](Self::Tensor).
    pub fn bit(self) -> bool {
        self == Self::Tensor
    }
}

/// What one CTA takes on its SM beside a CTA slot, in the units of [`crate::params::SmLimits`]; warps and registers are at least 1,
/// and nothing is more than an empty SM has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CtaNeeds {
    /// Warps, 7 bits.
    pub warps: u16,
    /// Register units, 9 bits.
    pub registers: u16,
    /// Shared memory units, 11 bits.
    pub smem: u16,
}

/// The part of a launch packet that is not about order; read with the kernel's last beat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Launch {
    /// CTAs of the grid; a marker has none.
    pub grid: u32,
    /// The CTAs' type.
    pub kind: CtaType,
    /// The SM partition, 0 to 7.
    pub partition: u8,
    /// What each CTA needs.
    pub needs: CtaNeeds,
}

impl CtaNeeds {
    /// An empty SM has it, and it is a warp and a register unit at least.
    pub fn fit(self, limits: SmLimits) -> bool {
        (1..=limits.warps()).contains(&self.warps)
            && (1..=limits.registers()).contains(&self.registers)
            && self.smem <= limits.smem()
    }
}

/// A CTA has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtaDone {
    /// The SM it ran on; must belong to the channel.
    pub sm: u8,
    /// Its kernel's window slot.
    pub slot: u8,
}

/// 32 SMs of a partition's mask are rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionWrite {
    /// The partition, 0 to 7.
    pub partition: u8,
    /// Which SMs: from 32 times this on, 0 to 5.
    pub word: u8,
    /// Bit b: the partition has SM 32 * word + b.
    pub mask: u32,
}

/// Inputs of one cycle. What is offered on a channel is to be held until it is taken; ports of a channel without offer are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontEndIn {
    /// Reset, active low: true in normal operation.
    pub rst_ni: bool,
    /// What the host offers.
    pub host: Option<(HostBeat, Launch)>,
    /// Of each CTA port, whether the SMs take what is on it.
    pub cta_ready: [bool; MAX_CTA_PORTS],
    /// CTAs that have ended.
    pub done: [Option<CtaDone>; DONE_PORTS],
    /// A partition's mask is rewritten.
    pub partition: Option<PartitionWrite>,
    /// Which [`Counter`] is read.
    pub counter: u8,
}

impl FrontEndIn {
    /// Nothing happens: no reset, no host, no CTA ends; the SMs take what comes.
    pub const IDLE: Self = Self {
        rst_ni: true,
        host: None,
        cta_ready: [true; MAX_CTA_PORTS],
        done: [None; DONE_PORTS],
        partition: None,
        counter: 0,
    };

    /// Reset asserted, all else idle.
    pub const RESET: Self = Self { rst_ni: false, ..Self::IDLE };
}

/// A CTA that goes to an SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CtaOut {
    /// The SM.
    pub sm: u8,
    /// Its kernel's window slot.
    pub slot: u8,
    /// Its kernel's id.
    pub id: u8,
    /// Its number in the grid, from 0.
    pub index: u32,
    /// Its type.
    pub kind: CtaType,
}

/// Outputs of one cycle, read before the clock edge that ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrontEndOut {
    /// The scheduler's: the host's beat is taken, stalls, fill. `offer` is the kernel that is dispatched in this cycle (the table takes
    /// every offer); `retire_ready` is not a port of the front end and false, nor is `inserted`, which the golden model alone fills in.
    pub scheduler: SchedulerOut,
    /// What is on the CTA ports.
    pub cta: [Option<CtaOut>; MAX_CTA_PORTS],
    /// Which completions are taken.
    pub done_ready: [bool; DONE_PORTS],
    /// A completion named a slot of which no CTA runs, or an SM that is not there or another port's, and was ignored; or more of a kernel's CTAs
    /// end at once than it has left.
    pub done_error: bool,
    /// The CTAs of the kernel whose last beat is taken need nothing of what they must, or more than an SM has: it goes on as a marker.
    pub host_error: bool,
    /// The SM array goes on at the end of this cycle: always, but where it stands still while nothing is asked of it.
    pub run: bool,
    /// Slots whose kernels retire at the end of this cycle.
    pub retired: [Option<u8>; *RETIRE_PORTS.end()],
    /// The partition write is taken.
    pub partition_ready: bool,
    /// Value of the counter that was named two cycles ago, as it was one cycle before that; 48 bits.
    pub count: u64,
}

/// What the front end counts, since reset, in 48 bits that wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Counter {
    /// Cycles.
    Cycles,
    /// Sum over cycles of the places of the window in use.
    WindowSum,
    /// Sum over cycles of the CTAs on SMs.
    CtaSum,
    /// Cycles in which a host beat waits for the oldest kernel.
    StallLimit,
    /// Cycles in which a host beat waits for a slot.
    StallFull,
    /// Cycles in which a host beat waits for the window's walk.
    StallBusy,
    /// SIMT CTAs that were taken from their channel.
    PlacedSimt,
    /// TENSOR CTAs that were taken from their channel.
    PlacedTensor,
    /// Cycles in which channel 0 looked at SMs for a CTA and none had room.
    NoRoom0,
    /// The same for channel 1.
    NoRoom1,
    /// Cycles in which a CTA on channel 0 waits for the SM to take it.
    CtaWait0,
    /// The same for channel 1.
    CtaWait1,
    /// Kernels that retired.
    Retired,
}

impl Counter {
    /// All, in the order of their numbers from 0.
    pub const ALL: [Self; 13] = [
        Self::Cycles,
        Self::WindowSum,
        Self::CtaSum,
        Self::StallLimit,
        Self::StallFull,
        Self::StallBusy,
        Self::PlacedSimt,
        Self::PlacedTensor,
        Self::NoRoom0,
        Self::NoRoom1,
        Self::CtaWait0,
        Self::CtaWait1,
        Self::Retired,
    ];
}

/// Translates between the typed form and the flat words of the `front_end` block.
#[derive(Clone, Debug)]
pub struct FrontEndPorts {
    inputs: usize,
    outputs: usize,
    rst_ni: Slot,
    host: HostPorts,
    launch: LaunchPorts,
    cta: Vec<(CtaPorts, Slot)>,
    done: Vec<DonePorts>,
    done_err: Slot,
    host_err: Slot,
    partition: [Slot; 4],
    partition_ready: Slot,
    status: StatusPorts,
    retired: Vec<[Slot; 2]>,
    /// Where the SM array stands still at times.
    run: Option<Slot>,
    count_sel: Slot,
    count: Slot,
}

#[derive(Clone, Copy, Debug)]
struct DonePorts {
    valid: Slot,
    ready: Slot,
    sm: Slot,
    slot: Slot,
}

impl FrontEndPorts {
    /// Finds every port of a front end with `params` in the two layouts. Errors name the port that is missing.
    pub fn new(params: FrontEndParams, inputs: &Layout, outputs: &Layout) -> Result<Self, MissingPort> {
        let cta = |c| {
            let out = CtaPorts::new(outputs, |field| indexed(&format!("cta_{field}_o"), c))?;
            Ok((out, find(inputs, &indexed("cta_ready_i", c))?))
        };
        let done = |p| {
            Ok(DonePorts {
                valid: find(inputs, &indexed("done_valid_i", p))?,
                ready: find(outputs, &indexed("done_ready_o", p))?,
                sm: find(inputs, &indexed("done_sm_i", p))?,
                slot: find(inputs, &indexed("done_slot_i", p))?,
            })
        };
        let retire_ports = params.scheduler().window().retire_ports();
        Ok(Self {
            inputs: inputs.words(),
            outputs: outputs.words(),
            rst_ni: find(inputs, "rst_ni")?,
            host: HostPorts::new(params.scheduler().upstream(), inputs)?,
            launch: LaunchPorts::new(inputs, |field| format!("host_{field}_i"))?,
            cta: (0..params.dispatch().cta_ports()).map(cta).collect::<Result<_, MissingPort>>()?,
            done: (0..DONE_PORTS).map(done).collect::<Result<_, MissingPort>>()?,
            done_err: find(outputs, "done_err_o")?,
            host_err: find(outputs, "host_err_o")?,
            partition: [
                find(inputs, "part_valid_i")?,
                find(inputs, "part_id_i")?,
                find(inputs, "part_word_i")?,
                find(inputs, "part_mask_i")?,
            ],
            partition_ready: find(outputs, "part_ready_o")?,
            status: StatusPorts::new(outputs)?,
            retired: find_all(outputs, "ret_valid_o", retire_ports)?
                .into_iter()
                .zip(find_all(outputs, "ret_slot_o", retire_ports)?)
                .map(<[Slot; 2]>::from)
                .collect(),
            run: match params.dispatch().sms().holds() {
                true => Some(find(outputs, "run_0_o")?),
                false => None,
            },
            count_sel: find(inputs, "count_sel_i")?,
            count: find(outputs, "count_o")?,
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
    pub fn pack(&self, input: &FrontEndIn, words: &mut [u32]) {
        words.fill(0);
        self.rst_ni.set(words, input.rst_ni.into());
        self.host.pack(input.host.map(|(beat, _)| beat), words);
        if let Some((_, launch)) = &input.host {
            self.launch.set(words, launch);
        }
        for ((_, slot), ready) in self.cta.iter().zip(input.cta_ready) {
            slot.set(words, ready.into());
        }
        for (ports, done) in self.done.iter().zip(input.done) {
            ports.valid.set(words, done.is_some().into());
            ports.sm.set(words, done.map_or(0, |d| d.sm).into());
            ports.slot.set(words, done.map_or(0, |d| d.slot).into());
        }
        if let Some(PartitionWrite { partition, word, mask }) = input.partition {
            for (slot, value) in self.partition.iter().zip([1, partition.into(), word.into(), mask]) {
                slot.set(words, value.into());
            }
        }
        self.count_sel.set(words, input.counter.into());
    }

    /// Reads the inputs of a cycle back.
    pub fn unpack_inputs(&self, words: &[u32]) -> FrontEndIn {
        let bit = |slot: Slot| slot.get(words) != 0;
        let byte = |slot: Slot| slot.get(words) as u8;
        let [valid, partition, word, mask] = self.partition;
        let mut input = FrontEndIn {
            rst_ni: bit(self.rst_ni),
            host: self.host.unpack(words).map(|beat| (beat, self.launch.get(words))),
            partition: bit(valid).then(|| PartitionWrite {
                partition: byte(partition),
                word: byte(word),
                mask: mask.get(words) as u32,
            }),
            counter: byte(self.count_sel),
            ..FrontEndIn::IDLE
        };
        for (ready, (_, slot)) in input.cta_ready.iter_mut().zip(&self.cta) {
            *ready = bit(*slot);
        }
        for (done, ports) in input.done.iter_mut().zip(&self.done) {
            *done = bit(ports.valid).then(|| CtaDone { sm: byte(ports.sm), slot: byte(ports.slot) });
        }
        input
    }

    /// Reads the outputs of a cycle.
    pub fn unpack(&self, words: &[u32]) -> FrontEndOut {
        let bit = |slot: Slot| slot.get(words) != 0;
        let mut out = FrontEndOut {
            scheduler: self.status.unpack(words),
            done_error: bit(self.done_err),
            host_error: bit(self.host_err),
            run: self.run.is_none_or(bit),
            partition_ready: bit(self.partition_ready),
            count: self.count.get(words) as u64,
            ..FrontEndOut::default()
        };
        for (cta, (ports, _)) in out.cta.iter_mut().zip(&self.cta) {
            *cta = ports.get(words);
        }
        for (ready, ports) in out.done_ready.iter_mut().zip(&self.done) {
            *ready = bit(ports.ready);
        }
        for (retired, slots) in out.retired.iter_mut().zip(&self.retired) {
            *retired = bit(slots[0]).then(|| slots[1].get(words) as u8);
        }
        out
    }

    /// Writes the outputs of a cycle.
    pub fn pack_outputs(&self, out: &FrontEndOut, words: &mut [u32]) {
        words.fill(0);
        self.status.pack(&out.scheduler, words);
        for ((ports, _), cta) in self.cta.iter().zip(out.cta) {
            ports.set(words, cta);
        }
        for (ports, ready) in self.done.iter().zip(out.done_ready) {
            ports.ready.set(words, ready.into());
        }
        for (slots, retired) in self.retired.iter().zip(out.retired) {
            slots[0].set(words, retired.is_some().into());
            slots[1].set(words, retired.unwrap_or(0).into());
        }
        self.done_err.set(words, out.done_error.into());
        self.host_err.set(words, out.host_error.into());
        self.partition_ready.set(words, out.partition_ready.into());
        if let Some(run) = self.run {
            run.set(words, out.run.into());
        }
        self.count.set(words, out.count.into());
    }
}
