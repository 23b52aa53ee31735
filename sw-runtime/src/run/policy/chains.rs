//! Chains: kernels that a stream is given with nothing in between, launched as one graph. A graph that is kept costs the host less to launch
//! than a kernel, and its kernels follow each other more closely.

use super::RunError;
use super::kept::Kept;
use super::streams::{Op, Teller};

/// Holds launches back until their stream is told something else, and then tells them together.
pub(super) struct Chained<'a> {
    kept: &'a mut Kept,
    /// Of each stream, and whether the first is launched early, as all others are then.
    held: Vec<(Vec<u32>, bool)>,
    to: &'a mut dyn Teller,
    /// Graphs launched.
    pub(super) told: u64,
}

impl<'a> Chained<'a> {
    pub(super) fn new(kept: &'a mut Kept, streams: usize, to: &'a mut dyn Teller) -> Self {
        Self { kept, held: vec![(Vec::new(), false); streams], to, told: 0 }
    }

    fn want(kept: &mut Kept, chain: &[u32]) {
        let upstream = (0..chain.len() as u32).map(|n| n.checked_sub(1).into_iter().collect()).collect();
        kept.want(chain.to_vec(), upstream);
    }

    fn release(&mut self, stream: u32) -> Result<(), RunError> {
        let (held, early) = &mut self.held[stream as usize];
        // An early launch is better than a graph of one kernel, which waits for the one before it to end.
        if let Some(graph) = self.kept.get(held).filter(|_| held.len() > 1 || !*early) {
            self.to.tell(stream, Op::Graph { graph })?;
            self.told += 1;
            held.clear();
            return Ok(());
        }
        // A chain that is not known goes kernel by kernel.
        if held.len() > 1 {
            Self::want(self.kept, held);
        }
        for kernel in held.drain(..) {
            let early = std::mem::replace(early, self.kept.early);
            match self.kept.get(&[kernel]) {
                Some(graph) if !early => {
                    self.to.tell(stream, Op::Graph { graph })?;
                    self.told += 1;
                }
                _ => {
                    self.to.tell(stream, Op::Launch { kernel, early })?;
                    if !early {
                        Self::want(self.kept, &[kernel]);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Teller for Chained<'_> {
    fn tell(&mut self, stream: u32, op: Op) -> Result<(), RunError> {
        if let Op::Launch { kernel, early } = op {
            let (held, first_early) = &mut self.held[stream as usize];
            if held.is_empty() {
                *first_early = early;
            }
            held.push(kernel);
            return Ok(());
        }
        self.release(stream)?;
        self.to.tell(stream, op)
    }

    fn flush(&mut self) -> Result<(), RunError> {
        (0..self.held.len() as u32).try_for_each(|stream| self.release(stream))
    }

    fn finish(&mut self) -> Result<(), RunError> {
        self.flush()?;
        self.to.finish()
    }
}
