//! What decides in the `window` policy: the golden model, or anything that speaks the flat ports.

use windlass_rtl::kernel_scheduler::model::SchedulerModel;
use windlass_rtl::kernel_scheduler::{SchedulerIn, SchedulerOut, SchedulerPorts};
use windlass_rtl::model::{CycleError, CycleModel};
use windlass_rtl::params::SchedulerParams;
use windlass_rtl::port::{Direction, Layout};

/// A kernel scheduler, one clock at a time.
pub trait SchedulerEngine: Send {
    /// One cycle: the outputs for `input`, then the clock edge.
    fn cycle(&mut self, input: &SchedulerIn) -> Result<SchedulerOut, CycleError>;

    /// What it is, for reports and errors.
    fn name(&self) -> String;
}

/// The golden model.
#[derive(Clone, Debug)]
pub struct ModelEngine(SchedulerModel);

impl ModelEngine {
    /// An empty scheduler.
    pub fn new(params: SchedulerParams) -> Self {
        Self(SchedulerModel::new(params))
    }
}

impl SchedulerEngine for ModelEngine {
    fn cycle(&mut self, input: &SchedulerIn) -> Result<SchedulerOut, CycleError> {
        Ok(self.0.cycle(input))
    }

    fn name(&self) -> String {
        "model".into()
    }
}

/// Anything with the ports of `kernel_scheduler`: a rust-hdl simulation, Verilated Verilog, several in lockstep.
pub struct FlatEngine {
    name: String,
    model: Box<dyn CycleModel>,
    ports: SchedulerPorts,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
}

impl FlatEngine {
    /// Wraps `model`, a scheduler with `params`. Errors name the port that is missing.
    pub fn new(
        name: impl Into<String>,
        params: SchedulerParams,
        model: Box<dyn CycleModel>,
    ) -> Result<Self, String> {
        let all = model.ports();
        let inputs = Layout::new(&all, Direction::Input);
        let outputs = Layout::new(&all, Direction::Output);
        let ports = SchedulerPorts::new(params, &inputs, &outputs)?;
        Ok(Self {
            name: name.into(),
            inputs: vec![0; ports.input_words()],
            outputs: vec![0; ports.output_words()],
            model,
            ports,
        })
    }
}

impl SchedulerEngine for FlatEngine {
    fn cycle(&mut self, input: &SchedulerIn) -> Result<SchedulerOut, CycleError> {
        self.ports.pack(input, &mut self.inputs);
        self.model.cycle(&self.inputs, &mut self.outputs)?;
        Ok(self.ports.unpack(&self.outputs))
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}
