//! The stimuli of the CTA dispatch hardware on the golden models alone: they are legal, reach the corners, and let everything end.

use windlass_catalog::{BlockSpec, Request};
use windlass_cosim::block_stimulus::{FrontEndStimulus, far_stimulus, stimulus};
use windlass_cosim::stimulus::{Rng, Stimulus};
use windlass_rtl::front_end::{Counter, FrontEndModel, FrontEndPorts};
use windlass_rtl::params::{ArbiterKind, DONE_PORTS, Encoding, SmLimits, WindowKind};
use windlass_rtl::port::{Direction, Layout, indexed};
use windlass_rtl::sm_occupancy::model::OccupancyPorts;

const TYPED: ArbiterKind = ArbiterKind::Typed { active: 1 };

fn spec(name: &str, change: impl FnOnce(&mut Request)) -> BlockSpec {
    let mut request = Request { slots: 8, limits: small(), ..Request::default() };
    change(&mut request);
    BlockSpec::new(name, request).unwrap_or_else(|e| panic!("{e}"))
}

fn small() -> SmLimits {
    SmLimits::new(4, 16, 64, 200).unwrap_or_else(|e| panic!("{e}"))
}

fn layouts(spec: BlockSpec) -> (Layout, Layout) {
    let ports = spec.ports();
    (Layout::new(&ports, Direction::Input), Layout::new(&ports, Direction::Output))
}

/// Runs the model, and hands the words of inputs and outputs of each cycle to `see`.
fn run(spec: BlockSpec, cycles: u64, see: impl FnMut(&[u32], &[u32])) {
    run_under(&mut *stimulus(spec, 1), spec, cycles, see);
}

fn run_under(stimulus: &mut dyn Stimulus, spec: BlockSpec, cycles: u64, mut see: impl FnMut(&[u32], &[u32])) {
    let (ins, outs) = layouts(spec);
    let (mut inputs, mut outputs) = (vec![0; ins.words()], vec![0; outs.words()]);
    let mut model = spec.model();
    for cycle in 0..cycles {
        stimulus.next(cycle, &outputs, &mut inputs);
        model.cycle(&inputs, &mut outputs).unwrap_or_else(|e| panic!("{e}"));
        see(&inputs, &outputs);
    }
}

/// The same, with ports by their names.
fn run_by_name(spec: BlockSpec, cycles: u64, mut see: impl FnMut(&dyn Fn(&str) -> u128)) {
    let (ins, outs) = layouts(spec);
    run(spec, cycles, |inputs, outputs| {
        see(&|name| match (ins.slot(name), outs.slot(name)) {
            (Some(slot), _) => slot.get(inputs),
            (_, Some(slot)) => slot.get(outputs),
            _ => panic!("no port {name}"),
        });
    });
}

#[test]
fn sms_are_filled_and_emptied() {
    for (sms, limits) in [(1, small()), (8, small()), (28, small()), (132, SmLimits::H100), (192, small())] {
        let spec = spec("sm_occupancy", |r| (r.sms, r.limits) = (sms, limits));
        let BlockSpec::SmOccupancy { params, requesters } = spec else { panic!("{spec:?}") };
        let (ins, outs) = layouts(spec);
        let io = OccupancyPorts::new(params, requesters, &ins, &outs).unwrap_or_else(|e| panic!("{e}"));
        let (mut placed, mut both, mut same, mut no_room, mut kept, mut freed) = (0, 0, 0, 0, 0, 0);
        let mut looked = [[false; 2]; 2];
        run(spec, 60_000, |inputs, outputs| {
            let (input, out) = (io.unpack_inputs(inputs), io.unpack(outputs));
            for ((place, fit), looked) in input.place.iter().zip(out.fit).zip(looked[1]) {
                assert_eq!(place & !fit, 0);
                no_room += u32::from(looked && fit == 0);
            }
            placed += input.place.iter().filter(|p| **p != 0).count();
            both += u32::from(input.place.iter().all(|p| *p != 0));
            same += u32::from(input.place[0] != 0 && input.place[0] == input.place[1]);
            for (free, ready) in input.free.iter().zip(out.free_ready).filter(|(free, _)| free.valid) {
                assert!(usize::from(free.sm) < sms);
                *(if ready { &mut freed } else { &mut kept }) += 1;
            }
            looked = [input.need.map(|need| need.is_some() && input.rst_ni), looked[0]];
        });
        println!(
            "{sms}: placed {placed} both {both} same {same} no room {no_room} kept {kept} freed {freed}"
        );
        // A single SM is full most of the time: many needs fit just or just not.
        assert!(placed > 1_500 && both > 100 && same > 30 && no_room > 1_000, "{sms}");
        assert!(freed > 1_500 && kept > 100, "{sms}");
    }
}

#[test]
fn partitions_are_rewritten() {
    for (sms, arbiter) in [(7, ArbiterKind::Single), (132, TYPED)] {
        let (mut written, mut allowed) = (0, std::collections::BTreeSet::new());
        run_by_name(spec("sm_partitions", |r| (r.sms, r.arbiter) = (sms, arbiter)), 20_000, |port| {
            written += port("write_ready_o");
            allowed.insert(port("allow_a_0_o"));
        });
        println!("{sms}: {written} written, {} masks seen", allowed.len());
        assert!(written > 1_000 && allowed.len() >= 8, "{sms}");
    }
}

#[test]
fn kernels_pass_through_the_table() {
    for (slots, retire_ports, arbiter) in
        [(4, 1, ArbiterKind::Single), (8, 2, TYPED), (24, 4, TYPED), (128, 3, TYPED)]
    {
        let spec =
            spec("kernel_table", |r| (r.slots, r.retire_ports, r.arbiter) = (slots, retire_ports, arbiter));
        let (mut retired, mut errors, mut passed, mut four, mut held) = (0, 0, 0, 0, 0);
        run_by_name(spec, 40_000, |port| {
            errors += port("done_err_o");
            four += u32::from((0..DONE_PORTS).all(|p| port(&indexed("done_valid_i", p)) != 0));
            for r in 0..retire_ports {
                let valid = port(&indexed("ret_valid_o", r));
                retired += valid & port(&indexed("ret_ready_i", r));
                held += valid & !port(&indexed("ret_ready_i", r));
            }
            for q in 0..arbiter.channels() {
                passed += port(&indexed("next_valid_o", q)) & port(&indexed("next_ready_i", q));
            }
        });
        println!("{slots}: passed {passed} retired {retired} held {held} errors {errors} four {four}");
        assert!(retired > 1_000 && errors > 20 && passed > 1_000 && four > 200 && held > 100, "{slots}");
    }
}

#[test]
fn arbiters_place_and_stall() {
    for (arbiter, sms) in [(ArbiterKind::Single, 1), (TYPED, 28), (ArbiterKind::Typed { active: 4 }, 132)] {
        let name = if arbiter.channels() == 1 { "cta_arbiter_single" } else { "cta_arbiter_typed" };
        let (mut kernels, mut ctas, mut stalled, mut no_room) = (0, 0, 0, 0);
        run_by_name(spec(name, |r| (r.sms, r.arbiter) = (sms, arbiter)), 20_000, |port| {
            kernels += port("kern_valid_0_i") & port("kern_ready_0_o");
            ctas += port("cta_valid_0_o") & port("cta_ready_0_i");
            stalled += port("cta_valid_0_o") & !port("cta_ready_0_i");
            no_room += port("no_room_0_o");
        });
        println!("{arbiter:?} {sms}: kernels {kernels} ctas {ctas} stalled {stalled} no room {no_room}");
        assert!(kernels > 50 && ctas > 2_000 && stalled > 500 && no_room > 500, "{arbiter:?}");
    }
}

/// Every CTA that was placed is freed, and whenever nothing is left, every SM is empty.
#[test]
fn the_front_end_gives_back_what_it_takes() {
    let cases = [
        (WindowKind::Matrix, 4, Encoding::Ids { lanes: 1 }, ArbiterKind::Single, 1, small()),
        (WindowKind::Matrix, 8, Encoding::Ids { lanes: 4 }, TYPED, 8, small()),
        (WindowKind::List, 8, Encoding::Mask, ArbiterKind::Typed { active: 2 }, 28, small()),
        (
            WindowKind::Matrix,
            32,
            Encoding::Ids { lanes: 4 },
            ArbiterKind::Typed { active: 4 },
            132,
            SmLimits::H100,
        ),
        (WindowKind::Matrix, 24, Encoding::Ids { lanes: 2 }, ArbiterKind::Single, 192, small()),
    ];
    for (seed, (kind, slots, encoding, arbiter, sms, limits)) in cases.into_iter().enumerate() {
        let spec = spec("front_end", |r| {
            (r.window, r.slots, r.encoding, r.scheduled) = (kind, slots, encoding, 32);
            (r.arbiter, r.sms, r.limits) = (arbiter, sms, limits);
        });
        let BlockSpec::FrontEnd(params) = spec else { panic!("{spec:?}") };
        let (ins, outs) = layouts(spec);
        let io = FrontEndPorts::new(params, &ins, &outs).unwrap_or_else(|e| panic!("{e}"));
        let mut stimulus = FrontEndStimulus::new(Rng::new(seed as u64), params, &ins, &outs);
        let mut model = FrontEndModel::new(params);
        let mut flat = spec.model();
        let (mut inputs, mut outputs) = (vec![0; ins.words()], vec![0; outs.words()]);
        let (mut drains, mut kernels, mut errors, mut was_drained, mut waited) = (0, 0, 0, false, [0; 2]);
        let (mut most, mut refused) = (0, 0);
        for cycle in 0..120_000_u64 {
            if cycle == 60_000 {
                stimulus.drain();
            }
            stimulus.next(cycle, &outputs, &mut inputs);
            let drained = stimulus.is_drained();
            if drained {
                assert!(model.is_idle() && model.resources_full(), "{cycle}");
            }
            drains += u32::from(drained && !was_drained);
            was_drained = drained;
            flat.cycle(&inputs, &mut outputs).unwrap_or_else(|e| panic!("{e}"));
            let input = io.unpack_inputs(&inputs);
            let mut out = model.cycle(&input);
            out.scheduler.inserted = None;
            assert_eq!(io.unpack(&outputs), out);
            errors += u32::from(out.done_error);
            refused += u32::from(out.host_error);
            assert!(!out.scheduler.retire_error, "{cycle}");
            kernels += out.retired.iter().flatten().count();
            most = most.max(model.ctas_on_sms());
            for p in 0..4 {
                waited[0] += u32::from(input.done[p].is_some() && !out.done_ready[p]);
            }
            waited[1] += u32::from(input.counter == Counter::NoRoom0 as u8 && out.count > 0);
        }
        let (placed, freed) = stimulus.ctas();
        println!(
            "{kind:?} {arbiter:?} {slots} {sms}: {drains} drains, {kernels} kernels, {placed} CTAs, at most {most}, {refused} packets refused, {errors} errors, {waited:?}"
        );
        assert!(stimulus.is_drained());
        assert_eq!(placed, freed);
        assert!(
            drains > 10 && kernels > 500 && errors > 100 && refused > 20 && waited.iter().all(|w| *w > 0),
            "{kind:?}"
        );
    }
}

/// How many kernels with more than 65 536 CTAs end, by channel; where none does, how far each channel was.
fn far_kernels(spec: BlockSpec, seed: u64) -> ([usize; 2], [u128; 2]) {
    let (ins, outs) = layouts(spec);
    let mut stimulus = far_stimulus(spec, seed);
    // By channel: the highest index of the kernel that goes out.
    let (mut highest, mut ended) = ([0; 2], [0; 2]);
    run_under(&mut *stimulus, spec, 500_000, |inputs, outputs| {
        for c in 0..2 {
            let slot = |layout: &Layout, name: String| layout.slot(&name).expect("a CTA channel");
            let goes = slot(&outs, format!("cta_valid_{c}_o")).get(outputs) == 1
                && slot(&ins, format!("cta_ready_{c}_i")).get(inputs) == 1;
            if goes {
                let index = slot(&outs, format!("cta_index_{c}_o")).get(outputs);
                ended[c] += usize::from(index == 0 && highest[c] > 1 << 16 && highest[c] < 1 << 18);
                highest[c] = index;
            }
        }
    });
    assert_eq!(stimulus.fault(), None);
    (ended, highest)
}

#[test]
fn far_kernels_use_up_the_upper_half_of_their_counts() {
    for block in ["cta_arbiter_typed", "front_end"] {
        let spec = spec(block, |r| (r.arbiter, r.sms) = (TYPED, 8));
        // A kernel of 2^20 CTAs can keep a channel busy to the end.
        let mut runs = (1..=4).map(|seed| far_kernels(spec, seed));
        assert!(runs.any(|(ended, highest)| {
            println!("{block}: {ended:?} {highest:?}");
            ended.iter().sum::<usize>() > 0
        }));
    }
}

#[test]
fn far_kernels_of_the_table_run_to_their_end() {
    let spec = spec("kernel_table", |r| r.arbiter = TYPED);
    let (ins, outs) = layouts(spec);
    let get = |layout: &Layout, words: &[u32], name: &str| layout.slot(name).expect("a port").get(words);
    let mut stimulus = far_stimulus(spec, 2);
    // By slot.
    let (mut grids, mut ended) = ([0; 8], [0; 8]);
    run_under(&mut *stimulus, spec, 900_000, |inputs, outputs| {
        for r in 0..2 {
            let taken = get(&outs, outputs, &format!("ret_valid_{r}_o")) == 1
                && get(&ins, inputs, &format!("ret_ready_{r}_i")) == 1;
            if taken && get(&ins, inputs, "rst_ni") == 1 {
                let slot = get(&outs, outputs, &format!("ret_slot_{r}_o")) as usize;
                ended[slot] += u32::from(grids[slot] >= 1 << 16);
            }
        }
        let slot = get(&ins, inputs, "ins_slot_i");
        if slot != 0 {
            grids[slot.trailing_zeros() as usize] = get(&ins, inputs, "ins_grid_i");
        }
    });
    assert_eq!(stimulus.fault(), None);
    println!("kernels of 2^16 CTAs or more that ended, by slot: {ended:?}");
    assert!(ended.iter().all(|count| *count > 0), "{ended:?}");
}
