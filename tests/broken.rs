//! Do the tests notice a broken design? Faults are put into the emitted Verilog, one at a time; lockstep must find each, and must
//! name the cycle, the port, the seed and the way to see it again.

use windlass_catalog::{BlockSpec, Request};
use windlass_cosim::block_stimulus::stimulus;
use windlass_cosim::engine::library;
use windlass_cosim::lockstep::{Lockstep, LockstepError};
use windlass_cosim::partition::Partitions;
use windlass_cosim::policy::{FlatEngine, FrontEndEngine, Policy, SimError, Stream};
use windlass_cosim::profile::Profile;
use windlass_cosim::run::{CoSimulation, RunError};
use windlass_cosim::verilator::{BuildSpec, InstanceOptions, Verilated};
use windlass_rtl::model::CycleModel;
use windlass_rtl::params::Encoding;
use windlass_runtime::ktrace::Trace;

/// The block's Verilog with `from` replaced by `to` in the module whose name starts with `module`.
fn broken(spec: BlockSpec, module: &str, from: &str, to: &str) -> Verilated {
    let change = |mut build: BuildSpec| {
        let mut places = 0;
        for (file, text) in &mut build.sources {
            if file.starts_with(module) {
                places += text.matches(from).count();
                *text = text.replacen(from, to, 1);
            }
        }
        assert!(places > 0, "`{from}` is not in {module}: this test no longer breaks anything");
        build
    };
    let library = library(spec, change).unwrap_or_else(|e| panic!("{e}"));
    library.instance(InstanceOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn beside_the_model(spec: BlockSpec, verilated: Verilated) -> Lockstep {
    Lockstep::new(vec![("model".into(), spec.model()), ("verilog".into(), Box::new(verilated))])
        .unwrap_or_else(|e| panic!("{e}"))
        .replay("replay --from {from} --to {to}")
}

/// Breaks the block, and runs it beside its golden model.
fn noticed(name: &str, request: Request, module: &str, from: &str, to: &str) {
    let spec = BlockSpec::new(name, request).unwrap_or_else(|e| panic!("{e}"));
    let mut lockstep = beside_the_model(spec, broken(spec, module, from, to));
    let error = lockstep.run(&mut *stimulus(spec, 1), 200_000).expect_err("the fault is not noticed");
    let LockstepError::Difference(difference) = &error else { panic!("{error}") };
    assert!(!difference.port.is_empty());
    let text = error.to_string();
    for word in ["cycle", &difference.port, "replay --from"] {
        assert!(text.contains(word), "`{text}` does not say `{word}`");
    }
}

/// Runs a stream on a front end with the fault, alone or beside its model.
fn co_simulate(workload: &str, module: &str, from: &str, to: &str, lockstep: bool) -> SimError {
    let all = usize::MAX;
    co_simulate_with_stalls(0, all, workload, module, from, to, lockstep)
        .expect_err("the fault is not noticed")
}

/// The same with the first kernels only, where CTA ports refuse in so many of 100 cycles.
fn co_simulate_with_stalls(
    percent: u8,
    kernels: usize,
    workload: &str,
    module: &str,
    from: &str,
    to: &str,
    lockstep: bool,
) -> Result<(), SimError> {
    let spec = BlockSpec::new("kernel_scheduler", scheduler(8)).unwrap_or_else(|e| panic!("{e}"));
    let BlockSpec::KernelScheduler(params) = spec else { panic!("{spec:?}") };
    let path = format!("{}/workloads/{workload}.ktrace.jsonl", env!("CARGO_MANIFEST_DIR"));
    let trace = Trace::load(path).unwrap_or_else(|e| panic!("{e}"));
    let mut stream = Stream::side_by_side(&[(&trace, 0), (&trace, 1)]).expect("a stream");
    if kernels < stream.kernels().len() {
        stream =
            Stream::from_sections("first", vec![stream.kernels()[..kernels].to_vec()]).expect("a stream");
    }
    // Few SMs, or each fault takes half a minute to build.
    let profile = Profile { sms: 8, ..Profile::load("rtx3070").expect("it is built in") };
    let mut simulation = CoSimulation::new(profile, params);
    simulation.policies = vec![Policy::Window];
    simulation.cta_stalls = percent;
    simulation.arbiters.retain(|arbiter| arbiter.name() == "typed");
    simulation.partitions = Partitions::parse("0-3,4-7", 8).expect("ranges");
    let engine = |params| {
        let spec = BlockSpec::FrontEnd(params);
        let verilated = broken(spec, module, from, to);
        let model: Box<dyn CycleModel> =
            if lockstep { Box::new(beside_the_model(spec, verilated)) } else { Box::new(verilated) };
        let engine = FlatEngine::new("broken", params, model).unwrap_or_else(|e| panic!("{e}"));
        Ok(Box::new(engine) as Box<dyn FrontEndEngine>)
    };
    match simulation.run(&stream, engine) {
        Ok(_) => Ok(()),
        Err(RunError::Simulation(error)) => Err(error),
        Err(RunError::Engine(error)) => panic!("{error}"),
    }
}

/// A kernel that comes into the last place forgets what it waits for.
const FORGETS: [&str; 3] = ["window_matrix", "rows_7 = ins_up_moves_places_o;", "rows_7 = 8'h0;"];

#[test]
fn a_co_simulation_notices_a_wrong_order_without_a_model() {
    let [module, from, to] = FORGETS;
    let error = co_simulate("brax-v1-ant-b256", module, from, to, false);
    assert!(matches!(error, SimError::OutOfOrder { .. }) && error.is_wrong(), "{error}");
}

#[test]
fn a_co_simulation_in_lockstep_says_where_the_two_part() {
    let [module, from, to] = FORGETS;
    let error = co_simulate("brax-v1-ant-b256", module, from, to, true);
    assert!(matches!(error, SimError::Engine { .. }) && error.is_wrong(), "{error}");
    for word in ["cycle", "disp_", "replay --from"] {
        assert!(error.to_string().contains(word), "`{error}` does not say `{word}`");
    }
}

#[test]
fn a_co_simulation_notices_an_sm_that_is_given_too_much() {
    // Lanes of even number are not charged for the CTAs that they get.
    let [from, to] = ["placed_0_d = place_0_i;", "placed_0_d = place_0_i & odd_i;"];
    let error = co_simulate("mix-reduction", "sm_lane", from, to, false);
    assert!(matches!(error, SimError::NoRoom { .. }) && error.is_wrong(), "{error}");
}

#[test]
fn a_co_simulation_notices_a_cta_outside_its_partition() {
    // An SM does not leave a partition.
    let [from, to] = ["kept_2 = at_u_2_q & ~write_hot_i;", "kept_2 = at_u_2_q;"];
    let error = co_simulate("mix-reduction", "sm_partition_group", from, to, false);
    assert!(matches!(error, SimError::OutsidePartition { .. }) && error.is_wrong(), "{error}");
}

/// Only where something is refused does it show.
#[test]
fn a_co_simulation_notices_an_offer_that_is_not_kept() {
    let [from, to] = ["held_d = goes;", "held_d = 4'h0;"];
    let run = |percent| co_simulate_with_stalls(percent, 4, "mix-reduction", "cta_channel", from, to, false);
    run(0).unwrap_or_else(|e| panic!("{e}"));
    let error = run(20).expect_err("the fault is not noticed");
    assert!(matches!(error, SimError::OfferChanged { .. }) && error.is_wrong(), "{error}");
}

#[test]
fn a_co_simulation_notices_a_kernel_that_retires_early() {
    let [from, to] =
        ["ended_o = left_few_o & ~(|left_low_o);", "ended_o = left_few_o & ~(|(left_low_o >> 1));"];
    let error = co_simulate("mix-reduction", "kernel_entry", from, to, false);
    assert!(matches!(error, SimError::WrongRetirement { .. }) && error.is_wrong(), "{error}");
}

fn scheduler(slots: usize) -> Request {
    Request { slots, ..Request::default() }
}

#[test]
fn a_dropped_dependency_is_noticed() {
    let [module, from, to] = FORGETS;
    noticed("kernel_scheduler", scheduler(8), module, from, to);
}

#[test]
fn a_dependency_that_survives_its_retirement_is_noticed() {
    let [from, to] = ["(up_3_q[2:0] & ~over[2:0])", "(up_3_q[2:0] & ~{over[2:1], 1'b0})"];
    noticed("window_matrix", scheduler(8), "window_matrix", from, to);
}

#[test]
fn a_kernel_that_lives_while_it_retires_is_noticed() {
    // Of the window alone: a kernel that waits for it is freed in the next cycle all the same.
    noticed(
        "window_matrix",
        scheduler(8),
        "window_matrix_n8",
        "used_q & ~gone_q & ~retiring",
        "used_q & ~gone_q",
    );
}

#[test]
fn a_lost_precedence_is_noticed() {
    // Without the parentheses `&` binds tighter than `|`. (tests/semantics does the same to every kind of operator.)
    noticed(
        "kernel_scheduler",
        scheduler(8),
        "upstream_load_ids",
        "~blocked & (ins_ready_i | ~host_last_i)",
        "~blocked & ins_ready_i | ~host_last_i",
    );
}

#[test]
fn an_off_by_one_in_m_is_noticed() {
    noticed(
        "kernel_scheduler",
        Request { scheduled: 8, ..scheduler(16) },
        "upstream_load_ids",
        "newer >= 8'h8",
        "newer > 8'h8",
    );
    noticed(
        "kernel_scheduler",
        Request { scheduled: 8, encoding: Encoding::Mask, ..scheduler(16) },
        "upstream_load_mask",
        "newer >= 8'h8",
        "newer >= 8'h7",
    );
}

#[test]
fn a_younger_kernel_that_goes_first_is_noticed() {
    noticed("oldest_first", scheduler(8), "oldest_first", "~(|(older_3 & req_i))", "1'b1");
}

#[test]
fn an_offer_that_moves_is_noticed() {
    let [from, to] = ["(|held_q) ? held_q : age_gnt_o", "age_gnt_o"];
    noticed("window_list", scheduler(8), "window_list_slots", from, to);
    noticed(
        "window_matrix",
        scheduler(8),
        "window_matrix",
        "held_d = offered & ~disp_ready_i",
        "held_d = 1'b0",
    );
}

#[test]
fn a_kernel_that_does_not_move_with_its_place_is_noticed() {
    let window = |from, to| noticed("window_matrix", scheduler(8), "window_matrix", from, to);
    window("gone_d = now_gone_moves_places_o;", "gone_d = now_gone;");
    window("running_d = running_moves_places_o;", "running_d = now_running;");
    window("(up_6_q >> 1)", "up_6_q");
    window("above_8 = freed;", "above_8 = slots_7_q;");
    for block in ["window_matrix", "upstream_load"] {
        noticed(block, scheduler(8), "close_up", "(places_i >> 1)", "places_i");
    }
}

#[test]
fn a_slot_that_is_given_twice_is_noticed() {
    noticed("window_matrix", scheduler(8), "window_matrix", "after | above_5", "after | above_4");
}

#[test]
fn a_kernel_that_is_found_or_retired_in_two_cycles_is_noticed() {
    let pipelined = Request { pipelined: true, ..scheduler(8) };
    noticed("window_matrix", pipelined, "window_matrix", "ready & ~pick", "ready");
    noticed("window_matrix", pipelined, "window_matrix", "matched_0 & ~retiring", "matched_0");
}

#[test]
fn a_list_that_is_offered_while_it_is_written_is_noticed() {
    noticed("window_list", scheduler(8), "window_list_n8", "waiting = target_q;", "waiting = 8'h0;");
}

#[test]
fn a_kernel_retired_twice_is_noticed() {
    noticed(
        "window_matrix",
        scheduler(8),
        "window_matrix_n8",
        "fresh_1 = |(named_1 & ~retiring)",
        "fresh_1 = |named_1",
    );
}

#[test]
fn state_without_reset_that_matters_is_noticed() {
    noticed("window_matrix", scheduler(8), "window_matrix", "gone_q <= 8'h0;", "gone_q <= gone_q;");
    noticed("window_list", scheduler(8), "window_list_slots", "valid_q <= 8'h0;", "valid_q <= valid_q;");
}

/// An array of 8 SMs, or a front end on it.
fn dispatch() -> Request {
    Request { sms: 8, ..scheduler(8) }
}

#[test]
fn a_contested_sm_that_both_types_get_is_noticed() {
    let from = "could_0 & (shared | favoured_0)";
    noticed("sm_occupancy", dispatch(), "sm_lane", from, "could_0");
}

#[test]
fn a_contested_sm_that_always_goes_to_one_type_is_noticed() {
    noticed("sm_occupancy", dispatch(), "sm_lane", "odd_i ^ turn_i", "odd_i");
}

#[test]
fn a_completion_that_is_lost_while_its_sm_is_charged_is_noticed() {
    noticed(
        "sm_occupancy",
        dispatch(),
        "sm_free_port",
        "taken_i ? (stored & ~phase_at_u_o) : stored",
        "stored & ~phase_at_u_o",
    );
}

#[test]
fn an_empty_sm_that_does_not_know_it_is_noticed() {
    noticed("sm_occupancy", dispatch(), "sm_lane", "ctas_left_o == 5'h1f", "ctas_left_o == 5'h1e");
}

#[test]
fn a_carry_that_is_lost_where_both_ctas_are_compared_is_noticed() {
    noticed("sm_occupancy", dispatch(), "sm_field_w8", "at_c_q & sum_0_i;", "at_c_q & sum_0_i & 8'hdf;");
}

#[test]
fn a_pointer_that_stands_still_is_noticed() {
    let [from, to] = ["after_u_d = after;", "after_u_d = after_p_q;"];
    noticed("cta_arbiter_typed", dispatch(), "lane_picker", from, to);
}

#[test]
fn a_selection_that_outlives_its_kernel_is_noticed() {
    noticed("cta_arbiter_typed", dispatch(), "active_kernels", "sel_c_q & ~load", "sel_c_q");
}

#[test]
fn a_kernel_that_keeps_the_arbiter_is_noticed() {
    noticed("cta_arbiter_typed", dispatch(), "active_kernels", "(stay_q != 2'h2)", "1'b1");
}

#[test]
fn a_retirement_on_two_ports_is_noticed() {
    noticed(
        "kernel_table",
        dispatch(),
        "kernel_table",
        "claimed_1 = claimed_0 | offer_0",
        "claimed_1 = claimed_0",
    );
}

#[test]
fn a_younger_kernel_that_an_arbiter_gets_first_is_noticed() {
    // Slot 3 goes first where it is the youngest of its queue; then the table does not hear of it.
    let [from, to] = ["older_3 & req_i", "~older_3 & req_i & 8'hf7"];
    for block in ["front_end", "kernel_table"] {
        noticed(block, dispatch(), "oldest_first", from, to);
    }
    noticed("kernel_table", dispatch(), "kernel_table", "if (oldest_0[3])", "if (oldest_0[3] & 1'b0)");
}

#[test]
fn a_kernel_that_moves_before_an_arbiter_takes_it_is_noticed() {
    noticed(
        "kernel_table",
        dispatch(),
        "kernel_table",
        "stays_0_d = next_valid_0 & ~next_ready_0_i",
        "stays_0_d = 1'b0",
    );
}

#[test]
fn a_kernel_that_two_arbiters_wait_for_is_noticed() {
    noticed("kernel_table", dispatch(), "kernel_table", "waiting_q & tensor", "waiting_q");
}

#[test]
fn a_marker_that_an_arbiter_gets_is_noticed() {
    noticed("kernel_table", dispatch(), "kernel_table", "waiting_q | placeable", "waiting_q | dispatched");
}

#[test]
fn errors_that_are_said_before_anything_is_taken_are_noticed() {
    for (from, to) in [
        ("host_err_o = (|scheduler_ins_slot_o)", "host_err_o = host_valid_i & host_last_i"),
        ("elsewhere | (done_valid_2_i & done_ready_2_o", "elsewhere | (done_valid_2_i"),
    ] {
        noticed("front_end", dispatch(), "front_end", from, to);
    }
}

#[test]
fn what_breaks_a_rule_and_is_not_ignored_is_noticed() {
    for (from, to) in [
        (".ins_grid_i(grid)", ".ins_grid_i(host_grid_i)"),
        ("dispatch_free_valid_1_i = ends_1 & table_done_runs_1_o", "dispatch_free_valid_1_i = ends_1"),
        ("dispatch_free_valid_1_i = ends_1", "dispatch_free_valid_1_i = done_valid_1_i"),
        ("counters_done_3_i = done_3 & table_done_runs_3_o", "counters_done_3_i = done_3"),
    ] {
        noticed("front_end", dispatch(), "front_end", from, to);
    }
}

#[test]
fn a_second_sm_of_a_group_that_is_not_charged_is_noticed() {
    let [from, to] = [".place_0_i(place_0_i[1])", ".place_0_i(place_0_i[1] & ~place_0_i[0])"];
    noticed("sm_occupancy", Request { sms: 46, ..dispatch() }, "sm_group", from, to);
}

#[test]
fn a_partition_write_that_misses_a_slice_is_noticed() {
    noticed("sm_partitions", dispatch(), "sm_partitions", "step_q == 2'h2", "step_q == 2'h1");
}

#[test]
fn a_counter_that_misses_is_noticed() {
    noticed("front_end", dispatch(), "front_end_counters", "stall_full_q ? 3'h1", "stall_full_q ? 3'h2");
}
