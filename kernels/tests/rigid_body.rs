//! The simulator: physics that must hold, the same bits for every window and policy, other kernels for other scenes.

mod common;

use common::{recorded, runtime};
use windlass_kernels::Error;
use windlass_kernels::rigid_body::{Body, Config, Output, heaps, run, stack};
use windlass_runtime::graph::DependencyGraph;
use windlass_runtime::runtime::Policy;

fn simulate(config: &Config) -> Output {
    run(&mut runtime(Policy::Window, 32, 2), config).unwrap()
}

fn speed(body: &Body) -> f32 {
    body.velocity.iter().map(|v| v * v).sum::<f32>().sqrt()
}

#[test]
fn a_body_falls_as_it_should() {
    let body = Body { position: [0.0, 100.0, 0.0], velocity: [1.0, 2.0, 0.0], radius: 0.5, mass: 2.0 };
    let config = Config::new(vec![body], 60);
    let fallen = simulate(&config).bodies[0];
    let (time, steps) = (1.0, 60.0);
    // Symplectic Euler: the sum of n (n + 1) / 2 steps of g dt².
    let height = 100.0 + 2.0 * time - 9.81 / 2.0 * time * time * (1.0 + 1.0 / steps);
    assert!((fallen.position[1] - height).abs() < 1e-3, "{fallen:?}");
    assert!((fallen.position[0] - 1.0).abs() < 1e-5 && (fallen.velocity[1] - (2.0 - 9.81)).abs() < 1e-4);
}

#[test]
fn a_stack_stays_where_it_is() {
    let config = Config::new(stack(5), 300);
    let output = simulate(&config);
    for (now, before) in output.bodies.iter().zip(&config.bodies) {
        for axis in 0..3 {
            assert!((now.position[axis] - before.position[axis]).abs() < 0.02, "{now:?}, {before:?}");
        }
        assert!(speed(now) < 0.01, "{now:?}");
    }
    assert!(output.steps.iter().all(|step| step.penetration < 0.02), "{:?}", output.steps.last());
    assert_eq!(output.steps[0].contacts, 5);
}

/// Two bodies without gravity: the sum of momenta stays, and the speeds are those of Newton's law of impact.
#[test]
fn a_collision_keeps_the_momentum() {
    for (restitution, masses) in [(0.0, [1.0, 1.0]), (0.5, [1.0, 3.0]), (1.0, [2.0, 0.5])] {
        let body = |x, speed, mass| Body {
            position: [x, 50.0, 0.0],
            velocity: [speed, 0.0, 0.0],
            radius: 0.5,
            mass,
        };
        let bodies = vec![body(-2.0, 3.0, masses[0]), body(2.0, -1.0, masses[1])];
        let config = Config { gravity: [0.0; 3], restitution, ..Config::new(bodies, 90) };
        let output = simulate(&config);
        let before = f64::from(3.0 * masses[0] - masses[1]);
        for step in &output.steps {
            assert!((step.momentum[0] - before).abs() < 1e-5 && step.momentum[1].abs() < 1e-6, "{step:?}");
            assert!(step.penetration < 1e-3, "{step:?}");
        }
        let parted = output.bodies[1].velocity[0] - output.bodies[0].velocity[0];
        assert!((parted - restitution * 4.0).abs() < 1e-3, "restitution {restitution}: {parted}");
    }
}

/// What is dropped in heaps loses energy, ends at rest, and is never deep inside anything.
#[test]
fn heaps_come_to_rest() {
    for seed in 0..3 {
        let config = Config::new(heaps(2, 6, seed), 400);
        let output = simulate(&config);
        let first = output.steps[0].energy;
        let deepest = output.steps.iter().map(|step| step.penetration).fold(0.0, f64::max);
        assert!(deepest < 0.06, "seed {seed}: {deepest}");
        for pair in output.steps.windows(2) {
            assert!(pair[1].energy < pair[0].energy + 0.02 * first, "seed {seed}: {pair:?}");
        }
        let end = output.steps.last().unwrap();
        assert!(end.energy < first && end.penetration < 0.02, "seed {seed}: {end:?}");
        assert!(output.bodies.iter().all(|body| speed(body) < 0.3), "seed {seed}: {:?}", output.bodies);
    }
}

#[test]
fn friction_stops_what_slides() {
    let body = Body { position: [0.0, 0.5, 0.0], velocity: [2.0, 0.0, 0.0], radius: 0.5, mass: 1.0 };
    let slid = |friction| simulate(&Config { friction, ..Config::new(vec![body], 120) }).bodies[0];
    // v² / (2 μ g), and on for ever without friction.
    assert!((slid(0.5).position[0] - 4.0 / (2.0 * 0.5 * 9.81)).abs() < 0.03, "{:?}", slid(0.5));
    assert!((slid(0.0).position[0] - 4.0).abs() < 1e-3, "{:?}", slid(0.0));
}

#[test]
fn every_window_gives_the_bits_of_serial() {
    let bits = |output: &Output| -> Vec<u32> {
        output
            .bodies
            .iter()
            .flat_map(|body| body.position.into_iter().chain(body.velocity))
            .map(f32::to_bits)
            .collect()
    };
    for seed in 0..4 {
        let config = Config { iterations: 6, ..Config::new(heaps(3, 4, seed), 60) };
        let serial = run(&mut runtime(Policy::Serial, 32, 1), &config).unwrap();
        for (window, threads) in [(4, 2), (32, 4), (256, 3)] {
            let output = run(&mut runtime(Policy::Window, window, threads), &config).unwrap();
            assert_eq!(bits(&serial), bits(&output), "seed {seed}, window {window}, {threads} threads");
            assert_eq!(serial, output);
        }
    }
}

/// The bodies' order, and so who is first in an island, is nothing that physics knows: only rounding may differ.
#[test]
fn islands_do_not_depend_on_each_other() {
    let both = simulate(&Config::new(heaps(2, 4, 5), 50));
    let one = simulate(&Config::new(heaps(2, 4, 5)[..4].to_vec(), 50));
    assert_eq!(both.bodies[..4], one.bodies[..]);
}

#[test]
fn the_recorded_graph_depends_on_the_contacts() {
    let graph = |bodies: Vec<Body>| {
        let mut rt = runtime(Policy::Window, 32, 2);
        let output = run(&mut rt, &Config { iterations: 4, ..Config::new(bodies, 3) }).unwrap();
        let trace = recorded(&mut rt);
        let kernels: Vec<_> = trace.kernels().collect();
        assert_eq!(kernels.len() as u64, output.steps.iter().map(|step| step.kernels).sum::<u64>());
        let graph = DependencyGraph::build(&kernels).unwrap();
        (graph.len(), graph.depth(), graph.width())
    };
    let mut apart = stack(4);
    apart.iter_mut().enumerate().for_each(|(i, body)| body.position = [3.0 * i as f32, 10.0, 0.0]);
    // Nothing touches: gathered, accelerated, advanced, three times.
    assert_eq!(graph(apart), (9, 9, 1));
    let (kernels, depth, width) = graph(stack(4));
    assert!(kernels > 9 && kernels == depth as usize && width == 1, "{kernels} {depth} {width}");
    let mut stacks = stack(4);
    stacks.extend(stack(4).into_iter().map(|body| Body { position: [5.0, body.position[1], 0.0], ..body }));
    // Twice as many kernels in the same depth: islands overlap.
    assert_eq!(graph(stacks), (2 * kernels, depth, 2));
}

#[test]
fn wrong_configurations_are_refused() {
    let good = Config::new(stack(2), 1);
    let mut rt = runtime(Policy::Window, 32, 1);
    let mut refused = |config: Config, name: &str| match run(&mut rt, &config).unwrap_err() {
        Error::Range { field, .. } => assert_eq!(field, name),
        error => panic!("{error}"),
    };
    let with = |change: fn(&mut Body)| {
        let mut config = good.clone();
        change(&mut config.bodies[1]);
        config
    };
    refused(Config { bodies: Vec::new(), ..good.clone() }, "bodies");
    refused(with(|body| body.radius = 0.0), "radius");
    refused(with(|body| body.mass = f32::INFINITY), "mass");
    refused(with(|body| body.position[2] = f32::NAN), "position");
    refused(with(|body| body.velocity[0] = 2e3), "velocity");
    refused(Config { gravity: [0.0, 1e4, 0.0], ..good.clone() }, "gravity");
    refused(Config { restitution: 1.1, ..good.clone() }, "restitution");
    refused(Config { friction: -0.1, ..good.clone() }, "friction");
    refused(Config { dt: 0.0, ..good.clone() }, "dt");
    refused(Config { steps: 0, ..good.clone() }, "steps");
    refused(Config { iterations: 0, ..good.clone() }, "iterations");
    // 1500 at one place touch each other, which is 1.1 million contacts.
    refused(Config { bodies: vec![good.bodies[0]; 1500], ..good.clone() }, "contacts");
}

/// Bodies at the same place, far apart, large and small: it goes on, and nothing is beyond numbers.
#[test]
fn degenerate_scenes_go_on() {
    let body = |position, radius, mass| Body { position, velocity: [0.0; 3], radius, mass };
    let bodies = vec![
        body([0.0, 5.0, 0.0], 1.0, 1.0),
        body([0.0, 5.0, 0.0], 1.0, 1.0),
        body([0.0, -3.0, 0.0], 0.01, 1e6),
        body([1e5, 1e5, -1e5], 100.0, 0.001),
    ];
    let output = simulate(&Config::new(bodies, 30));
    assert!(output.bodies.iter().flat_map(|body| body.position).all(f32::is_finite), "{:?}", output.bodies);
}
