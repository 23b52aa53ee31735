//! Golden models of the pickers.

use crate::model::{CycleError, CycleModel, one_hot};
use crate::port::{Direction, Layout, Port, RESET};

/// What a picker's model does in one cycle: the named inputs' values in, the named outputs' values out.
type Step = Box<dyn FnMut(&dyn Fn(&str) -> u128) -> Vec<(&'static str, u128)> + Send>;

/// A small model written as one closure over named ports.
pub struct PartModel {
    ports: Vec<Port>,
    inputs: Layout,
    outputs: Layout,
    step: Step,
}

impl CycleModel for PartModel {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        let layout = &self.inputs;
        let values = (self.step)(&|name| layout.slot(name).map_or(0, |slot| slot.get(inputs)));
        outputs.fill(0);
        for (name, value) in values {
            let slot = self
                .outputs
                .slot(name)
                .ok_or_else(|| CycleError { cycle: 0, message: format!("port {name} is missing") })?;
            slot.set(outputs, value);
        }
        Ok(())
    }
}

impl PartModel {
    fn new(ports: Vec<Port>, step: Step) -> Self {
        let inputs = Layout::new(&ports, Direction::Input);
        let outputs = Layout::new(&ports, Direction::Output);
        Self { ports, inputs, outputs, step }
    }

    /// `find_first`: counts up from request 0.
    pub fn find_first(n: usize, ports: Vec<Port>) -> Self {
        let n = n.min(widest(&ports)).min(u128::BITS as usize);
        Self::new(ports, Box::new(move |get| vec![("gnt_o", one_hot(first(get("req_i"), 0..n)))]))
    }

    /// `oldest_first`: a list of slots in the order in which they were pushed last.
    pub fn oldest_first(n: usize, ports: Vec<Port>) -> Self {
        let n = n.min(widest(&ports)).min(u128::BITS as usize);
        let mut order: Vec<usize> = Vec::new();
        Self::new(
            ports,
            Box::new(move |get| {
                let pick = |name| one_hot(first(get(name), order.iter().copied()));
                let answer = vec![("gnt_o", pick("req_i")), ("head_o", pick("occ_i"))];
                if let Some(pushed) = first(get("push_i"), 0..n) {
                    order.retain(|slot| *slot != pushed);
                    order.push(pushed);
                }
                answer
            }),
        )
    }
}

/// As many requests as the ports hold, and grants.
fn widest(ports: &[Port]) -> usize {
    let width = |name| ports.iter().find(|port| port.name == name).map_or(0, |port| port.width as usize);
    width("req_i").min(width("gnt_o"))
}

fn first(bits: u128, mut order: impl Iterator<Item = usize>) -> Option<usize> {
    order.find(|i| bits >> i & 1 == 1)
}

/// `round_robin`: counts up from the request after the one served last. Any number of requests.
pub struct RoundRobinModel {
    n: usize,
    ports: Vec<Port>,
    inputs: Layout,
    outputs: Layout,
    start: usize,
}

impl RoundRobinModel {
    /// For `n` requests, or as many as the hardware's ports hold.
    pub fn new(n: usize, ports: Vec<Port>) -> Self {
        let n = n.min(widest(&ports));
        let inputs = Layout::new(&ports, Direction::Input);
        let outputs = Layout::new(&ports, Direction::Output);
        Self { n, ports, inputs, outputs, start: 0 }
    }
}

impl CycleModel for RoundRobinModel {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        let missing = |name| CycleError { cycle: 0, message: format!("port {name} is missing") };
        let input = |name| self.inputs.slot(name).ok_or_else(|| missing(name));
        let requests = input("req_i")?.slice(inputs);
        let order = (self.start..self.n).chain(0..self.start);
        let pick = order.into_iter().find(|i| requests[i / 32] >> (i % 32) & 1 == 1);
        outputs.fill(0);
        let granted = self.outputs.slot("gnt_o").ok_or_else(|| missing("gnt_o"))?;
        if let Some(pick) = pick {
            outputs[granted.word + pick / 32] = 1 << (pick % 32);
        }
        if input(RESET)?.get(inputs) == 0 {
            self.start = 0;
        } else if let (Some(pick), 1) = (pick, input("ack_i")?.get(inputs)) {
            self.start = (pick + 1) % self.n;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_requests_are_looked_at_than_the_ports_hold() {
        let port = |name: &str, direction, width| Port {
            name: name.into(),
            direction,
            width,
            channel: String::new(),
            doc: String::new(),
        };
        let ports = vec![
            port(RESET, Direction::Input, 1),
            port("req_i", Direction::Input, 8),
            port("push_i", Direction::Input, 8),
            port("occ_i", Direction::Input, 8),
            port("ack_i", Direction::Input, 1),
            port("gnt_o", Direction::Output, 8),
            port("head_o", Direction::Output, 8),
        ];
        let mut models: [Box<dyn CycleModel>; 3] = [
            Box::new(PartModel::find_first(500, ports.clone())),
            Box::new(PartModel::oldest_first(500, ports.clone())),
            Box::new(RoundRobinModel::new(500, ports)),
        ];
        for model in &mut models {
            let mut outputs = [9; 2];
            model.cycle(&[1, 0, 0, 0, 1], &mut outputs).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(outputs[0], 0, "nothing asks");
        }
    }
}
