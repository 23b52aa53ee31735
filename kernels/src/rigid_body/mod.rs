//! A rigid-body simulator whose kernels depend on which bodies touch.
//!
//! Bodies are spheres that do not turn, above a ground at height 0 (y points up). Before each step the host reads where they are, finds
//! contacts and islands (bodies that touch each other, however indirectly), and brings each island's rows together; then each island gets a
//! chain of kernels of its own: gravity, and where something touches `prepare_contacts` and `solve_contacts`, once per iteration and colour, and
//! `advance`. Islands share no bytes, so that their chains overlap.
//!
//! The solver is sequential impulses (Catto, *Iterative Dynamics with Temporal Coherence*, 2005): Gauss-Seidel over contacts, in parallel within
//! a colour, whose contacts share no body. Restitution, Coulomb friction, penetration taken back by a part per step.
//! Lengths are in metres, times in seconds, masses in kilograms.

mod contacts;
mod kernels;

pub use contacts::{GROUND, MAX_CONTACTS};
pub(crate) use kernels::{kernels, self_check};

use crate::error::{number, size};
use crate::random::Random;
use crate::{Error, Library};
use contacts::Group;
use kernels::Solver;
use windlass_runtime::runtime::{Buffer, Element, Runtime, Ticket};

/// Numbers of a body's row: position, velocity, radius, one divided by the mass.
pub(crate) const BODY: usize = 8;
/// Numbers of a contact's row: normal, wanted speed along it, effective mass, impulse along the normal, impulse of the friction.
pub(crate) const CONTACT: usize = 9;

/// A sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// Of its centre, each coordinate at most 10^5 m from 0; y is up.
    pub position: [f32; 3],
    /// At most 10^3 m/s in each direction.
    pub velocity: [f32; 3],
    /// 0.01 to 100 m.
    pub radius: f32,
    /// 0.001 to 10^6 kg.
    pub mass: f32,
}

/// What is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// 1 to 65536 bodies, of which as many may touch as make [`MAX_CONTACTS`] contacts.
    pub bodies: Vec<Body>,
    /// Acceleration of all bodies; each direction at most 1000 m/s².
    pub gravity: [f32; 3],
    /// Part of the speed that is left after an impact, 0 to 1; impacts slower than 0.5 m/s leave none.
    pub restitution: f32,
    /// Coefficient of Coulomb friction, 0 to 10.
    pub friction: f32,
    /// Length of a step, 10^-4 to 0.1 s.
    pub dt: f32,
    /// 1 to 10^6.
    pub steps: usize,
    /// Rounds of the solver in each step, 1 to 1000.
    pub iterations: usize,
}

impl Config {
    /// These bodies on Earth for a number of steps of 1/60 s, with 20 iterations each, a restitution of 0.3 and a friction of 0.5.
    pub fn new(bodies: Vec<Body>, steps: usize) -> Self {
        let gravity = [0.0, -9.81, 0.0];
        Self { bodies, gravity, restitution: 0.3, friction: 0.5, dt: 1.0 / 60.0, steps, iterations: 20 }
    }

    fn check(&self) -> Result<(), Error> {
        const NAME: &str = "rigid_body";
        size(NAME, "bodies", self.bodies.len(), 1..=65536)?;
        for body in &self.bodies {
            body.position.iter().try_for_each(|x| number(NAME, "position", *x, -1e5..=1e5))?;
            body.velocity.iter().try_for_each(|x| number(NAME, "velocity", *x, -1e3..=1e3))?;
            number(NAME, "radius", body.radius, 0.01..=100.0)?;
            number(NAME, "mass", body.mass, 0.001..=1e6)?;
        }
        self.gravity.iter().try_for_each(|x| number(NAME, "gravity", *x, -1e3..=1e3))?;
        number(NAME, "restitution", self.restitution, 0.0..=1.0)?;
        number(NAME, "friction", self.friction, 0.0..=10.0)?;
        number(NAME, "dt", self.dt, 1e-4..=0.1)?;
        size(NAME, "steps", self.steps, 1..=1_000_000)?;
        size(NAME, "iterations", self.iterations, 1..=1000)?;
        Ok(())
    }
}

/// Spheres of 1 kg and 0.5 m radius one upon the other.
pub fn stack(height: usize) -> Vec<Body> {
    let at = |level: usize| [0.0, 0.5 + level as f32, 0.0];
    let body = |level| Body { position: at(level), velocity: [0.0; 3], radius: 0.5, mass: 1.0 };
    (0..height).map(body).collect()
}

/// Spheres of 0.2 to 0.5 m radius, as heavy as water, that fall in heaps of `heap` onto places 5 m apart; the same for the same seed.
pub fn heaps(heaps: usize, heap: usize, seed: u64) -> Vec<Body> {
    let mut random = Random::new(seed);
    let mut body = |n: usize| {
        let radius = 0.35 + 0.15 * random.signed();
        let place = (n / heap) as f32 * 5.0;
        let position = [place + 0.3 * random.signed(), 0.6 + 1.1 * (n % heap) as f32, 0.3 * random.signed()];
        let mass = 4000.0 / 3.0 * std::f32::consts::PI * radius.powi(3);
        Body { position, velocity: [0.3 * random.signed(), 0.0, 0.3 * random.signed()], radius, mass }
    };
    (0..heaps * heap).map(&mut body).collect()
}

/// What a step was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// Contacts that the solver was given, at the beginning of the step.
    pub contacts: usize,
    /// Islands of two bodies or more.
    pub islands: usize,
    /// Kernels launched.
    pub kernels: u64,
    /// Kinetic and potential energy at the end, in joules.
    pub energy: f64,
    /// The sum of mass times velocity at the end.
    pub momentum: [f64; 3],
    /// How far the two bodies of the worst contact, or a body and the ground, are inside each other at the end, in metres; 0 where none are.
    pub penetration: f64,
}

/// Where it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The bodies at the end, in their order in the configuration.
    pub bodies: Vec<Body>,
    /// What each step was.
    pub steps: Vec<Step>,
}

/// Simulates. All results are the same to the last bit for every window and policy of an executor.
///
/// # Errors
/// [`Error::Range`]: a number out of its range. [`Error::Runtime`]. Buffers are left behind with the runtime then.
pub fn run(rt: &mut Runtime, config: &Config) -> Result<Output, Error> {
    config.check()?;
    let library = Library::register(rt)?;
    let solver = Solver::register(rt)?;
    let count = config.bodies.len();
    let mut rows: Vec<f32> = Vec::with_capacity(count * BODY);
    for body in &config.bodies {
        rows.extend(body.position.iter().chain(&body.velocity).chain(&[body.radius, 1.0 / body.mass]));
    }
    let mut now = rt.buffer_from(&rows)?;
    let mut next = rt.buffer::<f32>(count * BODY)?;
    let index = rt.buffer::<u32>(count)?;
    let (mut pairs, mut contacts) = (rt.buffer::<u32>(2)?, rt.buffer::<f32>(CONTACT)?);
    // Which body a row belongs to.
    let mut owners: Vec<usize> = (0..count).collect();
    let mut steps = Vec::with_capacity(config.steps);
    for _ in 0..config.steps {
        let groups = contacts::groups(&rows, &owners, config.dt)?;
        let found: usize = groups.iter().map(Group::contacts).sum();
        grow(rt, &mut pairs, found * 2)?;
        grow(rt, &mut contacts, found * CONTACT)?;
        let order: Vec<u32> = groups.iter().flat_map(|group| group.rows.iter().copied()).collect();
        let list: Vec<u32> =
            groups.iter().flat_map(|group| group.colours.iter().flatten().flatten().copied()).collect();
        rt.write(index, &order)?;
        if found > 0 {
            rt.write(pairs.slice(0..found * 2), &list)?;
        }
        let (mut row, mut contact) = (0, 0);
        let (mut first, mut last) = (None, Ticket(0));
        for group in &groups {
            let size = group.rows.len();
            let bodies = next.slice(row * BODY..(row + size) * BODY);
            let gathered =
                library.gather_rows(rt, now, index.slice(row..row + size), &bodies, [size, BODY, count])?;
            first.get_or_insert(gathered);
            let by = config.gravity.map(|g| g * config.dt);
            solver.accelerate(rt, &bodies, by)?;
            let all = contact..contact + group.contacts();
            if !all.is_empty() {
                let places = |colour: std::ops::Range<usize>| {
                    (
                        pairs.slice(colour.start * 2..colour.end * 2),
                        contacts.slice(colour.start * CONTACT..colour.end * CONTACT),
                    )
                };
                solver.prepare(rt, &bodies, places(all.clone()), config.dt, config.restitution)?;
                for _ in 0..config.iterations {
                    let mut from = all.start;
                    for colour in &group.colours {
                        solver.solve(rt, &bodies, places(from..from + colour.len()), config.friction)?;
                        from += colour.len();
                    }
                }
            }
            last = solver.advance(rt, &bodies, config.dt)?;
            (row, contact) = (row + size, all.end);
        }
        owners = order.iter().map(|row| owners[*row as usize]).collect();
        std::mem::swap(&mut now, &mut next);
        rows = rt.read(now)?;
        let islands = groups.iter().filter(|group| group.is_island).count();
        let kernels = first.map_or(0, |first| last.0 - first.0 + 1);
        steps.push(measured(&rows, config, Step { contacts: found, islands, kernels, ..Step::default() }));
    }
    rt.release(now)?;
    rt.release(next)?;
    rt.release(index)?;
    rt.release(pairs)?;
    rt.release(contacts)?;
    let mut bodies = config.bodies.clone();
    for (row, owner) in rows.chunks_exact(BODY).zip(owners) {
        bodies[owner].position.copy_from_slice(&row[..3]);
        bodies[owner].velocity.copy_from_slice(&row[3..6]);
    }
    Ok(Output { bodies, steps })
}

/// A larger buffer where this one is too small.
fn grow<T: Element>(rt: &mut Runtime, buffer: &mut Buffer<T>, want: usize) -> Result<(), Error> {
    if buffer.len() < want {
        let larger = rt.buffer(want.next_power_of_two())?;
        rt.release(std::mem::replace(buffer, larger))?;
    }
    Ok(())
}

/// A step's sums over all bodies.
fn measured(rows: &[f32], config: &Config, mut step: Step) -> Step {
    for row in rows.chunks_exact(BODY) {
        let wide: [f64; BODY] = std::array::from_fn(|i| f64::from(row[i]));
        let mass = 1.0 / wide[7];
        for axis in 0..3 {
            let (place, speed) = (wide[axis], wide[3 + axis]);
            step.energy += mass * (0.5 * speed * speed - f64::from(config.gravity[axis]) * place);
            step.momentum[axis] += mass * speed;
        }
    }
    step.penetration = contacts::deepest(rows);
    step
}
