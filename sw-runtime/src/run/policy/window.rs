//! A scheduling window decides: hardware, its model, or software. The host sends packets, kernels that it offers go to streams, and those that
//! have ended go back to it.

use super::{Meter, RunError, Silence};
use crate::host::{Encoding, Packet, Upstream};
use crate::run::device::Device;
use crate::run::hazards::{Checker, Declarations};
use crate::run::program::Program;
use crate::window::SoftwareWindow;
use crate::words::counted;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use windlass_hazards::Slot;

/// What a step of a [`Decider`] led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The packet was taken; otherwise it is to be given again.
    pub taken: bool,
    /// A kernel that is to start, by its id. Only where the step was `ready` for one.
    pub started: Option<u8>,
    /// Of the ids given as retired, so many were taken, from the first on.
    pub retired: usize,
    /// Nothing more will happen until a packet that can be taken, a retirement or readiness comes.
    pub settled: bool,
}

/// What decides which kernel starts: a window that knows of each kernel its id and upstream only.
pub trait Decider {
    /// What it is, for reports.
    fn name(&self) -> String;

    /// How packets name upstream kernels.
    fn encoding(&self) -> Encoding;

    /// Length M of the host's list: it lets no kernel in while one that was sent more than M before is unfinished; 8 to 255.
    fn scheduled(&self) -> usize;

    /// Forgets everything.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    fn reset(&mut self) -> Result<(), String>;

    /// One step, of hardware one clock: with the packet that waits, the kernels that have ended since, and whether a kernel can be started.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    fn step(&mut self, packet: Option<&Packet>, retired: &[u8], ready: bool) -> Result<Decision, String>;
}

/// The window in plain software: any number of retirements, one packet and one start a step.
#[derive(Clone, Debug)]
pub struct SoftwareDecider {
    slots: NonZeroUsize,
    window: SoftwareWindow,
    /// The kernel that has each id.
    kernels: [u32; 256],
}

impl SoftwareDecider {
    /// Length of the host's list.
    const SCHEDULED: usize = 128;

    /// So many slots.
    pub fn new(slots: NonZeroUsize) -> Self {
        Self { slots, window: SoftwareWindow::new(Some(slots)), kernels: [0; 256] }
    }

    fn limit(&self, kernel: u32) -> bool {
        self.window.oldest().is_some_and(|oldest| kernel.saturating_sub(oldest) > Self::SCHEDULED as u32)
    }
}

impl Decider for SoftwareDecider {
    fn name(&self) -> String {
        format!("software, {}", counted(self.slots.get(), "slot"))
    }

    fn encoding(&self) -> Encoding {
        Encoding::Mask
    }

    fn scheduled(&self) -> usize {
        Self::SCHEDULED
    }

    fn reset(&mut self) -> Result<(), String> {
        self.window = SoftwareWindow::new(Some(self.slots));
        Ok(())
    }

    fn step(&mut self, packet: Option<&Packet>, retired: &[u8], ready: bool) -> Result<Decision, String> {
        for id in retired {
            self.window.retire(self.kernels[usize::from(*id)]).map_err(|e| e.to_string())?;
        }
        let mut decision = Decision { retired: retired.len(), ..Decision::default() };
        if let Some(packet) = packet.filter(|p| !self.window.is_full() && !self.limit(p.kernel)) {
            let distances = packet.upstream.distances(packet.id);
            let upstream: Vec<u32> =
                distances.iter().map(|d| packet.kernel.wrapping_sub((*d).into())).collect();
            self.window.insert(packet.kernel, &upstream).map_err(|e| e.to_string())?;
            self.kernels[usize::from(packet.id)] = packet.kernel;
            decision.taken = true;
        }
        if let Some(kernel) = self.window.next_ready().filter(|_| ready) {
            self.window.dispatch(kernel).map_err(|e| e.to_string())?;
            decision.started = Some((kernel % 256) as u8);
        }
        decision.settled = !decision.taken && decision.started.is_none();
        Ok(decision)
    }
}

/// The host's list of the last M kernels sent, with the hazard engine to compare with all of them at once.
struct Sender<'a> {
    checker: Checker<'a>,
    encoding: Encoding,
    scheduled: usize,
    /// The list, oldest first.
    sent: VecDeque<(u32, Slot)>,
}

impl Sender<'_> {
    /// The packet of the next kernel; `None` where the list has no room before an old kernel has ended.
    fn packet(&mut self, kernel: u32, ended: &[bool]) -> Result<Option<Packet>, RunError> {
        // The kernel sent exactly M before this one may be unfinished when this one goes in.
        while self.sent.len() > self.scheduled {
            self.drop_oldest()?;
        }
        let slot = loop {
            if let Some(slot) = self.checker.insert(kernel)? {
                break slot;
            }
            // The engine is full of segments, and not of kernels: what leaves the list early must have ended.
            match self.sent.front() {
                Some((oldest, _)) if ended[*oldest as usize] => self.drop_oldest()?,
                _ => return Ok(None),
            }
        };
        let id = (kernel % 256) as u8;
        let distances = self.checker.upstream.iter().rev().map(|(u, _)| (kernel - u) as u8);
        let upstream = match self.encoding {
            Encoding::Ids => Upstream::Ids(distances.map(|d| id.wrapping_sub(d)).collect()),
            Encoding::Mask => {
                let mut words = [0; 8];
                for d in distances {
                    words[usize::from((d - 1) / 32)] |= 1 << ((d - 1) % 32);
                }
                Upstream::Mask(words)
            }
        };
        self.sent.push_back((kernel, slot));
        Ok(Some(Packet { kernel, id, upstream }))
    }

    /// In program order each is ready to go.
    fn drop_oldest(&mut self) -> Result<(), RunError> {
        if let Some((_, slot)) = self.sent.pop_front() {
            self.checker.retire(slot, |_, _| {})?;
        }
        Ok(())
    }
}

/// Polls without an answer after which faults are asked for.
const PATIENCE: u32 = 256;

/// Steps in which nothing is taken, started or retired after which a decider that does not settle is taken for settled. The slowest window
/// needs some hundred clocks for one kernel.
const STANDSTILL: u32 = 100_000;

pub(super) fn run(
    device: &dyn Device,
    program: &Program,
    declared: &Declarations,
    decider: &mut dyn Decider,
    meter: &mut Meter,
) -> Result<(), RunError> {
    let scheduled = decider.scheduled();
    // The list, and the kernel that is compared with it.
    let checker = Checker::new(declared, scheduled + 1)?;
    let mut sender = Sender { checker, encoding: decider.encoding(), scheduled, sent: VecDeque::new() };
    decider.reset().map_err(RunError::Decider)?;
    let mut ended = vec![false; program.kernels().len()];
    // The kernel that has each id, and the kernel that each stream runs, with the stream's last mark.
    let mut ids = [0u32; 256];
    let mut streams: Vec<(Option<u32>, u32)> = vec![(None, 0); device.streams() as usize];
    let mut retired: Vec<u8> = Vec::new();
    // For the ids of kernels that were taken and have not started, how far back in the stream those are that they wait for.
    let mut waiting: [Option<Vec<u8>>; 256] = [const { None }; 256];
    let (mut polls, mut still) = (0, 0u32);
    let mut silence = Silence::new();
    meter.start(device);
    for section in program.sections() {
        let mut packet: Option<Packet> = None;
        let (mut next, mut left) = (section.start as u32, section.len());
        while left > 0 {
            for (n, (kernel, mark)) in streams.iter_mut().enumerate() {
                if let Some(k) = *kernel
                    && device.progress(n as u32) >= *mark
                {
                    *kernel = None;
                    retired.push((k % 256) as u8);
                    ended[k as usize] = true;
                    if polls >= PATIENCE {
                        silence.broken();
                    }
                    polls = 0;
                }
            }
            // Its id may be in use still: with a list of 255, the kernel 256 before has not always started.
            let id_is_free = next.checked_sub(256).is_none_or(|k| ended[k as usize]);
            if packet.is_none() && (next as usize) < section.end && id_is_free {
                packet = sender.packet(next, &ended)?;
                if let Some(packet) = &packet {
                    ids[usize::from(packet.id)] = next;
                    next += 1;
                }
            }
            let free = streams.iter().position(|(kernel, _)| kernel.is_none());
            let decision =
                decider.step(packet.as_ref(), &retired, free.is_some()).map_err(RunError::Decider)?;
            still = still.saturating_add(1);
            if decision.taken
                && let Some(packet) = packet.take()
            {
                waiting[usize::from(packet.id)] = Some(packet.upstream.distances(packet.id));
                still = 0;
            }
            let gone = decision.retired.min(retired.len());
            if gone > 0 {
                retired.drain(..gone);
                left -= gone;
                still = 0;
            }
            if let (Some(id), Some(stream)) = (decision.started, free) {
                let Some(upstream) = waiting[usize::from(id)].take() else {
                    let what = format!("it starts id {id}, which no kernel that waits has");
                    return Err(RunError::Decider(what));
                };
                let k = ids[usize::from(id)];
                let before = upstream.into_iter().map(|distance| k - u32::from(distance));
                if let Some(u) = before.into_iter().find(|u| !ended[*u as usize]) {
                    let what = format!(
                        "it starts kernel {k} before kernel {u}, which that one waits for, has ended"
                    );
                    return Err(RunError::Decider(what));
                }
                still = 0;
                let (kernel, mark) = &mut streams[stream];
                *mark += 1;
                *kernel = Some(k);
                device.launch(stream as u32, k, false)?;
                device.mark(stream as u32, *mark)?;
                meter.counts.launches += 1;
                meter.counts.marks += 1;
            } else if (decision.settled && retired.is_empty()) || still >= STANDSTILL {
                // Only the device can go on from here.
                let Some(busy) = streams.iter().position(|(kernel, _)| kernel.is_some()) else {
                    if left > 0 {
                        return Err(RunError::Stuck { left });
                    }
                    continue;
                };
                polls += 1;
                if polls == PATIENCE {
                    silence.broken();
                } else if polls % PATIENCE == 0 {
                    silence.watch(device, busy as u32)?;
                } else {
                    std::hint::spin_loop();
                }
            }
        }
        while !sender.sent.is_empty() {
            sender.drop_oldest()?;
        }
    }
    Ok(())
}
