//! Who touches whom: the host's part of a step.

use super::BODY;
use crate::Error;
use crate::error::size;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// The second body of a contact with the ground.
pub const GROUND: u32 = u32::MAX;

/// Contacts of a step, at most: what the host holds of them takes 100 MB.
pub const MAX_CONTACTS: usize = 1 << 20;

/// Bodies nearer than this, and nearer than they can come in a step, are contacts too: those that touch only now and then would tremble.
const NEAR: f32 = 0.02;

/// Bodies whose kernels are launched together.
#[derive(Debug)]
pub(super) struct Group {
    /// Their rows in the state before the step.
    pub(super) rows: Vec<u32>,
    /// Contacts by colour; those of one colour share no body. Bodies are numbered within the group.
    pub(super) colours: Vec<Vec<[u32; 2]>>,
    /// Two bodies or more that touch each other; else bodies that touch at most the ground.
    pub(super) is_island: bool,
}

impl Group {
    pub(super) fn contacts(&self) -> usize {
        self.colours.iter().map(Vec::len).sum()
    }
}

/// A row's numbers.
fn body(rows: &[f32], row: usize) -> [f32; BODY] {
    std::array::from_fn(|i| rows[row * BODY + i])
}

/// Speed of a body, at most.
fn speed(body: &[f32; BODY]) -> f32 {
    body[3..6].iter().map(|v| v.abs()).sum()
}

/// The distance of two surfaces; below 0 where they are inside each other.
fn gap(a: &[f32; BODY], b: &[f32; BODY]) -> f32 {
    let squares: f32 = (0..3).map(|axis| (b[axis] - a[axis]).powi(2)).sum();
    squares.sqrt() - a[6] - b[6]
}

/// Calls for each two rows whose extents along one axis, made larger by `margin` each, meet, until a call fails. The axis is the one along which
/// the bodies are spread most, so that of a tower, too, few extents meet.
fn each_near<E>(
    rows: &[f32],
    margin: impl Fn(&[f32; BODY]) -> f32,
    mut found: impl FnMut(usize, usize) -> Result<(), E>,
) -> Result<(), E> {
    let bodies = rows.len() / BODY;
    let spread = |axis: &usize| {
        let places = (0..bodies).map(|row| body(rows, row)[*axis]);
        let (least, most) =
            places.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), at| (a.min(at), b.max(at)));
        most - least
    };
    let axis = (0..3).max_by(|a, b| spread(a).total_cmp(&spread(b))).unwrap_or(0);
    let extent = |row: usize| {
        let body = body(rows, row);
        let reach = body[6] + margin(&body);
        (body[axis] - reach, body[axis] + reach, row)
    };
    let mut extents: Vec<_> = (0..bodies).map(extent).collect();
    extents.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
    for (i, (_, end, a)) in extents.iter().enumerate() {
        for (_, _, b) in extents[i + 1..].iter().take_while(|next| next.0 <= *end) {
            found(*a, *b)?;
        }
    }
    Ok(())
}

/// All contacts that a step can bring, by rows; in the order of the bodies, so that it does not matter where their rows lie.
fn touching(rows: &[f32], owners: &[usize], dt: f32) -> Result<Vec<[u32; 2]>, Error> {
    let margin = |body: &[f32; BODY]| NEAR + dt * speed(body);
    let mut pairs = Vec::new();
    each_near(rows, margin, |a, b| {
        let (one, other) = (body(rows, a), body(rows, b));
        if gap(&one, &other) <= margin(&one) + margin(&other) {
            let (a, b) = if owners[a] < owners[b] { (a, b) } else { (b, a) };
            pairs.push([a as u32, b as u32]);
        }
        // One for each body with the ground comes yet.
        size("rigid_body", "contacts", pairs.len() + owners.len(), 0..=MAX_CONTACTS).map(|_| ())
    })?;
    for row in 0..owners.len() {
        let body = body(rows, row);
        if body[1] - body[6] <= margin(&body) {
            pairs.push([row as u32, GROUND]);
        }
    }
    let owner = |row: u32| owners.get(row as usize).copied().unwrap_or(usize::MAX);
    pairs.sort_by_key(|[a, b]| (owner(*a), owner(*b)));
    Ok(pairs)
}

/// The first row of a row's island.
fn root(parents: &mut [usize], mut row: usize) -> usize {
    while parents[row] != row {
        parents[row] = parents[parents[row]];
        row = parents[row];
    }
    row
}

/// All bodies in groups: islands in the order of their first body, then all that touch nothing but the ground, then all that touch nothing.
///
/// # Errors
/// [`Error::Range`]: more than [`MAX_CONTACTS`] contacts.
pub(super) fn groups(rows: &[f32], owners: &[usize], dt: f32) -> Result<Vec<Group>, Error> {
    let pairs = touching(rows, owners, dt)?;
    let mut parents: Vec<usize> = (0..owners.len()).collect();
    let (mut in_island, mut grounded) = (vec![false; owners.len()], vec![false; owners.len()]);
    for [a, b] in &pairs {
        let a = *a as usize;
        if *b == GROUND {
            grounded[a] = true;
            continue;
        }
        let b = *b as usize;
        (in_island[a], in_island[b]) = (true, true);
        let (a, b) = (root(&mut parents, a), root(&mut parents, b));
        parents[b] = a;
    }
    // Rows in the order of their bodies.
    let mut by_owner: Vec<usize> = (0..owners.len()).collect();
    by_owner.sort_by_key(|row| owners[*row]);
    let mut keys = BTreeMap::new();
    let (mut groups, mut alone): (Vec<Group>, [Vec<u32>; 2]) = (Vec::new(), Default::default());
    for row in by_owner {
        if in_island[row] {
            let island = *keys.entry(root(&mut parents, row)).or_insert(groups.len());
            if island == groups.len() {
                groups.push(Group { rows: Vec::new(), colours: Vec::new(), is_island: true });
            }
            groups[island].rows.push(row as u32);
        } else {
            alone[usize::from(!grounded[row])].push(row as u32);
        }
    }
    for rows in alone.into_iter().filter(|rows| !rows.is_empty()) {
        groups.push(Group { rows, colours: Vec::new(), is_island: false });
    }
    colour(&mut groups, &pairs, owners.len());
    Ok(groups)
}

/// Gives each contact the first colour that neither of its bodies has yet.
fn colour(groups: &mut [Group], pairs: &[[u32; 2]], count: usize) {
    let mut places = vec![(0, 0); count];
    for (number, group) in groups.iter().enumerate() {
        for (place, row) in group.rows.iter().enumerate() {
            places[*row as usize] = (number, place as u32);
        }
    }
    // Per body, whether it has a colour.
    let mut taken: Vec<Vec<bool>> = vec![Vec::new(); count];
    for [a, b] in pairs {
        let (group, first) = places[*a as usize];
        let second = places.get(*b as usize).map_or(GROUND, |place| place.1);
        let ends = [Some(*a as usize), (*b != GROUND).then_some(*b as usize)];
        let free = |colour: &usize| {
            ends.iter().flatten().all(|end| !taken[*end].get(*colour).copied().unwrap_or(false))
        };
        let colour = (0..).find(free).unwrap_or(0);
        for end in ends.into_iter().flatten() {
            let mine = &mut taken[end];
            mine.resize(mine.len().max(colour + 1), false);
            mine[colour] = true;
        }
        let colours = &mut groups[group].colours;
        colours.resize(colours.len().max(colour + 1), Vec::new());
        colours[colour].push([first, second]);
    }
}

/// How far two bodies, or one and the ground, are inside each other, at most.
pub(super) fn deepest(rows: &[f32]) -> f64 {
    let mut deepest = 0.0f32;
    let Ok(()) = each_near(
        rows,
        |_| 0.0,
        |a, b| {
            deepest = deepest.max(-gap(&body(rows, a), &body(rows, b)));
            Ok::<(), Infallible>(())
        },
    );
    let ground = (0..rows.len() / BODY).map(|row| body(rows, row)).map(|body| body[6] - body[1]);
    f64::from(ground.fold(deepest, f32::max))
}

#[cfg(test)]
mod tests {
    use super::super::heaps;
    use super::*;
    use std::collections::{BTreeSet, HashSet};

    /// Against all pairs one by one: every contact is in a colour, once; a colour's contacts share no body; groups share no body, and a
    /// contact's bodies are of one group.
    #[test]
    fn contacts_are_found_and_coloured() {
        for seed in 0..20 {
            let bodies = heaps(4, 9, seed);
            let row = |body: &crate::rigid_body::Body| {
                let mut row = [0.0; BODY];
                // Nearer than they would fall, so that many touch.
                (0..3).for_each(|axis| row[axis] = 0.5 * body.position[axis]);
                (row[1], row[6], row[7]) = (0.4 * row[1], body.radius, 1.0 / body.mass);
                row
            };
            let rows: Vec<f32> = bodies.iter().flat_map(row).collect();
            let count = bodies.len();
            let owners: Vec<usize> = (0..count).map(|row| (row * 7 + 3) % count).collect();
            let mut want = BTreeSet::new();
            for a in 0..count {
                let one = body(&rows, a);
                if one[1] - one[6] <= NEAR {
                    want.insert((a as u32, GROUND));
                }
                for b in (0..count).filter(|b| owners[a] < owners[*b]) {
                    if gap(&one, &body(&rows, b)) <= 2.0 * NEAR {
                        want.insert((a as u32, b as u32));
                    }
                }
            }
            assert!(want.len() > count, "seed {seed}: {} contacts", want.len());
            let (mut found, mut seen) = (Vec::new(), HashSet::new());
            for group in groups(&rows, &owners, 0.01).unwrap() {
                assert!(group.rows.iter().all(|row| seen.insert(*row)), "seed {seed}");
                for colour in &group.colours {
                    let mut taken = HashSet::new();
                    for [a, b] in colour {
                        assert!(
                            taken.insert(*a) && (*b == GROUND || taken.insert(*b)),
                            "seed {seed}: {colour:?}"
                        );
                        let place = |end: u32| group.rows.get(end as usize).copied().unwrap_or(GROUND);
                        found.push((place(*a), place(*b)));
                    }
                }
            }
            found.sort();
            assert_eq!(found, want.into_iter().collect::<Vec<_>>(), "seed {seed}");
            assert_eq!(seen.len(), count, "seed {seed}");
        }
    }
}
