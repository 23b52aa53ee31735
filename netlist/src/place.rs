//! Wires of a netlist whose cells have places: the files that a placer reads, and what its answer says about every net.
//!
//! The files are the Bookshelf format of the ISPD placement contests. Cells lie in rows, [`DENSITY`] of which they fill. Nets of the
//! clock are left out, for a clock tree is made of other things; ports lie at the cell that they are connected to.

use super::blocks::Owners;
use super::graph::{Net, Netlist, NetlistError, Pin};
use super::library::TimingLibrary;
use super::timing::levelize;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

/// Share of the rows that cells fill; the rest is for wires, buffers to come and the clock tree.
pub const DENSITY: f64 = 0.7;

/// Tiles of a floor plan, along each side.
const TILES: usize = 48;

/// Their blocks; there are fewer in every design, and more would be `?`.
pub const FLOOR_PLAN_LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Units of the placer's files in a micrometre.
const UNITS: f64 = 100.0;

/// Rows of cells in a technology, and what its wires are like: those of a layer in the middle of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WireModel {
    /// Height of a row of cells in micrometres.
    pub row_um: f64,
    /// Resistance of a wire in ohms per micrometre.
    pub ohm_per_um: f64,
    /// Its capacitance in femtofarads per micrometre.
    pub ff_per_um: f64,
}

/// A mapped netlist on its way to places.
pub struct Unplaced {
    top: String,
    netlist: Netlist,
    library: TimingLibrary,
    model: WireModel,
    owners: Owners,
    /// Rows, and how long each is in the files' units.
    rows: u64,
    row_length: u64,
}

/// What the places of the cells make of the nets.
#[derive(Clone, Debug)]
pub struct Wires {
    /// Resistances and capacitances, in IEEE 1481's SPEF, for the names of [`Unplaced::verilog`].
    pub spef: String,
    /// Length of all wires in micrometres.
    pub length_um: f64,
    /// Nets that have wires.
    pub nets: u64,
    /// The longest net, in micrometres.
    pub longest_um: f64,
    /// Where the blocks of the RTL lie.
    pub plan: FloorPlan,
    /// For another round of sizing.
    pub hints: WireHints,
}

/// Where the blocks of the RTL lie, in square tiles or nearly so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloorPlan {
    /// The blocks, the one with most tiles first: names of instances from the top, without numbers; [`super::SHARED`].
    pub blocks: Vec<String>,
    /// The tiles row by row, from the top; a tile is the letter of the block that most of it belongs to, `A` for the first one, and blank
    /// where no cell is.
    pub rows: Vec<String>,
}

/// What sizing knows of wires before there are any: those of an earlier netlist of the same design.
#[derive(Clone, Debug, Default)]
pub struct WireHints {
    /// Of each instance, what its pins' wires weigh in fF, by pin name, and its place along a curve that fills the plane: what is close there
    /// is close in the plane.
    pub(crate) instances: HashMap<String, (HashMap<String, f32>, u32)>,
    /// What a pin's wire weighs in the mean.
    pub(crate) mean_ff: f32,
}

impl Unplaced {
    /// The module `top` of a netlist as [`super::resize()`] takes and gives it.
    ///
    /// # Errors
    /// A netlist or a library that cannot be read.
    pub fn new(
        netlist: &str,
        top: &str,
        liberty: &str,
        liberty_path: &Path,
        model: WireModel,
    ) -> Result<Self, NetlistError> {
        let library = TimingLibrary::parse(liberty, liberty_path)?;
        let document: Value = serde_json::from_str(netlist)
            .map_err(|e| NetlistError::Format { top: top.into(), what: e.to_string() })?;
        let netlist = Netlist::read(&document, top, &library)?;
        let order = levelize(&netlist, &library, top)?;
        let owners = Owners::new(&netlist, &library, &order, &netlist.names(&document, top));
        let mut unplaced = Self { top: top.into(), netlist, library, model, owners, rows: 1, row_length: 1 };
        let widths = || (0..unplaced.netlist.instances.len()).map(|i| unplaced.width(i));
        let (all, widest) = (widths().sum::<u64>(), widths().max().unwrap_or(1));
        let length = all as f64 / DENSITY;
        let rows = (length / unplaced.row_height() as f64).sqrt().round().max(1.0);
        // A row takes the widest cell at the density of all.
        let row_length = ((length / rows).ceil() as u64).max((widest as f64 / DENSITY).ceil() as u64);
        (unplaced.rows, unplaced.row_length) = (rows as u64, row_length);
        Ok(unplaced)
    }

    /// Width and height of the rows in micrometres.
    pub fn core_um(&self) -> [f64; 2] {
        [self.row_length as f64 / UNITS, (self.rows * self.row_height()) as f64 / UNITS]
    }

    /// The netlist as structural Verilog, with the names of [`Wires::spef`].
    pub fn verilog(&self) -> String {
        self.netlist.verilog(&self.top, &self.library)
    }

    fn row_height(&self) -> u64 {
        (self.model.row_um * UNITS).round().max(1.0) as u64
    }

    /// Width of an instance in the files' units: every cell is one row high.
    fn width(&self, instance: usize) -> u64 {
        let area = f64::from(self.library.cells[self.netlist.instances[instance].cell].area);
        (area / self.model.row_um * UNITS).round().max(1.0) as u64
    }

    /// The pins that a net connects, its driver first; none of a net that has no wire.
    fn pins(&self, net: &Net) -> Vec<Pin> {
        if net.clock || net.constant.is_some() {
            return Vec::new();
        }
        net.driver.iter().chain(&net.sinks).copied().collect()
    }

    /// The files of the placer, by the ends of their names.
    pub fn bookshelf(&self, name: &str) -> Vec<(String, String)> {
        let cells = self.netlist.instances.len();
        let (height, length) = (self.row_height(), self.row_length);
        let mut nodes = format!("UCLA nodes 1.0\nNumNodes : {cells}\nNumTerminals : 0\n");
        let mut places = "UCLA pl 1.0\n".to_string();
        for cell in 0..cells {
            let _ = writeln!(nodes, "c{cell} {} {height}", self.width(cell));
            let _ = writeln!(places, "c{cell} 0 0 : N");
        }
        let wired: Vec<Vec<Pin>> =
            self.netlist.nets.iter().map(|net| self.pins(net)).filter(|pins| pins.len() > 1).collect();
        let pins: usize = wired.iter().map(Vec::len).sum();
        let mut nets = format!("UCLA nets 1.0\nNumNets : {}\nNumPins : {pins}\n", wired.len());
        for pins in &wired {
            let _ = writeln!(nets, "NetDegree : {}", pins.len());
            // Without offsets a pin is in the middle of its cell.
            pins.iter().for_each(|pin| {
                let _ = writeln!(nets, "c{} B", pin.instance);
            });
        }
        let mut rows = format!("UCLA scl 1.0\nNumRows : {}\n", self.rows);
        for row in 0..self.rows {
            let orient = if row % 2 == 0 { "N" } else { "FS" };
            let _ = writeln!(
                rows,
                "CoreRow Horizontal\n Coordinate : {}\n Height : {height}\n Sitewidth : 1\n Sitespacing : 1\n \
                 Siteorient : {orient}\n Sitesymmetry : Y\n SubrowOrigin : 0 NumSites : {length}\nEnd",
                row * height
            );
        }
        let file = |end: &str| format!("{name}.{end}");
        let index = format!("RowBasedPlacement : {name}.nodes {name}.nets {name}.pl {name}.scl\n");
        vec![
            (file("aux"), index),
            (file("nodes"), nodes),
            (file("nets"), nets),
            (file("pl"), places),
            (file("scl"), rows),
        ]
    }

    /// The wires between the cells where `placement`, a `.pl` file, puts them.
    ///
    /// # Errors
    /// A text that is no such file, or does not place each cell.
    pub fn wires(&self, placement: &str) -> Result<Wires, NetlistError> {
        let centres = self.centres(placement)?;
        let names = self.netlist.names_in_verilog();
        let mut ports: HashMap<usize, Vec<(String, bool)>> = HashMap::new();
        for (bit, output, net) in self.netlist.port_bits() {
            ports.entry(net).or_default().push((bit, output));
        }
        let mut spef = format!(
            "*SPEF \"IEEE 1481-1998\"\n*DESIGN \"{}\"\n*DATE \"\"\n*VENDOR \"\"\n*PROGRAM \"\"\n*VERSION \"\"\n\
             *DESIGN_FLOW \"\"\n*DIVIDER /\n*DELIMITER :\n*BUS_DELIMITER [ ]\n*T_UNIT 1 PS\n*C_UNIT 1 FF\n*R_UNIT 1 OHM\n\
             *L_UNIT 1 HENRY\n",
            self.top
        );
        let mut wires = Wires {
            spef: String::new(),
            length_um: 0.0,
            nets: 0,
            longest_um: 0.0,
            plan: self.plan(&centres),
            hints: self.hints_without_wires(&centres),
        };
        let mut shares = 0u64;
        for (index, net) in self.netlist.nets.iter().enumerate() {
            let pins = self.pins(net);
            if pins.len() < 2 {
                continue;
            }
            let places: Vec<[f64; 2]> = pins.iter().map(|pin| centres[pin.instance]).collect();
            let tree = shortest_tree(&places);
            let length: f64 = tree.iter().map(|edge| edge.length).sum();
            wires.nets += 1;
            wires.length_um += length;
            wires.longest_um = wires.longest_um.max(length);
            for edge in &tree {
                let Pin { instance, pin } = pins[edge.to];
                let instance = &self.netlist.instances[instance];
                let name = &self.library.cells[instance.cell].pins[pin];
                let ff = (edge.length * self.model.ff_per_um) as f32;
                if let Some((shares, _)) = wires.hints.instances.get_mut(&instance.name) {
                    shares.insert(name.clone(), ff);
                }
                shares += 1;
            }
            let ports = ports.get(&index).map_or(&[][..], Vec::as_slice);
            self.write_net(&mut spef, &names[index], &pins, ports, &tree);
        }
        wires.hints.mean_ff = (wires.length_um * self.model.ff_per_um / shares.max(1) as f64) as f32;
        wires.spef = spef;
        Ok(wires)
    }

    /// The middle of each cell, in micrometres.
    fn centres(&self, placement: &str) -> Result<Vec<[f64; 2]>, NetlistError> {
        let wrong = |what: String| NetlistError::Placement { top: self.top.clone(), what };
        let mut centres: Vec<Option<[f64; 2]>> = vec![None; self.netlist.instances.len()];
        for line in placement.lines() {
            let mut words = line.split_whitespace();
            let Some(cell) = words.next().and_then(|word| word.strip_prefix('c')?.parse::<usize>().ok())
            else {
                continue;
            };
            let mut number = || words.next().and_then(|word| word.parse::<f64>().ok());
            let (Some(x), Some(y), Some(centre)) = (number(), number(), centres.get_mut(cell)) else {
                return Err(wrong(format!("`{line}`")));
            };
            let half = [self.width(cell), self.row_height()].map(|side| side as f64 / 2.0);
            *centre = Some([(x + half[0]) / UNITS, (y + half[1]) / UNITS]);
        }
        let missing = centres.iter().filter(|centre| centre.is_none()).count();
        let centres: Option<Vec<[f64; 2]>> = centres.into_iter().collect();
        centres.ok_or_else(|| wrong(format!("{missing} cells have no place")))
    }

    fn hints_without_wires(&self, centres: &[[f64; 2]]) -> WireHints {
        let [width, height] = self.core_um();
        let along = |[x, y]: [f64; 2]| {
            let scaled = |at: f64, side: f64| (at / side).clamp(0.0, 1.0) * f64::from(u16::MAX);
            curve(scaled(x, width) as u16, scaled(y, height) as u16)
        };
        let instances = self.netlist.instances.iter().zip(centres);
        let instances = instances.map(|(i, centre)| (i.name.clone(), (HashMap::new(), along(*centre))));
        WireHints { instances: instances.collect(), mean_ff: 0.0 }
    }

    fn plan(&self, centres: &[[f64; 2]]) -> FloorPlan {
        let core = self.core_um();
        let tile = |at: [f64; 2]| {
            [0, 1].map(|axis| ((at[axis] / core[axis] * TILES as f64) as usize).min(TILES - 1))
        };
        // Of each tile, the area of each block there.
        let mut areas = vec![vec![0.0f32; self.owners.blocks.len()]; TILES * TILES];
        for ((instance, owner), centre) in
            self.netlist.instances.iter().zip(&self.owners.instances).zip(centres)
        {
            let [x, y] = tile(*centre);
            areas[y * TILES + x][*owner] += self.library.cells[instance.cell].area;
        }
        let most = |areas: &Vec<f32>| {
            let blocks = areas.iter().enumerate().filter(|(_, area)| **area > 0.0);
            blocks.max_by(|a, b| a.1.total_cmp(b.1)).map(|(block, _)| block)
        };
        let tiles: Vec<Option<usize>> = areas.iter().map(most).collect();
        let count = |block: usize| tiles.iter().filter(|tile| **tile == Some(block)).count();
        let mut order: Vec<usize> = (0..self.owners.blocks.len()).filter(|block| count(*block) > 0).collect();
        order.sort_by_key(|block| std::cmp::Reverse(count(*block)));
        let letter = |tile: &Option<usize>| {
            let at = tile.and_then(|block| order.iter().position(|other| *other == block));
            at.map_or(' ', |at| FLOOR_PLAN_LETTERS.get(at).map_or('?', |letter| char::from(*letter)))
        };
        FloorPlan {
            rows: tiles.chunks(TILES).rev().map(|row| row.iter().map(letter).collect()).collect(),
            blocks: order.iter().map(|block| self.owners.blocks[*block].clone()).collect(),
        }
    }

    /// A net of the SPEF: half of each edge's capacitance at either end. A port is where the first pin is.
    fn write_net(
        &self,
        spef: &mut String,
        name: &str,
        pins: &[Pin],
        ports: &[(String, bool)],
        tree: &[Edge],
    ) {
        let WireModel { ohm_per_um, ff_per_um, .. } = self.model;
        let node = |at: usize| {
            let instance = &self.netlist.instances[pins[at].instance];
            format!("{}:{}", instance.name, self.library.cells[instance.cell].pins[pins[at].pin])
        };
        let mut halves = vec![0.0; pins.len()];
        for edge in tree {
            halves[edge.from] += edge.length * ff_per_um / 2.0;
            halves[edge.to] += edge.length * ff_per_um / 2.0;
        }
        let _ = writeln!(spef, "\n*D_NET {name} {:.4}\n*CONN", halves.iter().sum::<f64>());
        for (port, output) in ports {
            let _ = writeln!(spef, "*P {port} {}", if *output { "O" } else { "I" });
        }
        for (at, pin) in pins.iter().enumerate() {
            let cell = &self.library.cells[self.netlist.instances[pin.instance].cell];
            let _ = writeln!(spef, "*I {} {}", node(at), if cell.output[pin.pin] { "O" } else { "I" });
        }
        spef.push_str("*CAP\n");
        for (at, half) in halves.iter().enumerate() {
            let _ = writeln!(spef, "{} {} {half:.4}", at + 1, node(at));
        }
        spef.push_str("*RES\n");
        let edges = tree.iter().map(|edge| (node(edge.from), node(edge.to), edge.length));
        let ports = ports.iter().map(|(port, _)| (port.clone(), node(0), 0.0));
        for (number, (from, to, length)) in edges.chain(ports).enumerate() {
            // Two cells on one place have a wire too, and a resistance of 0 is none.
            let ohm = (length * ohm_per_um).max(0.001);
            let _ = writeln!(spef, "{} {from} {to} {ohm:.4}", number + 1);
        }
        spef.push_str("*END\n");
    }
}

/// The nets of a SPEF that [`Unplaced::wires`] wrote, with their capacitances in fF.
pub(crate) fn loads(spef: &str) -> impl Iterator<Item = (&str, f64)> {
    spef.lines().filter_map(|line| {
        let (net, ff) = line.strip_prefix("*D_NET ")?.split_once(' ')?;
        Some((net, ff.parse().ok()?))
    })
}

/// A wire from pin to pin.
struct Edge {
    from: usize,
    to: usize,
    /// In micrometres, along the axes.
    length: f64,
}

/// The shortest tree of wires from pin to pin that connects all, from the first one on (Prim). With points in between it could be up to a third shorter.
fn shortest_tree(places: &[[f64; 2]]) -> Vec<Edge> {
    let mut nearest: Vec<(f64, usize)> = vec![(f64::INFINITY, 0); places.len()];
    let mut open: Vec<usize> = (1..places.len()).collect();
    let mut tree = Vec::with_capacity(open.len());
    let mut last = 0;
    while !open.is_empty() {
        let mut best = 0;
        for (index, &pin) in open.iter().enumerate() {
            let length = (0..2).map(|axis| (places[pin][axis] - places[last][axis]).abs()).sum();
            if length < nearest[pin].0 {
                nearest[pin] = (length, last);
            }
            if nearest[pin].0 < nearest[open[best]].0 {
                best = index;
            }
        }
        last = open.swap_remove(best);
        tree.push(Edge { from: nearest[last].1, to: last, length: nearest[last].0 });
    }
    tree
}

/// Where a point is on Hilbert's curve through the square.
fn curve(x: u16, y: u16) -> u32 {
    let (mut x, mut y) = (u32::from(x), u32::from(y));
    let mut along = 0;
    for level in (0..16).rev() {
        let side = 1 << level;
        let (right, up) = (u32::from(x & side > 0), u32::from(y & side > 0));
        along += (side * side).wrapping_mul((3 * right) ^ up);
        if up == 0 {
            if right == 1 {
                (x, y) = (0xffff - x, 0xffff - y);
            }
            (x, y) = (y, x);
        }
    }
    along
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_as_short_as_they_can_be() {
        // A cross: the middle connects all.
        let places = [[0.0, 0.0], [-2.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, -4.0]];
        let tree = shortest_tree(&places);
        assert_eq!(tree.iter().map(|e| e.length).sum::<f64>(), 10.0);
        assert!(tree.iter().all(|e| e.from == 0));
        // A line, whatever the order.
        let tree = shortest_tree(&[[5.0, 0.0], [0.0, 0.0], [9.0, 0.0], [4.0, 0.0], [2.0, 0.0]]);
        assert_eq!(tree.iter().map(|e| e.length).sum::<f64>(), 9.0);
        assert!(shortest_tree(&[[1.0, 1.0]]).is_empty());
    }

    #[test]
    fn neighbours_on_the_curve_are_neighbours_in_the_plane() {
        // All points of a corner of 8 x 8, in the order of the curve.
        let mut points: Vec<(u32, i32, i32)> =
            (0..8).flat_map(|x| (0..8).map(move |y| (curve(x, y), i32::from(x), i32::from(y)))).collect();
        points.sort_unstable();
        for (at, pair) in points.windows(2).enumerate() {
            assert_eq!(pair[0].0 as usize, at);
            assert_eq!((pair[0].1 - pair[1].1).abs() + (pair[0].2 - pair[1].2).abs(), 1, "{pair:?}");
        }
    }
}
