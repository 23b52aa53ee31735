//! What goes into the CTA dispatch hardware comes out again: on the golden models alone, side by side with themselves, so that no comparison can
//! help. A fault that both have must be noticed by the books alone.

use windlass_catalog::{BlockSpec, Request};
use windlass_cosim::block_stimulus::stimulus;
use windlass_cosim::lockstep::{Lockstep, LockstepError};
use windlass_rtl::model::{CycleError, CycleModel};
use windlass_rtl::params::{ArbiterKind, SmLimits};
use windlass_rtl::port::{Direction, Layout, Port};

/// Blocks that hold CTAs or what CTAs need.
const BLOCKS: [&str; 6] =
    ["sm_occupancy", "sm_partitions", "kernel_table", "cta_arbiter_single", "cta_arbiter_typed", "front_end"];

fn spec(name: &str, change: impl FnOnce(&mut Request)) -> BlockSpec {
    let mut request = Request { slots: 8, sms: 8, limits: small(), ..Request::default() };
    change(&mut request);
    BlockSpec::new(name, request).unwrap_or_else(|e| panic!("{e}"))
}

fn small() -> SmLimits {
    SmLimits::new(4, 16, 64, 200).unwrap_or_else(|e| panic!("{e}"))
}

fn arbiter(name: &str) -> ArbiterKind {
    if name == "cta_arbiter_single" { ArbiterKind::Single } else { ArbiterKind::Typed { active: 2 } }
}

/// Runs two of what `model` makes, then lets everything end.
fn run(
    spec: BlockSpec,
    seed: u64,
    cycles: u64,
    model: impl Fn() -> Box<dyn CycleModel>,
) -> Result<u64, LockstepError> {
    let mut lockstep = Lockstep::new(vec![("one".into(), model()), ("two".into(), model())])?;
    let mut stimulus = stimulus(spec, seed);
    lockstep.run(&mut *stimulus, cycles)?;
    Ok(lockstep.finish(&mut *stimulus)?.cycles - cycles)
}

#[test]
fn all_is_back_in_the_end() {
    for name in BLOCKS {
        for (sms, limits) in [(1, small()), (8, small()), (28, SmLimits::H100), (192, small())] {
            for seed in 0..8 {
                let spec = spec(name, |r| (r.sms, r.limits, r.arbiter) = (sms, limits, arbiter(name)));
                // Wherever the run is broken off.
                let took = run(spec, seed, 1_000 + 777 * seed, || spec.model());
                let took = took.unwrap_or_else(|e| panic!("{name} with {sms} SMs, seed {seed}: {e}"));
                assert!(took > 10, "{name} ended after {took} cycles");
            }
        }
    }
}

/// What a cycle's ports show, by name; what a block does not have is an error of the test.
struct Ports<'a> {
    layout: &'a Layout,
    words: &'a mut [u32],
}

impl Ports<'_> {
    fn get(&self, name: &str) -> u128 {
        self.layout.slot(name).unwrap_or_else(|| panic!("no port {name}")).get(self.words)
    }

    fn set(&mut self, name: &str, value: u128) {
        self.layout.slot(name).unwrap_or_else(|| panic!("no port {name}")).set(self.words, value);
    }
}

/// A fault: changes a cycle's inputs on their way into the block, and says whether there was anything to change.
type Fault = fn(&mut Ports<'_>) -> bool;

/// A block that is right at first, and has the fault from the 21st opportunity on.
struct Faulty {
    model: Box<dyn CycleModel>,
    inputs: Layout,
    fault: Fault,
    opportunities: u64,
}

impl Faulty {
    fn new(spec: BlockSpec, fault: Fault) -> Self {
        let inputs = Layout::new(&spec.ports(), Direction::Input);
        Self { model: spec.model(), inputs, fault, opportunities: 0 }
    }
}

impl CycleModel for Faulty {
    fn ports(&self) -> Vec<Port> {
        self.model.ports()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        let mut changed = inputs.to_vec();
        let mut ports = Ports { layout: &self.inputs, words: &mut changed };
        if ports.get("rst_ni") == 1 && (self.fault)(&mut ports) {
            self.opportunities += 1;
            if self.opportunities > 20 {
                return self.model.cycle(&changed, outputs);
            }
        }
        self.model.cycle(inputs, outputs)
    }
}

/// Makes `name` with the fault, twice, and returns what the books say.
fn noticed(name: &str, what: &str, fault: Fault) {
    let spec = spec(name, |r| r.arbiter = arbiter(name));
    // An arbiter that is at a large grid sees few kernels.
    let cycles = if name.starts_with("cta_arbiter") { 40_000 } else { 20_000 };
    for seed in 0..4 {
        let error = match run(spec, seed, cycles, || Box::new(Faulty::new(spec, fault))) {
            Err(LockstepError::Unbalanced(error)) => error,
            other => panic!("{what} in {name}, seed {seed}: {other:?}"),
        };
        let text = error.to_string();
        println!("{what} in {name}: {}", text.lines().next().unwrap_or_default());
        assert!(text.starts_with(&format!("cycle {}: ", error.cycle)), "{text}");
        assert_eq!(error.failure.seed, Some(seed));
    }
}

/// A CTA ends, and the block is not told.
fn lost(ports: &mut Ports<'_>, valid: &str) -> bool {
    let there = ports.get(valid) == 1;
    ports.set(valid, 0);
    there
}

#[test]
fn a_completion_that_is_lost_is_noticed() {
    noticed("front_end", "a lost completion", |ports| lost(ports, "done_valid_1_i"));
    noticed("kernel_table", "a lost completion", |ports| lost(ports, "done_valid_1_i"));
    noticed("sm_occupancy", "a lost completion", |ports| lost(ports, "free_valid_1_i"));
}

#[test]
fn a_completion_that_nobody_gave_is_noticed() {
    // The port's payload outside an offer is legal in form: some SM of the port's, some slot.
    let invented: Fault = |ports| {
        let free = ports.get("free_valid_2_i") == 0;
        ports.set("free_valid_2_i", 1);
        free
    };
    noticed("sm_occupancy", "an invented completion", invented);
    noticed("kernel_table", "an invented completion", |ports| {
        let free = ports.get("done_valid_2_i") == 0;
        ports.set("done_valid_2_i", 1);
        free
    });
    noticed("front_end", "an invented completion", |ports| {
        // Of the kernel that a CTA of another SM has just left.
        let free = ports.get("done_valid_1_i") == 1 && ports.get("done_valid_2_i") == 0;
        let slot = ports.get("done_slot_1_i");
        for (name, value) in [("done_valid_2_i", 1), ("done_sm_2_i", 2), ("done_slot_2_i", slot)] {
            ports.set(name, value);
        }
        free
    });
}

#[test]
fn a_cta_that_is_lost_or_invented_is_noticed() {
    noticed("cta_arbiter_typed", "a CTA too few", |ports| {
        let grid = ports.get("kern_grid_0_i");
        ports.set("kern_grid_0_i", grid.saturating_sub(1));
        ports.get("kern_valid_0_i") == 1 && grid > 1
    });
    noticed("cta_arbiter_single", "a CTA too many", |ports| {
        let grid = ports.get("kern_grid_0_i");
        ports.set("kern_grid_0_i", grid + 1);
        ports.get("kern_valid_0_i") == 1
    });
    noticed("front_end", "a CTA that no SM got", |ports| {
        let ready = ports.get("cta_ready_0_i") == 0;
        ports.set("cta_ready_0_i", 1);
        ready
    });
    noticed("sm_occupancy", "a CTA that nobody placed", |ports| {
        let free = ports.get("place_a_0_i") == 0 && ports.get("need_valid_0_i") == 1;
        ports.set("place_a_0_i", 1);
        free
    });
}

#[test]
fn a_resource_that_is_not_given_back_is_noticed() {
    for resource in ["warps", "regs", "smem"] {
        let fault: Fault = match resource {
            "warps" => |ports| less(ports, "free_warps_0_i"),
            "regs" => |ports| less(ports, "free_regs_0_i"),
            _ => |ports| less(ports, "free_smem_0_i"),
        };
        noticed("sm_occupancy", resource, fault);
    }
}

fn less(ports: &mut Ports<'_>, name: &str) -> bool {
    let value = ports.get(name);
    ports.set(name, value.saturating_sub(1));
    value > 0 && ports.get("free_valid_0_i") == 1
}

#[test]
fn a_mask_that_is_not_what_was_written_is_noticed() {
    noticed("sm_partitions", "a flipped bit", |ports| {
        let mask = ports.get("write_mask_i");
        ports.set("write_mask_i", mask ^ 1);
        ports.get("write_valid_i") == 1 && ports.get("write_word_i") == 0
    });
}
