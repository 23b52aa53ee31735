//! Which allocation holds an address when a kernel is launched.

use super::{Allocation, Buffer, Life};

/// The allocations that live at each of a row of moments: a tree of stretches of moments. Each allocation is in the few nodes that make up its
/// life. Those of one node are all alive at once and so share no address; they are in the order of addresses.
pub(super) struct Alive {
    moments: usize,
    /// The node above node n is n / 2; the last `moments` are the moments themselves.
    nodes: Vec<Vec<Allocation>>,
}

impl Alive {
    /// At moments that are given in ascending order, counted in events.
    pub fn new(lives: &[Life], moments: &[u64]) -> Self {
        let count = moments.len();
        let mut nodes = vec![Vec::new(); 2 * count];
        let mut lives: Vec<&Life> = lives.iter().filter(|life| life.allocation.bytes > 0).collect();
        lives.sort_by_key(|life| life.allocation.address);
        for life in lives {
            let mut from = count + moments.partition_point(|moment| *moment <= life.born);
            let mut to = count + moments.partition_point(|moment| *moment < life.died);
            while from < to {
                if from % 2 == 1 {
                    nodes[from].push(life.allocation);
                    from += 1;
                }
                if to % 2 == 1 {
                    to -= 1;
                    nodes[to].push(life.allocation);
                }
                (from, to) = (from / 2, to / 2);
            }
        }
        Self { moments: count, nodes }
    }

    /// What holds the byte at `address` at a moment, and where that ends.
    pub fn buffer(&self, address: u64, moment: usize) -> (Buffer, u64) {
        let mut end = u64::MAX;
        let mut node = self.moments + moment;
        while node > 0 {
            let allocations = &self.nodes[node];
            let above = allocations.partition_point(|allocation| allocation.address <= address);
            if let Some(allocation) = above.checked_sub(1).map(|below| allocations[below])
                && address < allocation.end()
            {
                let offset = address - allocation.address;
                return (Buffer::Allocation { allocation, offset }, allocation.end());
            }
            end = end.min(allocations.get(above).map_or(u64::MAX, |allocation| allocation.address));
            node /= 2;
        }
        (Buffer::Persistent, end)
    }
}
