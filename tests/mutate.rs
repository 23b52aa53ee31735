//! Mutants: a bench that is blind lets them live, the block's own does not, and a mutant that is no fault is proved to be none.

use std::time::Duration;
use windlass_catalog::{BlockSpec, Request};
use windlass_cosim::block_stimulus::stimulus;
use windlass_cosim::mutate::{BenchRun, MutateError, MutateOptions, MutateReport, Outcome, mutate};
use windlass_cosim::stimulus::Stimulus;
use windlass_gen::mutate::rules::Rules;
use windlass_gen::mutate::{MutantOptions, mutants};
use windlass_gen::prove::alike::Reachable;
use windlass_gen::rtl::Rtl;
use windlass_rtl::port::{Direction, Layout, RESET};

fn block(name: &str) -> BlockSpec {
    BlockSpec::new(name, Request { slots: 4, ..Request::default() }).unwrap_or_else(|e| panic!("{e}"))
}

fn emitted(spec: BlockSpec) -> Rtl {
    Rtl::emitted(spec).unwrap_or_else(|e| panic!("{e}"))
}

fn options() -> MutateOptions {
    some(50)
}

fn some(count: usize) -> MutateOptions {
    let mutants = MutantOptions { count, ..MutantOptions::default() };
    MutateOptions { mutants, prove: Some(Duration::from_secs(20)), ..MutateOptions::default() }
}

fn run(stimulus: Box<dyn Stimulus>, cycles: u64) -> Vec<BenchRun> {
    vec![BenchRun { stimulus, cycles }]
}

fn tried(spec: BlockSpec, stimulus: Box<dyn Stimulus>, cycles: u64) -> MutateReport {
    mutate(spec, &emitted(spec), run(stimulus, cycles), &options(), &mut |_| ())
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Resets, and then gives nothing.
struct Idle(Layout);

impl Stimulus for Idle {
    fn next(&mut self, cycle: u64, _last: &[u32], inputs: &mut [u32]) {
        self.0.slot(RESET).expect("it has a reset").set(inputs, u128::from(cycle > 1));
    }
}

#[test]
fn the_bench_of_a_block_notices_every_fault() {
    let spec = block("window_matrix");
    let report = tried(spec, stimulus(spec, 1), 20_000);
    let survivors: Vec<String> = report.survivors().map(|tried| tried.mutant.to_string()).collect();
    assert!(survivors.is_empty(), "{}", survivors.join("\n"));
    assert_eq!(report.caught() + report.equivalent(), 50);
    assert!(report.caught() >= 40, "{}", report.caught());
    // The same seed, the same mutants, the same answers.
    assert_eq!(tried(spec, stimulus(spec, 1), 20_000), report);
}

#[test]
fn a_blind_bench_lets_faults_live() {
    let spec = block("window_matrix");
    let idle = || Box::new(Idle(Layout::new(&spec.ports(), Direction::Input)));
    // What moves nothing leaves a proof to each of them.
    let tried =
        |runs| mutate(spec, &emitted(spec), runs, &some(16), &mut |_| ()).unwrap_or_else(|e| panic!("{e}"));
    let report = tried(run(idle(), 100));
    assert!(report.survivors().count() > 6, "{}", report.survivors().count());
    assert!(report.score() < 60.0, "{}", report.score());
    // And it is said why: the bench moves nothing.
    let held = report.count(|outcome| *outcome == Outcome::Held);
    assert!(held > 6 && report.held.contains_key("ins_valid_i"), "{held} {:?}", report.held);
    // A second run that sees is given those, and only those.
    let mut runs = run(idle(), 100);
    runs.extend(run(stimulus(spec, 1), 20_000));
    let both = tried(runs);
    assert_eq!(both.survivors().count(), 0);
    let in_run = |n| both.count(|outcome| matches!(outcome, Outcome::Caught { run, .. } if *run == n));
    assert_eq!((in_run(0), in_run(0) + in_run(1)), (report.caught(), both.caught()));
    assert!(both.cycles[0] < both.cycles[1] && !both.held.contains_key("ins_valid_i"), "{both:?}");
}

#[test]
fn a_fault_that_is_none_is_proved_to_be_none() {
    let spec = block("oldest_first");
    // However long it may take.
    let patient = MutateOptions { prove: Some(Duration::MAX), ..options() };
    let report = mutate(spec, &emitted(spec), run(stimulus(spec, 1), 20_000), &patient, &mut |_| ());
    let report = report.unwrap_or_else(|e| panic!("{e}"));
    assert!(report.equivalent() > 0, "{report:?}");
    // By its lemmas too; and they never say so of a fault that the bench notices.
    let rtl = emitted(spec);
    let made = mutants(&rtl, Rules::of(spec).as_ref(), &options().mutants).unwrap_or_else(|e| panic!("{e}"));
    let all: Vec<u32> = made.list.iter().map(|mutant| mutant.id).collect();
    let reachable = Reachable::find(spec, &rtl, &made, &all, Duration::from_secs(60))
        .unwrap_or_else(|e| panic!("{e}"))
        .expect("it has lemmas");
    let mut none = 0;
    for tried in &report.mutants {
        let never = reachable.never_shows(tried.mutant.id, false).unwrap_or_else(|e| panic!("{e}"));
        assert!(!(never && matches!(tried.outcome, Outcome::Caught { .. })), "{tried:?}");
        none += usize::from(never);
    }
    assert!(none > 0, "{report:?}");
    // The same text as somebody's own: the lemmas are asked where they find their registers.
    let lemmas = |own: &Rtl| {
        let made =
            mutants(own, Rules::of(spec).as_ref(), &options().mutants).unwrap_or_else(|e| panic!("{e}"));
        Reachable::find(spec, own, &made, &all, Duration::from_secs(60)).unwrap_or_else(|e| panic!("{e}"))
    };
    let mut own = Rtl { path: Some("own".into()), ..rtl.clone() };
    let again = lemmas(&own).expect("they hold");
    let never = |of: &Reachable, id| of.never_shows(id, false).unwrap_or_else(|e| panic!("{e}"));
    assert!(all.iter().take(10).all(|id| never(&again, *id) == never(&reachable, *id)));
    own.files.iter_mut().for_each(|(_, text)| *text = text.replace("row_1_", "first_row_"));
    assert!(lemmas(&own).is_none());
}

#[test]
fn a_bench_that_complains_of_the_design_itself_is_an_error() {
    /// Never resets, so that nothing is compared.
    struct Never;
    impl Stimulus for Never {
        fn next(&mut self, _cycle: u64, _last: &[u32], inputs: &mut [u32]) {
            inputs.fill(u32::MAX);
        }
    }
    let error = mutate(
        block("window_matrix"),
        &emitted(block("window_matrix")),
        run(Box::new(Never), 10),
        &options(),
        &mut |_| (),
    )
    .expect_err("it is wrong");
    assert!(matches!(error, MutateError::Healthy { .. }), "{error}");
}

#[test]
fn a_bench_that_breaks_a_rule_of_the_page_is_an_error() {
    /// Offers a write every other cycle, and takes it back before it is taken.
    struct Fickle(Layout);
    impl Stimulus for Fickle {
        fn next(&mut self, cycle: u64, _last: &[u32], inputs: &mut [u32]) {
            self.0.slot(RESET).expect("it has a reset").set(inputs, u128::from(cycle > 1));
            let valid = cycle < 50 && cycle % 2 == 1;
            self.0.slot("write_valid_i").expect("it has one").set(inputs, u128::from(valid));
            self.0.slot("write_mask_i").expect("it has one").set(inputs, u32::MAX.into());
        }
    }
    let spec = block("sm_partitions");
    let fickle = Box::new(Fickle(Layout::new(&spec.ports(), Direction::Input)));
    let error =
        mutate(spec, &emitted(spec), run(fickle, 100), &options(), &mut |_| ()).expect_err("it is forbidden");
    assert!(matches!(error, MutateError::Illegal { cycle: 2..20, .. }), "{error}");
}
