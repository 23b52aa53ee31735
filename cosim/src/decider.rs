//! The generated scheduler as what decides the order of kernels that really run (`windlass run --policy window`).

use crate::engine::{self, DispatcherKind, EngineError, comparable, library, library_of};
use crate::lockstep::Lockstep;
use crate::policy::beats;
use crate::verilator::{BuildSpec, InstanceOptions, Optimise};
use std::collections::VecDeque;
use windlass_catalog::BlockSpec;
use windlass_gen::rtl::Rtl;
use windlass_rtl::kernel_scheduler::{HostBeat, SchedulerIn, SchedulerPorts};
use windlass_rtl::model::CycleModel;
use windlass_rtl::params::{self, SchedulerParams};
use windlass_rtl::port::{Direction, Layout};
use windlass_runtime::host::{self, Packet};
use windlass_runtime::run::{Decider, Decision};

/// Clocks without a transfer on any channel after which the scheduler has settled: its longest pipeline, from a beat to an offer,
/// is shorter. List windows say themselves that they are busy.
const QUIET: u32 = 8;

/// The same of somebody's own, whose pipelines nobody knows here.
const QUIET_OF_OWN: u32 = 64;

/// A `kernel_scheduler`, one clock per step: Verilog, its golden model, or both in lockstep.
pub struct SchedulerDecider {
    name: String,
    params: SchedulerParams,
    model: Box<dyn CycleModel>,
    ports: SchedulerPorts,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    /// Of the packet that is being sent.
    beats: VecDeque<HostBeat>,
    /// The slot of each id that was offered.
    slots: [u8; 256],
    /// Slots whose kernels have ended.
    ended: VecDeque<u8>,
    quiet: u32,
    /// [`QUIET`], or [`QUIET_OF_OWN`].
    settles_after: u32,
    cycles: u64,
}

impl SchedulerDecider {
    /// Makes the scheduler with `params`; `rtl` is its Verilog, where it is not what is emitted. Such a one has settled where nothing has
    /// moved at its ports for 64 clocks, and it is not busy.
    ///
    /// # Errors
    /// Where its Verilog cannot be built or loaded; the golden model needs nothing, and takes no `rtl`.
    pub fn new(
        kind: DispatcherKind,
        params: SchedulerParams,
        rtl: Option<&Rtl>,
    ) -> Result<Self, EngineError> {
        let spec = BlockSpec::KernelScheduler(params);
        if let (DispatcherKind::Both, Some(rtl)) = (kind, rtl) {
            comparable(rtl)?;
        }
        let verilog = || -> Result<(String, Box<dyn CycleModel>), EngineError> {
            let long = |build: BuildSpec| build.optimise(Optimise::Long);
            let library = rtl.map_or_else(|| library(spec, long), |rtl| library_of(rtl, long))?;
            let instance = library.instance(InstanceOptions::default())?;
            Ok((library.verilator_version().to_string(), Box::new(instance)))
        };
        let hardware = engine::hardware_name(rtl);
        let (name, model): (_, Box<dyn CycleModel>) = match kind {
            DispatcherKind::Behavioural => ("behavioural".into(), spec.model()),
            DispatcherKind::Hardware => {
                let (version, model) = verilog()?;
                (format!("{hardware} ({version})"), model)
            }
            DispatcherKind::Both => {
                let (version, model) = verilog()?;
                let both = Lockstep::new(vec![("model".into(), spec.model()), ("verilog".into(), model)])?;
                (format!("{hardware} and behavioural in lockstep ({version})"), Box::new(both))
            }
        };
        let all = model.ports();
        let inputs = Layout::new(&all, Direction::Input);
        let outputs = Layout::new(&all, Direction::Output);
        let ports = SchedulerPorts::new(params, &inputs, &outputs).map_err(EngineError::Ports)?;
        Ok(Self {
            name,
            params,
            model,
            inputs: vec![0; inputs.words()],
            outputs: vec![0; outputs.words()],
            ports,
            beats: VecDeque::new(),
            slots: [0; 256],
            ended: VecDeque::new(),
            quiet: 0,
            settles_after: if rtl.is_some() { QUIET_OF_OWN } else { QUIET },
            cycles: 0,
        })
    }

    /// Clocks since the last reset.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    fn cycle(&mut self, input: &SchedulerIn) -> Result<windlass_rtl::kernel_scheduler::SchedulerOut, String> {
        self.inputs.fill(0);
        self.ports.pack(input, &mut self.inputs);
        self.model.cycle(&self.inputs, &mut self.outputs).map_err(|e| e.to_string())?;
        self.cycles += 1;
        Ok(self.ports.unpack(&self.outputs))
    }
}

impl Decider for SchedulerDecider {
    fn name(&self) -> String {
        format!("{}, {} window, {} slots", self.name, self.params.kind().name(), self.params.window().slots())
    }

    fn encoding(&self) -> host::Encoding {
        match self.params.upstream().encoding() {
            params::Encoding::Ids { .. } => host::Encoding::Ids,
            params::Encoding::Mask => host::Encoding::Mask,
        }
    }

    fn scheduled(&self) -> usize {
        self.params.upstream().scheduled()
    }

    fn reset(&mut self) -> Result<(), String> {
        self.beats.clear();
        self.ended.clear();
        self.cycle(&SchedulerIn::RESET)?;
        (self.quiet, self.cycles) = (0, 0);
        Ok(())
    }

    fn step(&mut self, packet: Option<&Packet>, retired: &[u8], ready: bool) -> Result<Decision, String> {
        let mut decision = Decision { retired: retired.len(), ..Decision::default() };
        self.ended.extend(retired.iter().map(|id| self.slots[usize::from(*id)]));
        if let Some(packet) = packet.filter(|_| self.beats.is_empty()) {
            self.beats = beats(packet.id, &packet.upstream, self.params.upstream().encoding());
            decision.taken = true;
            self.quiet = 0;
        }
        let mut input =
            SchedulerIn { host: self.beats.front().copied(), disp_ready: ready, ..SchedulerIn::IDLE };
        let ports = self.params.window().retire_ports();
        for (port, slot) in input.retire.iter_mut().zip(&self.ended).take(ports) {
            *port = Some(*slot);
        }
        let out = self.cycle(&input)?;
        if out.retire_error {
            return Err("it refuses a retirement: the slot's kernel was not dispatched".into());
        }
        self.quiet += 1;
        if input.host.is_some() && out.host_ready {
            self.beats.pop_front();
            self.quiet = 0;
        }
        if let Some(offer) = out.offer.filter(|_| ready) {
            self.slots[usize::from(offer.id)] = offer.slot;
            decision.started = Some(offer.id);
            self.quiet = 0;
        }
        // From the last port on, so that positions stay right.
        for port in (0..ports.min(self.ended.len())).rev() {
            if out.retire_ready[port] {
                self.ended.remove(port);
                self.quiet = 0;
            }
        }
        decision.settled = self.quiet >= self.settles_after && !out.busy && self.ended.is_empty();
        Ok(decision)
    }
}
