//! Which block of the RTL a cell of a flat netlist belongs to.
//!
//! Flip-flops keep their names in a flat netlist, so that each belongs to a block. Logic belongs to the block whose flip-flops it feeds; where
//! it feeds several, to the block around them, up to [`SHARED`].

use super::graph::Netlist;
use super::library::{Kind, TimingLibrary};

/// The block of what feeds several blocks, or has no name.
pub const SHARED: &str = "shared";

/// Blocks within blocks are told apart this deep.
const DEPTH: usize = 2;

/// Blocks as a tree; 0 is all of the design.
struct Tree {
    names: Vec<String>,
    parent: Vec<usize>,
    depth: Vec<usize>,
}

impl Tree {
    fn new() -> Self {
        Self { names: vec![SHARED.into()], parent: vec![0], depth: vec![0] }
    }

    /// The block in which a net of that name is. What repeats, as `entry_3`, is one block with its likes.
    fn block(&mut self, net: &str) -> usize {
        let path: Vec<&str> = net.split('.').collect();
        let mut at = 0;
        for part in path[..path.len() - 1].iter().take(DEPTH) {
            let part = part.strip_prefix("u_").unwrap_or(part);
            let part = part.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
            let name = if at == 0 { part.to_string() } else { format!("{}.{part}", self.names[at]) };
            let known = (0..self.names.len()).find(|i| self.names[*i] == name && self.depth[*i] > 0);
            at = known.unwrap_or_else(|| {
                self.names.push(name);
                self.parent.push(at);
                self.depth.push(self.depth[at] + 1);
                self.names.len() - 1
            });
        }
        at
    }

    /// The smallest block with both in it.
    fn around(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            if self.depth[a] < self.depth[b] {
                std::mem::swap(&mut a, &mut b);
            }
            a = self.parent[a];
        }
        a
    }
}

/// Whose everything is.
pub(crate) struct Owners {
    /// Names of instances from the top, without numbers, e.g. `scheduler.window`; the first is [`SHARED`].
    pub(crate) blocks: Vec<String>,
    /// The block of each instance.
    pub(crate) instances: Vec<usize>,
    /// The block of each net.
    pub(crate) nets: Vec<usize>,
}

impl Owners {
    /// `order` is that of the data; `names` are those of nets.
    pub(crate) fn new(
        netlist: &Netlist,
        library: &TimingLibrary,
        order: &[usize],
        names: &[Vec<String>],
    ) -> Self {
        let mut tree = Tree::new();
        let cell = |i: usize| &library.cells[netlist.instances[i].cell];
        let logic = |i: usize| cell(i).kind == Kind::Logic;
        let outputs = |i: usize| {
            let nets = netlist.instances[i].nets.iter().enumerate();
            nets.filter_map(move |(pin, net)| net.filter(|_| cell(i).output[pin]))
        };
        let named: Vec<Option<usize>> = names
            .iter()
            .map(|names| {
                let blocks: Vec<usize> = names.iter().map(|name| tree.block(name)).collect();
                blocks.into_iter().reduce(|a, b| tree.around(a, b))
            })
            .collect();
        let around = |blocks: &mut dyn Iterator<Item = usize>| blocks.reduce(|a, b| tree.around(a, b));
        // Flip-flops first: where their outputs are. Then logic, from the flip-flops' inputs back.
        let mut owner: Vec<Option<usize>> = (0..netlist.instances.len())
            .map(|i| (!logic(i)).then(|| around(&mut outputs(i).filter_map(|net| named[net])).unwrap_or(0)))
            .collect();
        // A clock gate is where the flip-flops behind it are.
        for i in (0..owner.len()).filter(|i| cell(*i).kind == Kind::ClockGate) {
            let behind = outputs(i).flat_map(|net| &netlist.nets[net].sinks);
            owner[i] = around(&mut behind.filter_map(|s| owner[s.instance]));
        }
        // What only leaves the design is where it is called so.
        let fed = |owner: &[Option<usize>], net: usize| {
            let sinks = &netlist.nets[net].sinks;
            around(&mut sinks.iter().filter_map(|s| owner[s.instance])).or(named[net])
        };
        for i in order.iter().rev().copied().filter(|i| logic(*i)) {
            owner[i] = around(&mut outputs(i).filter_map(|net| fed(&owner, net)));
        }
        let nets = (0..netlist.nets.len())
            .map(|net| match netlist.nets[net].driver {
                Some(driver) => owner[driver.instance].unwrap_or(0),
                None => fed(&owner, net).unwrap_or(0),
            })
            .collect();
        let instances = owner.into_iter().map(|owner| owner.unwrap_or(0)).collect();
        Self { blocks: tree.names, instances, nets }
    }
}
