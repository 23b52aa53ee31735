//! The simulator's own kernels.

use super::{BODY, CONTACT, GROUND};
use crate::check::largest_error;
use crate::error::{ctas, length};
use crate::random::Random;
use crate::{Error, SelfCheck};
use windlass_runtime::args;
use windlass_runtime::runtime::{Arg, CtaResult, CudaKernel, Kernel, Registered, Runtime, Ticket, View};

const THREADS: usize = 64;

/// A contact's arithmetic: in `f32` for the kernels, in `f64` to compare them with. The CUDA text says the same.
macro_rules! arithmetic {
    ($name:ident, $float:ty) => {
        mod $name {
            use super::super::{BODY, CONTACT};

            /// So far inside each other bodies may stay, in metres.
            const SLOP: $float = 0.005;
            /// The part of the rest that a step takes back.
            const TAKEN_BACK: $float = 0.2;
            /// Impacts slower than this, in metres per second, do not bounce.
            const BOUNCE: $float = 0.5;

            fn dot(a: [$float; 3], b: [$float; 3]) -> $float {
                a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
            }

            fn relative(a: &[$float; BODY], b: Option<&[$float; BODY]>) -> [$float; 3] {
                std::array::from_fn(|axis| b.map_or(0.0, |b| b[3 + axis]) - a[3 + axis])
            }

            /// A contact's row; without a second body, of the ground.
            pub(super) fn prepare(
                a: &[$float; BODY],
                b: Option<&[$float; BODY]>,
                dt: $float,
                restitution: $float,
            ) -> [$float; CONTACT] {
                let (normal, gap) = match b {
                    None => ([0.0, -1.0, 0.0], a[1] - a[6]),
                    Some(b) => {
                        let between: [$float; 3] = std::array::from_fn(|axis| b[axis] - a[axis]);
                        let distance = dot(between, between).sqrt();
                        let normal =
                            if distance > 0.0 { between.map(|x| x / distance) } else { [0.0, 1.0, 0.0] };
                        (normal, distance - a[6] - b[6])
                    }
                };
                let speed = dot(relative(a, b), normal);
                let touch = if gap > 0.0 { -gap / dt } else { TAKEN_BACK * (-gap - SLOP).max(0.0) / dt };
                let bounces = speed < -BOUNCE && gap + speed * dt < 0.0;
                let wanted = if bounces { touch.max(-restitution * speed) } else { touch };
                let mass = 1.0 / (a[7] + b.map_or(0.0, |b| b[7]));
                [normal[0], normal[1], normal[2], wanted, mass, 0.0, 0.0, 0.0, 0.0]
            }

            /// Gives both bodies the impulse that brings them to the wanted speed; all impulses together push and do not pull, and
            /// friction is at most the coefficient times that.
            pub(super) fn solve(
                a: &mut [$float; BODY],
                b: Option<&mut [$float; BODY]>,
                contact: &mut [$float; CONTACT],
                friction: $float,
            ) {
                let normal = [contact[0], contact[1], contact[2]];
                let mass = contact[4];
                let speeds = relative(a, b.as_deref());
                let along = dot(speeds, normal);
                let push = (contact[5] + mass * (contact[3] - along)).max(0.0);
                let more = push - contact[5];
                contact[5] = push;
                let before = [contact[6], contact[7], contact[8]];
                let mut rub: [$float; 3] =
                    std::array::from_fn(|axis| before[axis] - mass * (speeds[axis] - along * normal[axis]));
                let (size, most) = (dot(rub, rub).sqrt(), friction * push);
                if size > most {
                    rub = rub.map(|x| x * (most / size));
                }
                contact[6..9].copy_from_slice(&rub);
                let impulse: [$float; 3] =
                    std::array::from_fn(|axis| more * normal[axis] + (rub[axis] - before[axis]));
                for axis in 0..3 {
                    a[3 + axis] -= a[7] * impulse[axis];
                }
                if let Some(b) = b {
                    for axis in 0..3 {
                        b[3 + axis] += b[7] * impulse[axis];
                    }
                }
            }
        }
    };
}
arithmetic!(single, f32);
arithmetic!(double, f64);

fn row<const N: usize>(get: impl Fn(usize) -> f32, row: usize) -> [f32; N] {
    std::array::from_fn(|i| get(row * N + i))
}

/// The rows of a contact's bodies; on the CPU one that is not there is the kernel's failure.
fn ends(pair: [u32; 2], bodies: usize) -> Result<(usize, Option<usize>), String> {
    let inside = |end: u32| (end as usize) < bodies;
    let [a, b] = pair;
    if inside(a) && (b == GROUND || inside(b)) && a != b {
        Ok((a as usize, (b != GROUND).then_some(b as usize)))
    } else {
        Err(format!("a contact of bodies {a} and {b}; there are {bodies}"))
    }
}

fn text(entry: &'static str) -> CudaKernel {
    CudaKernel::source(include_str!("rigid_body.cu"), entry)
}

fn accelerate() -> Kernel {
    let kernel = Kernel::new("accelerate").read_write_of::<f32>("bodies").value_of::<u32>("count");
    kernel
        .value_of::<f32>("x")
        .value_of::<f32>("y")
        .value_of::<f32>("z")
        .body(|cta| {
            let (bodies, count) = (cta.read_write::<f32>(0)?, cta.value::<u32>(1)? as usize);
            let by = [cta.value::<f32>(2)?, cta.value::<f32>(3)?, cta.value::<f32>(4)?];
            for body in cta.threads().take_while(|body| *body < count) {
                for (axis, by) in by.iter().enumerate() {
                    let at = body * BODY + 3 + axis;
                    bodies.set(at, bodies.get(at) + by);
                }
            }
            Ok(())
        })
        .cuda(text("accelerate"))
}

fn advance() -> Kernel {
    Kernel::new("advance")
        .read_write_of::<f32>("bodies")
        .value_of::<u32>("count")
        .value_of::<f32>("dt")
        .body(|cta| {
            let (bodies, count) = (cta.read_write::<f32>(0)?, cta.value::<u32>(1)? as usize);
            let dt = cta.value::<f32>(2)?;
            for body in cta.threads().take_while(|body| *body < count) {
                for at in body * BODY..body * BODY + 3 {
                    bodies.set(at, bodies.get(at) + dt * bodies.get(at + 3));
                }
            }
            Ok(())
        })
        .cuda(text("advance"))
}

fn prepare_contacts() -> Kernel {
    let kernel = Kernel::new("prepare_contacts")
        .read_of::<f32>("bodies")
        .read_of::<u32>("pairs")
        .write_of::<f32>("contacts");
    kernel
        .value_of::<u32>("count")
        .value_of::<u32>("body_count")
        .value_of::<f32>("dt")
        .value_of::<f32>("restitution")
        .body(|cta| -> CtaResult {
            let (bodies, pairs, contacts) = (cta.read::<f32>(0)?, cta.read::<u32>(1)?, cta.write::<f32>(2)?);
            let (count, body_count) = (cta.value::<u32>(3)? as usize, cta.value::<u32>(4)? as usize);
            let (dt, restitution) = (cta.value::<f32>(5)?, cta.value::<f32>(6)?);
            let body = |at| row(|i| bodies.get(i), at);
            for contact in cta.threads().take_while(|contact| *contact < count) {
                let (a, b) = ends([pairs.get(contact * 2), pairs.get(contact * 2 + 1)], body_count)?;
                let made = single::prepare(&body(a), b.map(body).as_ref(), dt, restitution);
                made.into_iter().enumerate().for_each(|(i, x)| contacts.set(contact * CONTACT + i, x));
            }
            Ok(())
        })
        .cuda(text("prepare_contacts"))
}

fn solve_contacts() -> Kernel {
    let kernel = Kernel::new("solve_contacts")
        .read_write_of::<f32>("bodies")
        .read_of::<u32>("pairs")
        .read_write_of::<f32>("contacts");
    kernel
        .value_of::<u32>("count")
        .value_of::<u32>("body_count")
        .value_of::<f32>("friction")
        .body(|cta| -> CtaResult {
            let (bodies, pairs) = (cta.read_write::<f32>(0)?, cta.read::<u32>(1)?);
            let contacts = cta.read_write::<f32>(2)?;
            let (count, body_count) = (cta.value::<u32>(3)? as usize, cta.value::<u32>(4)? as usize);
            let friction = cta.value::<f32>(5)?;
            let body = |at| row(|i| bodies.get(i), at);
            let store =
                |at: usize, body: [f32; BODY]| (3..6).for_each(|i| bodies.set(at * BODY + i, body[i]));
            for at in cta.threads().take_while(|at| *at < count) {
                let (a, b) = ends([pairs.get(at * 2), pairs.get(at * 2 + 1)], body_count)?;
                let (mut first, mut second) = (body(a), b.map(body));
                let mut contact = row(|i| contacts.get(i), at);
                single::solve(&mut first, second.as_mut(), &mut contact, friction);
                store(a, first);
                if let (Some(b), Some(second)) = (b, second) {
                    store(b, second);
                }
                // Normal, speed and mass stay.
                (5..CONTACT).for_each(|i| contacts.set(at * CONTACT + i, contact[i]));
            }
            Ok(())
        })
        .cuda(text("solve_contacts"))
}

pub(crate) fn kernels() -> [Kernel; 4] {
    [accelerate(), prepare_contacts(), solve_contacts(), advance()]
}

/// The kernels as a runtime knows them. Views are of whole rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Solver {
    accelerate: Registered,
    prepare: Registered,
    solve: Registered,
    advance: Registered,
}

impl Solver {
    pub(super) fn register(rt: &mut Runtime) -> Result<Self, Error> {
        let [accelerate, prepare, solve, advance] = kernels();
        Ok(Self {
            accelerate: rt.register(accelerate)?,
            prepare: rt.register(prepare)?,
            solve: rt.register(solve)?,
            advance: rt.register(advance)?,
        })
    }

    /// A thread for each of `count` rows.
    fn launch(rt: &mut Runtime, kernel: Registered, count: u32, list: &[Arg]) -> Result<Ticket, Error> {
        Ok(rt.launch(kernel, ctas(count as usize, THREADS), THREADS as u32, list)?)
    }

    pub(super) fn accelerate(
        self,
        rt: &mut Runtime,
        bodies: &View<f32>,
        [x, y, z]: [f32; 3],
    ) -> Result<Ticket, Error> {
        let count = (length(bodies) / BODY) as u32;
        Self::launch(rt, self.accelerate, count, args![bodies, count, x, y, z])
    }

    pub(super) fn advance(self, rt: &mut Runtime, bodies: &View<f32>, dt: f32) -> Result<Ticket, Error> {
        let count = (length(bodies) / BODY) as u32;
        Self::launch(rt, self.advance, count, args![bodies, count, dt])
    }

    pub(super) fn prepare(
        self,
        rt: &mut Runtime,
        bodies: &View<f32>,
        (pairs, contacts): (View<u32>, View<f32>),
        dt: f32,
        restitution: f32,
    ) -> Result<Ticket, Error> {
        let (count, body_count) = ((length(&pairs) / 2) as u32, (length(bodies) / BODY) as u32);
        let list = args![bodies, pairs, contacts, count, body_count, dt, restitution];
        Self::launch(rt, self.prepare, count, list)
    }

    pub(super) fn solve(
        self,
        rt: &mut Runtime,
        bodies: &View<f32>,
        (pairs, contacts): (View<u32>, View<f32>),
        friction: f32,
    ) -> Result<Ticket, Error> {
        let (count, body_count) = ((length(&pairs) / 2) as u32, (length(bodies) / BODY) as u32);
        let list = args![bodies, pairs, contacts, count, body_count, friction];
        Self::launch(rt, self.solve, count, list)
    }
}

/// Bodies of a heap of their own making, each kernel after the other, each from what the last one really left.
pub(crate) fn self_check(
    rt: &mut Runtime,
    random: &mut Random,
    list: &mut Vec<SelfCheck>,
) -> Result<(), Error> {
    const BODIES: usize = 151;
    const COUNT: usize = 80;
    // Positions of metres and steps of 1/64 s make speeds that are off by some hundred units of the last place.
    const TOLERANCE: f64 = 2048.0 / (1u64 << 24) as f64;
    let solver = Solver::register(rt)?;
    let (dt, restitution, friction) = (1.0f32 / 64.0, 0.5f32, 0.4f32);
    let mut values = random.vector(BODIES * BODY, 2.0);
    for body in values.chunks_exact_mut(BODY) {
        (body[6], body[7]) = (0.3 + body[6].abs(), 0.1 + body[7].abs());
    }
    // Each body once: the first 71 contacts have two, the others the ground.
    let pair = |at: u32| if at < 71 { [at, BODIES as u32 - 1 - at] } else { [at, GROUND] };
    let pairs_list: Vec<[u32; 2]> = (0..COUNT as u32).map(pair).collect();
    let bodies = rt.buffer_from(&values)?;
    let pairs = rt.buffer_from(&pairs_list.concat())?;
    let contacts = rt.buffer_from(&[f32::NAN; COUNT * CONTACT])?;
    let (whole, places) = ((&bodies).into(), (pairs.into(), contacts.into()));
    let mut compare = |kernel: &str, got: &[f32], want: &[f64]| {
        let error = largest_error(got, want.iter().map(|x| (*x, 1.0 + x.abs())));
        let shape = format!("{BODIES} bodies, {COUNT} contacts");
        list.push(SelfCheck { kernel: kernel.into(), shape, error, tolerance: TOLERANCE });
    };
    let wide = |values: &[f32]| values.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    let rows = |values: &[f64]| -> Vec<[f64; BODY]> {
        values.chunks_exact(BODY).map(|row| std::array::from_fn(|i| row[i])).collect()
    };

    solver.accelerate(rt, &whole, [0.25, -1.0, 0.5])?;
    let mut want = rows(&wide(&values));
    want.iter_mut()
        .for_each(|body| (body[3], body[4], body[5]) = (body[3] + 0.25, body[4] - 1.0, body[5] + 0.5));
    values = rt.read(bodies)?;
    compare("accelerate", &values, &want.concat());

    let (dt_wide, restitution_wide, friction_wide) =
        (f64::from(dt), f64::from(restitution), f64::from(friction));
    solver.prepare(rt, &whole, places.clone(), dt, restitution)?;
    let before = rows(&wide(&values));
    let want: Vec<[f64; CONTACT]> = pairs_list
        .iter()
        .map(|[a, b]| {
            double::prepare(&before[*a as usize], before.get(*b as usize), dt_wide, restitution_wide)
        })
        .collect();
    let mut made = rt.read(contacts)?;
    compare("prepare_contacts", &made, &want.concat());

    // Twice: the second time there are impulses already.
    for _ in 0..2 {
        solver.solve(rt, &whole, places.clone(), friction)?;
        let (mut want, wide_made) = (rows(&wide(&values)), wide(&made));
        let mut want_made = Vec::new();
        for ([a, b], contact) in pairs_list.iter().zip(wide_made.chunks_exact(CONTACT)) {
            let mut contact = std::array::from_fn(|i| contact[i]);
            let mut first = want[*a as usize];
            double::solve(&mut first, want.get_mut(*b as usize), &mut contact, friction_wide);
            want[*a as usize] = first;
            want_made.extend(contact);
        }
        (values, made) = (rt.read(bodies)?, rt.read(contacts)?);
        compare("solve_contacts", &values, &want.concat());
        compare("solve_contacts", &made, &want_made);
    }

    solver.advance(rt, &whole, dt)?;
    let mut want = rows(&wide(&values));
    want.iter_mut().for_each(|body| (0..3).for_each(|axis| body[axis] += dt_wide * body[3 + axis]));
    compare("advance", &rt.read(bodies)?, &want.concat());
    Ok(())
}
