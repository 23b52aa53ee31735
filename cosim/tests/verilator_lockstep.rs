//! Lockstep: equal models agree, and a planted difference is found and described.

mod verilator_common;

use verilator_common::{build, instance, ports, spec};
use windlass_cosim::lockstep::{Lockstep, LockstepError};
use windlass_cosim::stimulus::{RandomStimulus, Stimulus};
use windlass_rtl::model::{CycleError, CycleModel};
use windlass_rtl::port::Port;

const PORTS: &str =
    "clk_i rst_ni req_valid_i req_data_i:40 req_ready_o res_valid_o res_data_o:40 res_ready_i";

/// A register with valid and ready on both sides, in Verilog.
fn stage() -> windlass_cosim::verilator::BuildSpec {
    let verilog = r"
module stage (input clk_i, input rst_ni, input req_valid_i, input [39:0] req_data_i, output req_ready_o,
              output res_valid_o, output [39:0] res_data_o, input res_ready_i);
  reg full;
  reg [39:0] data;
  assign req_ready_o = ~full | res_ready_i;
  assign res_valid_o = full;
  assign res_data_o = full ? data : 40'd0;
  always @(posedge clk_i)
    if (!rst_ni) full <= 1'b0;
    else if (req_ready_o) begin
      full <= req_valid_i;
      data <= req_data_i;
    end
endmodule
";
    let mut spec = spec("stage", verilog, PORTS);
    spec.ports = stage_ports();
    spec
}

fn stage_ports() -> Vec<Port> {
    let mut all = ports(PORTS);
    all.iter_mut().filter(|p| p.name.starts_with("req")).for_each(|p| p.channel = "req".into());
    all
}

/// The same in Rust; `break_after` transfers, the next loses bit 35.
struct Stage {
    held: Option<[u32; 2]>,
    taken: u64,
    break_after: u64,
}

impl CycleModel for Stage {
    fn ports(&self) -> Vec<Port> {
        stage_ports()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        let [rst_ni, valid, low, high, res_ready] = inputs else { unreachable!() };
        let ready = self.held.is_none() || *res_ready == 1;
        let data = self.held.unwrap_or_default();
        outputs.copy_from_slice(&[u32::from(ready), u32::from(self.held.is_some()), data[0], data[1]]);
        if *rst_ni == 0 {
            self.held = None;
        } else if ready {
            self.held = (*valid == 1).then(|| {
                self.taken += 1;
                [*low, if self.taken > self.break_after { high & !8 } else { *high }]
            });
        }
        Ok(())
    }
}

fn golden(break_after: u64) -> (String, Box<dyn CycleModel>) {
    // It starts full: before the first reset the state of both is anything.
    ("model".into(), Box::new(Stage { held: Some([1, 2]), taken: 0, break_after }))
}

fn verilog() -> (String, Box<dyn CycleModel>) {
    ("verilog".into(), Box::new(instance(&build(&stage()), 4)))
}

#[test]
fn equal_models_agree_for_many_cycles() {
    let mut lockstep = Lockstep::new(vec![golden(u64::MAX), verilog()]).unwrap();
    let summary = lockstep.run(&mut RandomStimulus::new(&stage_ports(), 11), 100_000).unwrap();
    assert_eq!((summary.cycles, summary.compared), (100_000, 99_999));
}

#[test]
fn a_planted_difference_is_found_and_described() {
    let mut lockstep = Lockstep::new(vec![golden(500), verilog()]).unwrap().replay(
        "WINDLASS_SEED={seed} WINDLASS_WAVE={from}-{to} cargo test --test lockstep # {cycles} cycles",
    );
    let error = lockstep.run(&mut RandomStimulus::new(&stage_ports(), 11), 100_000).unwrap_err();
    let LockstepError::Difference(difference) = &error else { panic!("{error}") };
    assert_eq!((difference.port.as_str(), difference.failure.seed), ("res_data_o", Some(11)));
    assert_eq!(difference.values[0].0, "model");
    assert_eq!(difference.values[1].0, "verilog");
    assert_ne!(difference.values[0].1, difference.values[1].1);
    assert_eq!(difference.failure.last.len(), 16);
    assert_eq!(difference.failure.last[15].cycle, difference.cycle);
    let text = error.to_string();
    let cycle = difference.cycle;
    assert!(text.starts_with(&format!("cycle {cycle}: `res_data_o` differs\n  model    0x")), "{text}");
    let replay = format!(
        "replay: WINDLASS_SEED=11 WINDLASS_WAVE={}-{} cargo test --test lockstep # {} cycles",
        cycle - 64,
        cycle + 8,
        cycle + 1
    );
    assert!(text.contains("seed: 11") && text.contains("req_data_i=0x") && text.ends_with(&replay), "{text}");
}

#[test]
fn models_of_different_blocks_are_refused() {
    struct Other;
    impl CycleModel for Other {
        fn ports(&self) -> Vec<Port> {
            ports("clk_i rst_ni req_valid_i req_data_i:41 req_ready_o res_valid_o res_data_o:40 res_ready_i")
        }
        fn cycle(&mut self, _: &[u32], _: &mut [u32]) -> Result<(), CycleError> {
            Ok(())
        }
    }
    let error = Lockstep::new(vec![golden(0), ("other".into(), Box::new(Other))]).unwrap_err().to_string();
    assert!(error.contains("`req_data_i` (Input, 40 bits) is in the first only"), "{error}");
    assert!(matches!(Lockstep::new(vec![golden(0)]), Err(LockstepError::TooFew { got: 1 })));
}

#[test]
fn a_run_without_reset_compares_nothing_and_says_so() {
    struct NoReset;
    impl Stimulus for NoReset {
        fn next(&mut self, _: u64, _: &[u32], inputs: &mut [u32]) {
            inputs[0] = 1;
        }
    }
    let mut lockstep = Lockstep::new(vec![golden(0), golden(0)]).unwrap();
    assert_eq!(lockstep.run(&mut NoReset, 10), Err(LockstepError::NothingCompared { cycles: 10 }));
    let mut fresh = Lockstep::new(vec![golden(0), golden(0)]).unwrap();
    assert_eq!(fresh.finish(&mut NoReset), Err(LockstepError::NothingCompared { cycles: 0 }));
}

#[test]
fn a_model_that_stops_is_named() {
    struct Stops(Stage);
    impl CycleModel for Stops {
        fn ports(&self) -> Vec<Port> {
            self.0.ports()
        }
        fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
            self.0.cycle(inputs, outputs)?;
            if self.0.taken == 3 { Err(CycleError { cycle: 0, message: "three".into() }) } else { Ok(()) }
        }
    }
    let stops = Stops(Stage { held: None, taken: 0, break_after: u64::MAX });
    let mut lockstep = Lockstep::new(vec![golden(u64::MAX), ("stops".into(), Box::new(stops))]).unwrap();
    let error = lockstep.run(&mut RandomStimulus::new(&stage_ports(), 2), 1_000).unwrap_err();
    assert!(error.to_string().starts_with("`stops` stopped: cycle 0: three\nseed: 2\n"), "{error}");
}
