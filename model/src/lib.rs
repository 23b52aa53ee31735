//! A front end for simulators of GPUs: kernels go in, CTAs come out on SMs, completions go back, clock by clock.
//!
//! What decides is the golden model of the block `front_end`, which the project holds in lockstep with its Verilog: in every cycle it does what
//! the hardware does. Around it are the two sides that a simulator would have to write first: the host's list, which compares the memory of a new
//! kernel with that of the last M kernels (ACE, section 4.3), and a queue for each completion port. It knows no SM: how long a CTA runs is the
//! simulator's.
//!
//! ```
//! use windlass_model::params::{ArbiterKind, Encoding, SchedulerParams, SmLimits, SmParams, WindowKind};
//! use windlass_model::{CtaNeeds, FrontEnd, FrontEndParams, Kernel, Segment};
//! let scheduler = SchedulerParams::new(WindowKind::Matrix, 32, 2, 128, Encoding::Ids { lanes: 4 })?;
//! let sms = SmParams::new(132, SmLimits::H100)?;
//! let mut front_end = FrontEnd::new(FrontEndParams::new(scheduler, ArbiterKind::Typed { active: 2 }, sms)?)?;
//! let needs = CtaNeeds { warps: 8, registers: 64, smem: 0 };
//! let [a, b] = [0x1000, 0x2000].map(|addr| Segment { addr, bytes: 4096 });
//! front_end.launch(Kernel { grid: 3, needs, tag: 7, ..Kernel::default() }, &[a], &[b])?;
//! front_end.launch(Kernel { grid: 2, needs, tag: 8, ..Kernel::default() }, &[b], &[a])?; // waits for the first
//! let mut running: Vec<(u64, u8, u8)> = Vec::new(); // the cycle in which it ends, SM, slot
//! let mut retired = Vec::new();
//! while !front_end.is_idle() {
//!     let now = front_end.cycles();
//!     while let Some(at) = running.iter().position(|(end, ..)| *end == now) {
//!         let (_, sm, slot) = running.swap_remove(at);
//!         front_end.ended(sm, slot)?;
//!     }
//!     let cycle = front_end.cycle(u8::MAX);
//!     running.extend(cycle.ctas.iter().map(|cta| (now + 100, cta.sm, cta.slot)));
//!     retired.extend(cycle.retired.iter().map(|kernel| kernel.tag));
//! }
//! assert_eq!(retired, [7, 8]);
//! # Ok::<(), windlass_model::Error>(())
//! ```

pub use windlass_rtl::front_end::{CtaNeeds, CtaType};
pub use windlass_rtl::params::{self, FrontEndParams};
pub use windlass_runtime::ktrace::Segment;

use std::collections::VecDeque;
use thiserror::Error;
use windlass_rtl::front_end::{CtaDone, FrontEndIn, FrontEndModel, Launch, PartitionWrite};
use windlass_rtl::kernel_scheduler::HostBeat;
use windlass_rtl::params::{DONE_PORTS, Encoding, PARTITIONS, ParamError};
use windlass_runtime::host::{self, HazardRule, HostError, ScheduledList, Upstream};
use windlass_runtime::ktrace::{self, KernelType};

/// What a front end is not to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A CTA that no SM can hold, or one without a warp or registers.
    #[error(
        "a CTA needs {} warps, {} units of registers and {} of shared memory; an SM has {warps}, {registers} and {smem}, and a CTA has at least 1 warp and 1 unit of registers",
        .needs.warps, .needs.registers, .needs.smem
    )]
    Needs {
        /// What was asked for.
        needs: CtaNeeds,
        /// What an empty SM has.
        warps: u16,
        /// The same.
        registers: u16,
        /// The same.
        smem: u16,
    },
    /// There are eight.
    #[error("partition {got}: they are 0 to {}", PARTITIONS - 1)]
    Partition {
        /// What was asked for.
        got: u8,
    },
    /// It is not before the kernel that is to wait for it.
    #[error("kernel {upstream} is to be waited for, and {launched} were launched so far, from 0")]
    Upstream {
        /// What was named.
        upstream: u64,
        /// Kernels so far.
        launched: u64,
    },
    /// Nothing of the kind runs there.
    #[error(
        "no CTA of slot {slot} runs on SM {sm}; say of each CTA once that it has ended, as `cycle` gave it"
    )]
    NotRunning {
        /// The SM.
        sm: u8,
        /// The kernel's slot.
        slot: u8,
    },
    /// Kernels are under way.
    #[error("{} kernels have not retired; go on until the front end is idle", .0)]
    NotIdle(u64),
    /// The host's list.
    #[error(transparent)]
    Host(#[from] HostError),
    /// There is no such front end.
    #[error(transparent)]
    Params(#[from] ParamError),
}

/// A kernel to be launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// The simulator's own name for it.
    pub tag: u64,
    /// CTAs; a kernel without any only keeps an order.
    pub grid: u32,
    /// Which pipes its CTAs use.
    pub kind: CtaType,
    /// Which SMs it may use: partition 0 to 7. All SMs are in each until [`FrontEnd::partition`] says otherwise.
    pub partition: u8,
    /// What each CTA takes on its SM, beside a CTA slot, in the units of the front end's [`SmLimits`](params::SmLimits).
    pub needs: CtaNeeds,
}

/// A kernel that was launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launched {
    /// Which one, from 0, in the order of their launches.
    pub number: u64,
    /// As it was launched with.
    pub tag: u64,
}

/// A CTA that begins on an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cta {
    /// Whose it is.
    pub kernel: Launched,
    /// Its number in the grid.
    pub index: u32,
    /// Where.
    pub sm: u8,
    /// Its kernel's slot, for [`FrontEnd::ended`].
    pub slot: u8,
    /// The port that it came on.
    pub port: u8,
}

/// Why the host's packet was not taken in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// M newer kernels than the oldest in the window were sent.
    Limit,
    /// The window is full.
    Full,
    /// The window walks its lists.
    Busy,
}

/// What happened in a cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// CTAs that begin, on ports that were ready.
    pub ctas: Vec<Cta>,
    /// A kernel came into the window.
    pub entered: Option<Launched>,
    /// A kernel whose upstream has retired went from the window to the CTA arbiters.
    pub dispatched: Option<Launched>,
    /// Kernels that retired: all their CTAs have ended, and those that waited for them alone may go.
    pub retired: Vec<Launched>,
    /// A packet waited.
    pub stall: Option<Stall>,
    /// Kernels in the window.
    pub window: u8,
}

/// What the host is to send, in order.
#[derive(Clone, Debug)]
enum Sent {
    Kernel { beats: VecDeque<HostBeat>, launch: Launch, kernel: Launched },
    Partition(PartitionWrite),
}

/// A front end, with the host's list before it and queues of completions behind it.
#[derive(Clone, Debug)]
pub struct FrontEnd {
    params: FrontEndParams,
    model: FrontEndModel,
    list: ScheduledList,
    queue: VecDeque<Sent>,
    ended: [VecDeque<CtaDone>; DONE_PORTS],
    /// Kernels that are in the window, by id; and the dispatched ones' ids, by slot.
    by_id: Vec<Launched>,
    by_slot: Vec<u8>,
    /// CTAs that run, by SM and slot.
    running: Vec<u32>,
    launched: u64,
    retired: u64,
    cycles: u64,
    last: Cycle,
}

impl FrontEnd {
    /// One that was just reset.
    ///
    /// # Errors
    /// [`Error::Host`] where the parameters have no list of the host's.
    pub fn new(params: FrontEndParams) -> Result<Self, Error> {
        let upstream = params.scheduler().upstream();
        let encoding = match upstream.encoding() {
            Encoding::Ids { .. } => host::Encoding::Ids,
            Encoding::Mask => host::Encoding::Mask,
        };
        let (slots, sms) = (params.dispatch().slots(), params.dispatch().sms().sms());
        let mut model = FrontEndModel::new(params);
        model.cycle(&FrontEndIn::RESET);
        Ok(Self {
            model,
            list: ScheduledList::new(upstream.scheduled(), encoding, HazardRule::Exact)?,
            params,
            queue: VecDeque::new(),
            ended: Default::default(),
            by_id: vec![Launched::default(); 256],
            by_slot: vec![0; slots],
            running: vec![0; slots * sms],
            launched: 0,
            retired: 0,
            cycles: 0,
            last: Cycle::default(),
        })
    }

    /// What it is.
    pub fn params(&self) -> FrontEndParams {
        self.params
    }

    /// Launches a kernel, next in program order, with the memory that it reads and writes. It waits for those of the last M that it has a hazard
    /// with (RAW, WAR, WAW, exact to the byte). Packets queue up without end; the front end takes a beat per cycle. Gives its number.
    ///
    /// # Errors
    /// [`Error::Needs`], [`Error::Partition`], [`Error::Host`]; nothing was launched then.
    pub fn launch(&mut self, kernel: Kernel, reads: &[Segment], writes: &[Segment]) -> Result<u64, Error> {
        self.check(&kernel)?;
        let packet = self.list.send(&touching(reads, writes))?;
        Ok(self.send(kernel, packet.id, &packet.upstream))
    }

    /// Launches a kernel, next in program order, that waits for these earlier ones, by their numbers, and whose memory is not compared with
    /// anybody's. One that more than M kernels were launched after has retired before this one is taken, and is left out.
    ///
    /// # Errors
    /// As [`FrontEnd::launch`], and [`Error::Upstream`].
    pub fn launch_after(&mut self, kernel: Kernel, upstream: &[u64]) -> Result<u64, Error> {
        self.check(&kernel)?;
        if let Some(&upstream) = upstream.iter().find(|number| **number >= self.launched) {
            return Err(Error::Upstream { upstream, launched: self.launched });
        }
        let most = self.params.scheduler().upstream().scheduled() as u64;
        let mut before: Vec<u8> = upstream
            .iter()
            .map(|number| self.launched - number)
            .filter(|d| *d <= most)
            .map(|d| d as u8)
            .collect();
        before.sort_unstable();
        before.dedup();
        // It has its place in the list.
        let packet = self.list.send(&touching(&[], &[]))?;
        let upstream = match packet.upstream {
            Upstream::Ids(_) => Upstream::Ids(before.iter().map(|d| packet.id.wrapping_sub(*d)).collect()),
            Upstream::Mask(mut words) => {
                before.iter().for_each(|d| words[usize::from(d - 1) / 32] |= 1 << ((d - 1) % 32));
                Upstream::Mask(words)
            }
        };
        Ok(self.send(kernel, packet.id, &upstream))
    }

    fn check(&self, kernel: &Kernel) -> Result<(), Error> {
        let limits = self.params.dispatch().sms().limits();
        if kernel.grid > 0 && !kernel.needs.fit(limits) {
            return Err(Error::Needs {
                needs: kernel.needs,
                warps: limits.warps(),
                registers: limits.registers(),
                smem: limits.smem(),
            });
        }
        in_partitions(kernel.partition)
    }

    fn send(&mut self, kernel: Kernel, id: u8, upstream: &Upstream) -> u64 {
        let Kernel { tag, grid, kind, partition, needs } = kernel;
        let beats = match upstream {
            Upstream::Mask(upstream) => [HostBeat::Mask { id, upstream: *upstream }].into(),
            Upstream::Ids(ids) => {
                let lanes = match self.params.scheduler().upstream().encoding() {
                    Encoding::Ids { lanes } => lanes,
                    Encoding::Mask => 1,
                };
                HostBeat::of_ids(id, ids, lanes).collect()
            }
        };
        let number = self.launched;
        self.launched += 1;
        let launch = Launch { grid, kind, partition, needs };
        self.queue.push_back(Sent::Kernel { beats, launch, kernel: Launched { number, tag } });
        number
    }

    /// Says which SMs are in a partition: those of which `member` is true. It is written, 32 SMs at a time, once all that was launched before
    /// has been taken; CTAs that run stay where they are.
    ///
    /// # Errors
    /// [`Error::Partition`].
    pub fn partition(&mut self, partition: u8, member: impl Fn(u8) -> bool) -> Result<(), Error> {
        in_partitions(partition)?;
        let sms = self.params.dispatch().sms().sms() as u8;
        for word in 0..sms.div_ceil(32) {
            let mask = (0..32)
                .filter(|b| 32 * word + b < sms && member(32 * word + b))
                .fold(0, |mask, b| mask | 1 << b);
            self.queue.push_back(Sent::Partition(PartitionWrite { partition, word, mask }));
        }
        Ok(())
    }

    /// A CTA has ended. Its port takes one completion in a cycle, of the SMs `sm % 4`; others wait.
    ///
    /// # Errors
    /// [`Error::NotRunning`].
    pub fn ended(&mut self, sm: u8, slot: u8) -> Result<(), Error> {
        let at = usize::from(sm) * self.by_slot.len() + usize::from(slot);
        let running = self
            .running
            .get_mut(at)
            .filter(|running| **running > 0 && usize::from(slot) < self.by_slot.len());
        *running.ok_or(Error::NotRunning { sm, slot })? -= 1;
        self.ended[usize::from(sm) % DONE_PORTS].push_back(CtaDone { sm, slot });
        Ok(())
    }

    /// One clock. Bit p of `ready`: the SMs take what is on CTA port p; a CTA that is not taken stays. What has ended is to be said before.
    ///
    /// Ports: of SIMT CTAs the first [`places`](params::DispatchParams::places), of TENSOR CTAs the next; with a single arbiter both come on the
    /// first. Of these, the port of number q has the SMs with `sm % places == q`.
    pub fn cycle(&mut self, ready: u8) -> &Cycle {
        let mut input = FrontEndIn {
            cta_ready: std::array::from_fn(|port| ready >> port & 1 == 1),
            done: std::array::from_fn(|port| self.ended[port].front().copied()),
            ..FrontEndIn::IDLE
        };
        match self.queue.front() {
            Some(Sent::Kernel { beats, launch, .. }) => {
                input.host = beats.front().map(|beat| (*beat, *launch))
            }
            Some(Sent::Partition(write)) => input.partition = Some(*write),
            None => {}
        }
        let out = self.model.cycle(&input);
        debug_assert!(!out.host_error && !out.done_error && !out.scheduler.retire_error);
        self.cycles += 1;
        for (port, ended) in self.ended.iter_mut().enumerate() {
            if out.done_ready[port] {
                ended.pop_front();
            }
        }
        let cycle = &mut self.last;
        cycle.ctas.clear();
        cycle.retired.clear();
        cycle.dispatched = out.scheduler.offer.map(|offer| {
            self.by_slot[usize::from(offer.slot)] = offer.id;
            self.by_id[usize::from(offer.id)]
        });
        for (port, cta) in out.cta.iter().enumerate() {
            let Some(cta) = cta.filter(|_| input.cta_ready[port]) else { continue };
            self.running[usize::from(cta.sm) * self.by_slot.len() + usize::from(cta.slot)] += 1;
            let kernel = self.by_id[usize::from(cta.id)];
            cycle.ctas.push(Cta { kernel, index: cta.index, sm: cta.sm, slot: cta.slot, port: port as u8 });
        }
        let retired = out.retired.into_iter().flatten();
        cycle.retired.extend(retired.map(|slot| self.by_id[usize::from(self.by_slot[usize::from(slot)])]));
        self.retired += cycle.retired.len() as u64;
        cycle.stall = match out.scheduler {
            out if out.stall_limit => Some(Stall::Limit),
            out if out.stall_full => Some(Stall::Full),
            out if out.stall_busy => Some(Stall::Busy),
            _ => None,
        };
        cycle.window = out.scheduler.occupancy;
        cycle.entered = None;
        match self.queue.front_mut() {
            Some(Sent::Kernel { beats, kernel, .. }) if out.scheduler.host_ready => {
                let beat = beats.pop_front();
                if beats.is_empty() {
                    if let Some(HostBeat::Ids { id, .. } | HostBeat::Mask { id, .. }) = beat {
                        self.by_id[usize::from(id)] = *kernel;
                    }
                    cycle.entered = Some(*kernel);
                    self.queue.pop_front();
                }
            }
            Some(Sent::Partition(_)) if out.partition_ready => {
                self.queue.pop_front();
            }
            _ => {}
        }
        &self.last
    }

    /// Cycles so far.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Everything that was launched has retired, and all partitions are written.
    pub fn is_idle(&self) -> bool {
        self.retired == self.launched && self.queue.is_empty() && self.ended.iter().all(VecDeque::is_empty)
    }

    /// Forgets the memory of all kernels, for the host has waited for them: the next ones are not compared with them.
    ///
    /// # Errors
    /// [`Error::NotIdle`].
    pub fn synchronise(&mut self) -> Result<(), Error> {
        match self.launched - self.retired {
            0 => {
                self.list.synchronise();
                Ok(())
            }
            left => Err(Error::NotIdle(left)),
        }
    }
}

fn in_partitions(partition: u8) -> Result<(), Error> {
    match usize::from(partition) < PARTITIONS {
        true => Ok(()),
        false => Err(Error::Partition { got: partition }),
    }
}

/// As the host's list compares kernels.
fn touching(reads: &[Segment], writes: &[Segment]) -> ktrace::Kernel {
    ktrace::Kernel {
        index: 0,
        name: String::new(),
        op: String::new(),
        kind: KernelType::Simt,
        grid: [1; 3],
        block: [1; 3],
        smem: 0,
        regs: None,
        flops: 0,
        mnk: None,
        reads: reads.to_vec(),
        writes: writes.to_vec(),
        traffic: None,
        dur_ns: None,
        stream: 0,
        part: None,
        est: Vec::new(),
    }
}
