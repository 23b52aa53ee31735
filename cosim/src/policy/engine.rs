//! What decides in the `window` policy: the golden model of the front end, or anything that speaks its flat ports.

use windlass_rtl::front_end::model::FrontEndModel;
use windlass_rtl::front_end::{FrontEndIn, FrontEndOut, FrontEndPorts};
use windlass_rtl::model::{CycleError, CycleModel};
use windlass_rtl::params::FrontEndParams;
use windlass_rtl::port::{Direction, Layout, MissingPort};

/// A front end, from launch packets to CTAs on SMs, one clock at a time.
pub trait FrontEndEngine: Send {
    /// One cycle: the outputs for `input`, then the clock edge.
    fn cycle(&mut self, input: &FrontEndIn) -> Result<FrontEndOut, CycleError>;

    /// What it is, for reports and errors.
    fn name(&self) -> String;
}

/// A front end that is its golden model, instead of Verilog.
#[derive(Clone, Debug)]
pub struct ModelEngine(FrontEndModel);

impl ModelEngine {
    /// An empty front end.
    pub fn new(params: FrontEndParams) -> Self {
        Self(FrontEndModel::new(params))
    }
}

impl FrontEndEngine for ModelEngine {
    fn cycle(&mut self, input: &FrontEndIn) -> Result<FrontEndOut, CycleError> {
        Ok(self.0.cycle(input))
    }

    fn name(&self) -> String {
        "behavioural".into()
    }
}

/// Anything with the ports of `front_end`: a rust-hdl simulation, Verilated Verilog, several in lockstep.
pub struct FlatEngine {
    name: String,
    model: Box<dyn CycleModel>,
    ports: FrontEndPorts,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
}

impl FlatEngine {
    /// Wraps `model`, a front end with `params`. Errors name the port that is missing.
    pub fn new(
        name: impl Into<String>,
        params: FrontEndParams,
        model: Box<dyn CycleModel>,
    ) -> Result<Self, MissingPort> {
        let all = model.ports();
        let inputs = Layout::new(&all, Direction::Input);
        let outputs = Layout::new(&all, Direction::Output);
        let ports = FrontEndPorts::new(params, &inputs, &outputs)?;
        Ok(Self {
            name: name.into(),
            inputs: vec![0; inputs.words()],
            outputs: vec![0; outputs.words()],
            model,
            ports,
        })
    }
}

impl FrontEndEngine for FlatEngine {
    fn cycle(&mut self, input: &FrontEndIn) -> Result<FrontEndOut, CycleError> {
        self.ports.pack(input, &mut self.inputs);
        self.model.cycle(&self.inputs, &mut self.outputs)?;
        Ok(self.ports.unpack(&self.outputs))
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}
