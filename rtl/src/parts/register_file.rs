//! A small memory: one write port, one read port that is not clocked.

use crate::info::Info;
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// `DEPTH` words of `W` bits, no reset; a read outside the depth gives an undefined value that nobody may use.
///
/// | Port | Dir | Width | Meaning |
/// |---|---|---|---|
/// | `clk_i` | in | 1 | rising edge |
/// | `we_i`, `waddr_i`, `wdata_i` | in | 1, `A`, `W` | written at the edge where `we_i` is high |
/// | `raddr_i`, `rdata_o` | in, out | `A`, `W` | the word, in the same cycle |
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct RegisterFile<const W: usize, const A: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Write enable.
    pub we_i: Signal<In, Bit>,
    /// Write address.
    pub waddr_i: Signal<In, Bits<A>>,
    /// Is written at the end of this cycle.
    pub wdata_i: Signal<In, Bits<W>>,
    /// Read address.
    pub raddr_i: Signal<In, Bits<A>>,
    /// The word there, in the same cycle.
    pub rdata_o: Signal<Out, Bits<W>>,
    _words: Vec<Bits<W>>,
}

impl<const W: usize, const A: usize> RegisterFile<W, A> {
    /// A memory of `depth` words.
    pub fn new(depth: usize) -> Self {
        Self {
            info: Info::module("register_file", "")
                .fields::<Self>(&[])
                .param("WIDTH", "w", W)
                .param("DEPTH", "d", depth),
            clk_i: Signal::default(),
            we_i: Signal::default(),
            waddr_i: Signal::default(),
            wdata_i: Signal::default(),
            raddr_i: Signal::default(),
            rdata_o: Signal::default(),
            _words: vec![Bits::default(); depth],
        }
    }
}

impl<const W: usize, const A: usize> Logic for RegisterFile<W, A> {
    fn update(&mut self) {
        if self.clk_i.pos_edge() && self.we_i.val() {
            let address = self.waddr_i.val().index();
            if let Some(word) = self._words.get_mut(address) {
                *word = self.wdata_i.val();
            }
        }
        self.rdata_o.next = self._words.get(self.raddr_i.val().index()).copied().unwrap_or_default();
    }
    fn connect(&mut self) {
        self.rdata_o.connect();
    }
    fn hdl(&self) -> Verilog {
        let (msb, last) = (W - 1, self._words.len() - 1);
        Verilog::Custom(format!(
            "reg [{msb}:0] words [0:{last}];\n\
             \n\
             always @(posedge clk_i) begin\n  if (we_i) words[waddr_i] <= wdata_i;\nend\n\
             \n\
             assign rdata_o = words[raddr_i];"
        ))
    }
}
