//! Small circuits of library cells, by what they compute: what a cone of gates can be replaced by.

use super::library::{Kind, TimedCell, TimingLibrary, table};
use std::collections::HashMap;
use std::rc::Rc;

/// Inputs of a cone at most.
pub(crate) const LEAVES: usize = 6;
/// Circuits for one function at most: the smallest.
const PER_FUNCTION: usize = 12;

/// Where an input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Input of the circuit.
    Leaf(usize),
    /// Output of a gate before.
    Gate(usize),
}

/// A circuit with one output, a tree; each leaf is read once.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Smallest cell of each gate's family, and the source of each of its inputs in the order of [`Cells::inputs`]; the output is the
    /// last gate's.
    pub(crate) gates: Vec<(usize, Vec<Source>)>,
    pub(crate) leaves: usize,
    pub(crate) table: u64,
    pub(crate) area: f32,
}

/// What each cell computes, and the circuits that can be made.
#[derive(Debug)]
pub(crate) struct Shapes {
    /// Of each cell that is a plain gate: inputs, output, table.
    pub(crate) gates: Vec<Option<Gate>>,
    /// By key, for each function one table and its circuits.
    /// How many of the parts are one gate.
    single: usize,
    by_function: HashMap<Key, Vec<(u64, Vec<Shape>)>>,
}

/// A cell with one output that all inputs matter to.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) inputs: Vec<usize>,
    pub(crate) output: usize,
    pub(crate) table: u64,
}

fn gate(cell: &TimedCell) -> Option<Gate> {
    let inputs: Vec<usize> = (0..cell.pins.len()).filter(|p| !cell.output[*p]).collect();
    if cell.kind != Kind::Logic || inputs.len() + 1 != cell.pins.len() || inputs.len() > LEAVES {
        return None;
    }
    let output = cell.output.iter().position(|o| *o)?;
    let names: Vec<&str> = inputs.iter().map(|p| cell.pins[*p].as_str()).collect();
    let table = table(cell.functions[output].as_deref()?, &names)?;
    let timed = inputs.iter().all(|p| cell.arcs.iter().any(|arc| arc.from == *p));
    (timed && (0..inputs.len()).all(|i| depends(table, inputs.len(), i))).then_some(Gate {
        inputs,
        output,
        table,
    })
}

/// Whether the function of `leaves` inputs depends on input `i`.
pub(crate) fn depends(table: u64, leaves: usize, i: usize) -> bool {
    (0..1_usize << leaves).any(|row| (table >> row ^ table >> (row ^ 1 << i)) & 1 == 1)
}

/// The table when input i of the function is `order[i]` of the new one.
fn permuted(table: u64, order: &[usize]) -> u64 {
    let mut new = 0;
    for row in 0..1_usize << order.len() {
        let old = order.iter().enumerate().fold(0, |old, (i, at)| old | (row >> at & 1) << i);
        new |= (table >> old & 1) << row;
    }
    new
}

/// How often the function is 1 where input i is.
fn counts(table: u64, leaves: usize) -> Vec<u32> {
    (0..leaves).map(|i| (table & inputs(leaves)[i]).count_ones()).collect()
}

/// The tables of the inputs themselves.
fn inputs(leaves: usize) -> [u64; LEAVES] {
    const ALL: [u64; LEAVES] = [
        0xaaaa_aaaa_aaaa_aaaa,
        0xcccc_cccc_cccc_cccc,
        0xf0f0_f0f0_f0f0_f0f0,
        0xff00_ff00_ff00_ff00,
        0xffff_0000_ffff_0000,
        0xffff_ffff_0000_0000,
    ];
    let mask = if leaves == LEAVES { u64::MAX } else { (1 << (1 << leaves)) - 1 };
    ALL.map(|table| table & mask)
}

/// Equal for functions that differ in the order of their inputs only; seldom for others.
type Key = (usize, u32, Vec<u32>);

fn key(table: u64, leaves: usize) -> Key {
    let mut counts = counts(table, leaves);
    counts.sort_unstable();
    (leaves, table.count_ones(), counts)
}

/// All orders in which the inputs of `from` are those of `to`: input i of the one is input `order[i]` of the other.
fn orders(from: u64, to: u64, leaves: usize) -> Vec<Vec<usize>> {
    let (have, want) = (counts(from, leaves), counts(to, leaves));
    let mut all = vec![Vec::new()];
    for have in &have {
        let longer = |order: &Vec<usize>| {
            let free = (0..leaves).filter(|at| !order.contains(at) && want[*at] == *have);
            free.map(|at| order.iter().copied().chain([at]).collect()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all.retain(|order| permuted(from, order) == to);
    all
}

impl Shape {
    fn leaf() -> Self {
        Self { gates: Vec::new(), leaves: 1, table: 0b10, area: 0.0 }
    }

    /// `cell` behind these circuits.
    fn join(library: &TimingLibrary, cell: usize, gate: &Gate, parts: &[&Self]) -> Self {
        let mut whole = Self { gates: Vec::new(), leaves: 0, table: 0, area: library.cells[cell].area };
        let mut sources = Vec::new();
        let mut firsts = Vec::new();
        for part in parts {
            firsts.push(whole.leaves);
            let (leaf, before) = (whole.leaves, whole.gates.len());
            for (cell, from) in &part.gates {
                let moved = |source: &Source| match source {
                    Source::Leaf(l) => Source::Leaf(l + leaf),
                    Source::Gate(g) => Source::Gate(g + before),
                };
                whole.gates.push((*cell, from.iter().map(moved).collect()));
            }
            sources.push(match part.gates.len() {
                0 => Source::Leaf(leaf),
                gates => Source::Gate(before + gates - 1),
            });
            whole.leaves += part.leaves;
            whole.area += part.area;
        }
        whole.gates.push((cell, sources));
        for row in 0..1_usize << whole.leaves {
            let pins = parts.iter().zip(&firsts).enumerate().fold(0, |pins, (pin, (part, first))| {
                let own = row >> first & ((1 << part.leaves) - 1);
                pins | (part.table >> own & 1) << pin
            });
            whole.table |= (gate.table >> pins & 1) << row;
        }
        whole
    }
}

impl Shapes {
    pub(crate) fn new(library: &TimingLibrary) -> Self {
        let gates: Vec<Option<Gate>> = library.cells.iter().map(gate).collect();
        let plain: Vec<(usize, &Gate)> = library
            .families
            .iter()
            .filter_map(|family| Some((family[0], gates[family[0]].as_ref()?)))
            .filter(|(_, gate)| gate.table != 0b10 || gate.inputs.len() > 1)
            .collect();
        let leaf = Shape::leaf();
        // One gate; then gates before it that are an inverter, a gate, or both of them.
        let single = |(cell, gate): &(usize, &Gate)| {
            Shape::join(library, *cell, gate, &vec![&leaf; gate.inputs.len()])
        };
        let inverters: Vec<&(usize, &Gate)> =
            plain.iter().filter(|(_, gate)| gate.inputs.len() == 1).collect();
        let mut parts: Vec<Shape> = plain.iter().map(single).collect();
        let mut more = Vec::new();
        for (cell, inverter) in &inverters {
            for part in parts.iter().filter(|part| part.leaves > 1) {
                more.push(Shape::join(library, *cell, inverter, &[part]));
            }
            let inverted = Shape::join(library, *cell, inverter, &[&leaf]);
            for (cell, gate) in plain.iter().filter(|(_, gate)| (2..=3).contains(&gate.inputs.len())) {
                for at in 0..gate.inputs.len() {
                    let mut before = vec![&leaf; gate.inputs.len()];
                    before[at] = &inverted;
                    more.push(Shape::join(library, *cell, gate, &before));
                }
            }
        }
        let single = parts.len();
        parts.extend(more);
        let mut shapes = Self { gates: Vec::new(), single, by_function: HashMap::new() };
        let mut known = HashMap::new();
        for (cell, gate) in &plain {
            let mut choice: Vec<Option<usize>> = vec![None; gate.inputs.len()];
            shapes.choose(library, (*cell, gate), &leaf, &parts, 0, &mut choice, &mut known);
        }
        for (_, list) in shapes.by_function.values_mut().flatten() {
            list.sort_by(|a, b| a.area.total_cmp(&b.area).then(a.gates.len().cmp(&b.gates.len())));
            list.truncate(PER_FUNCTION);
        }
        shapes.gates = gates;
        shapes
    }

    /// All ways to put parts, two at most besides inverters' one, before the pins from `pin` on.
    #[allow(clippy::too_many_arguments)]
    fn choose(
        &mut self,
        library: &TimingLibrary,
        root: (usize, &Gate),
        leaf: &Shape,
        parts: &[Shape],
        pin: usize,
        choice: &mut Vec<Option<usize>>,
        known: &mut HashMap<(usize, u64), usize>,
    ) {
        let (cell, gate) = root;
        let part = |c: &Option<usize>| c.map_or(leaf, |at| &parts[at]);
        let leaves: usize = choice.iter().map(|c| part(c).leaves).sum();
        let chosen = || choice.iter().flatten();
        if leaves > LEAVES
            || chosen().count() > 2
            || (chosen().count() > 1 && chosen().any(|at| *at >= self.single))
        {
            return;
        }
        if pin == gate.inputs.len() {
            let before: Vec<&Shape> = choice.iter().map(part).collect();
            let shape = Shape::join(library, cell, gate, &before);
            let classes = self.by_function.entry(key(shape.table, shape.leaves)).or_default();
            let class = *known.entry((shape.leaves, shape.table)).or_insert_with(|| {
                let same = |c: &(u64, Vec<Shape>)| !orders(shape.table, c.0, shape.leaves).is_empty();
                classes.iter().position(same).unwrap_or(classes.len())
            });
            if class == classes.len() {
                classes.push((shape.table, Vec::new()));
            }
            classes[class].1.push(shape);
            return;
        }
        // Pins that can change places: parts in falling order only.
        let twin = library.cells[cell].twin[gate.inputs[pin]];
        let before = (0..pin).rev().find(|p| library.cells[cell].twin[gate.inputs[*p]] == twin);
        let most = before.map_or(parts.len(), |p| choice[p].map_or(0, |at| at + 1));
        for at in [None].into_iter().chain((0..most).map(Some)) {
            choice[pin] = at;
            self.choose(library, root, leaf, parts, pin + 1, choice, known);
        }
        choice[pin] = None;
    }

    /// The circuits that compute `table` of `leaves` inputs, smallest first, each with all ways to put the inputs at its leaves.
    pub(crate) fn of(&self, leaves: usize, table: u64) -> Found<'_> {
        let classes = self.by_function.get(&key(table, leaves)).map_or(&[][..], Vec::as_slice);
        let Some((_, shapes)) = classes.iter().find(|c| !orders(c.0, table, leaves).is_empty()) else {
            return Vec::new();
        };
        shapes.iter().map(|shape| (shape, orders(shape.table, table, leaves))).collect()
    }
}

/// Circuits, each with all ways to put the inputs at its leaves.
type Found<'a> = Vec<(&'a Shape, Vec<Vec<usize>>)>;

/// What [`Shapes::of`] said before.
#[derive(Default)]
pub(crate) struct Known<'a>(HashMap<(usize, u64), Rc<Found<'a>>>);

impl<'a> Known<'a> {
    pub(crate) fn of(&mut self, shapes: &'a Shapes, leaves: usize, table: u64) -> Rc<Found<'a>> {
        self.0.entry((leaves, table)).or_insert_with(|| Rc::new(shapes.of(leaves, table))).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permuted_table_is_the_function_of_other_inputs() {
        // Input 0 and not input 1; then the same of inputs 2 and 0 of three.
        let table = 0b0010;
        for row in 0..4 {
            assert_eq!(permuted(table, &[1, 0]) >> row & 1 == 1, row >> 1 & 1 == 1 && row & 1 == 0);
        }
        assert_eq!(orders(table, permuted(table, &[1, 0]), 2), [[1, 0]]);
        assert_eq!(orders(1 << 15, 1 << 15, 4).len(), 24);
        assert!(depends(table, 2, 0) && depends(table, 2, 1) && !depends(0b1010, 2, 1));
    }
}
