//! The Verilog emitter: rust-hdl's own data structures in, readable Verilog-2005 out.
//!
//! Four steps, one file each: `tree` probes a block into a tree of modules; `lower` turns a module's `update` into
//! sized expressions over resolved names, and refuses what it does not know; `group` cuts its statements into pieces of logic; `print`
//! writes it down. Beside them `paths` says which outputs depend on which inputs in the same cycle.
//!
//! Invariants: every expression has in Verilog exactly the width that it has in rust-hdl (extensions and cuts are written out,
//! literals are sized); every binary expression is parenthesised as the tree says, but for chains of one operator from left to right; order of assignment within an `update` is
//! kept, and a signal that is read before it is written is an error.

mod group;
mod ir;
mod keywords;
mod lower;
mod paths;
mod prefix;
mod print;
mod tree;

pub use prefix::{Prefix, PrefixError};

use rust_hdl::prelude::Block;
use std::collections::BTreeMap;
use thiserror::Error;
use windlass_rtl::port::{CLOCK, Port, RESET};

/// Something in a block that has no Verilog, with the block and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EmitError {
    /// What the emitter does not know, or knows to be wrong.
    #[error("block {block}: {what}")]
    Refused {
        /// The block's module name, or its path where it has none.
        block: String,
        /// What is wrong.
        what: String,
    },
    /// A name that Verilog or SystemVerilog keeps for itself.
    #[error(
        "block {block}: {field} would be called `{keyword}`, a keyword of Verilog or SystemVerilog; give it another name"
    )]
    Keyword {
        /// The block's module name.
        block: String,
        /// The port or signal as the block calls it, or `the module`.
        field: String,
        /// The keyword.
        keyword: String,
    },
    /// Two names of a block that are one in Verilog.
    #[error("block {block}: {first} and {second} would both be called `{name}`; give one another name")]
    SameName {
        /// The block's module name.
        block: String,
        /// What is declared first, as the block calls it.
        first: String,
        /// What comes to the same name.
        second: String,
        /// The name in Verilog.
        name: String,
    },
}

impl EmitError {
    fn refused(block: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Refused { block: block.into(), what: what.into() }
    }
}

/// All that is wrong with a design.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .0.iter().map(EmitError::to_string).collect::<Vec<_>>().join("\n"))]
pub struct EmitErrors(pub Vec<EmitError>);

/// Under which licence everything that is generated may be used, at the user's choice: that of Windlass.
pub const LICENSE: &str = "MIT OR Apache-2.0";

/// One emitted module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Its text, from `module` to `endmodule`, with the comment above it.
    pub text: String,
    /// Its parameters, by name.
    pub params: Vec<(String, usize)>,
    /// Its ports in order, the clock included.
    pub ports: Vec<Port>,
    /// Names and modules of what it instantiates.
    pub instances: Vec<(String, String)>,
    /// Where the block comes from.
    pub source: String,
    /// Of each output port, the input ports that it depends on in the same cycle.
    pub combinational: BTreeMap<String, Vec<String>>,
}

impl Module {
    /// Its clock, where it has one.
    pub fn clock(&self) -> Option<&str> {
        self.port(CLOCK)
    }

    /// Its reset, where it has one.
    pub fn reset(&self) -> Option<&str> {
        self.port(RESET)
    }

    fn port(&self, name: &str) -> Option<&str> {
        self.ports.iter().map(|port| port.name.as_str()).find(|port| *port == name)
    }
}

/// How registers that have a reset take it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ResetKind {
    /// At a clock edge.
    #[default]
    Synchronous,
    /// At once; its end must come in time before a clock edge, as a synchroniser sees to. Payload without a reset, and a matrix window's
    /// numbers of free slots, take theirs at a clock edge all the same.
    Asynchronous,
}

impl ResetKind {
    /// In the texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Synchronous => "synchronous",
            Self::Asynchronous => "asynchronous",
        }
    }

    /// What modules' names end with: of two that differ in it alone, a tool that reads both would keep one.
    fn suffix(self) -> &'static str {
        match self {
            Self::Synchronous => "",
            Self::Asynchronous => "_arst",
        }
    }
}

/// What is up to those who take the design into theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// What the names of all modules begin with.
    pub prefix: Prefix,
    /// How registers are reset.
    pub reset: ResetKind,
}

/// An emitted design: the modules, each after those that it uses; the last is the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    /// At least one.
    pub(crate) modules: Vec<Module>,
    pub(crate) form: Form,
}

impl Design {
    /// The modules, the top last.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// The same, to be changed: tests break a design to see whether it is noticed.
    #[doc(hidden)]
    pub fn modules_mut(&mut self) -> &mut [Module] {
        &mut self.modules
    }

    /// What the names of all modules begin with.
    pub fn prefix(&self) -> &Prefix {
        &self.form.prefix
    }

    /// How its registers are reset.
    pub fn reset_kind(&self) -> ResetKind {
        self.form.reset
    }

    /// The top module.
    pub fn top(&self) -> &Module {
        self.modules.last().unwrap_or_else(|| unreachable!("a design has at least its top"))
    }

    /// What `module`, one of the design's, is called without the prefix.
    pub(crate) fn unprefixed<'a>(&self, module: &'a Module) -> &'a str {
        module.name.strip_prefix(self.form.prefix.as_str()).unwrap_or(&module.name)
    }

    /// The comment at the head of the file of `module`, one of the design's. It is the module's own, so that designs that share it write the
    /// same file.
    pub fn header(&self, module: &Module) -> String {
        let params: Vec<String> =
            module.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let version = env!("CARGO_PKG_VERSION");
        let mut text = format!(
            "// SPDX-License-Identifier: {LICENSE}\n// {}: generated by Windlass {version}; do not edit.\n",
            module.name
        );
        if !params.is_empty() {
            text.push_str(&format!("// Parameters: {}.\n", params.join(", ")));
        }
        if !module.source.is_empty() {
            text.push_str(&format!("// Source: {}.\n", module.source));
        }
        text.push_str(&match (module.clock(), module.reset()) {
            (Some(clock), Some(reset)) => {
                let kind = self.form.reset.name();
                format!("// One clock ({clock}, rising edge); {kind} reset ({reset}, active low).\n")
            }
            (Some(clock), None) => format!("// One clock ({clock}, rising edge); no reset.\n"),
            (None, _) => "// Combinational: no clock, no reset.\n".into(),
        });
        text
    }

    /// The whole design as one file.
    pub fn verilog(&self) -> String {
        let mut text = self.header(self.top());
        for module in &self.modules {
            text.push('\n');
            text.push_str(&module.text);
        }
        text
    }
}

/// Emits `block` and all that it contains. The block must be connected (`connect_all`).
pub fn emit(block: &dyn Block) -> Result<Design, EmitErrors> {
    emit_as(block, &Form::default())
}

/// Emits a design as [`emit`] does, with names that begin with a prefix, or registers that take their reset otherwise.
pub fn emit_as(block: &dyn Block, form: &Form) -> Result<Design, EmitErrors> {
    let one = |what: String| EmitErrors(vec![EmitError::refused("top", what)]);
    rust_hdl::prelude::check_all(block).map_err(|e| one(format!("rust-hdl's own checks: {e:?}")))?;
    let mut root = tree::probe(block).map_err(|e| EmitErrors(vec![e]))?;
    root.rename(form);
    let mut emitted = Emitted { reset: form.reset, ..Emitted::default() };
    emitted.add(&root);
    if !emitted.errors.is_empty() {
        return Err(EmitErrors(emitted.errors));
    }
    Ok(Design { modules: emitted.modules, form: form.clone() })
}

/// The ports of `block`'s module, with what is said of each; nothing else is looked at. The block must be connected (`connect_all`).
pub fn ports(block: &dyn Block) -> Result<Vec<Port>, EmitError> {
    tree::probe(block).map(|root| print::ports(&root, ResetKind::default()))
}

/// What is emitted so far.
#[derive(Default)]
struct Emitted {
    /// The modules, each after those that it uses.
    modules: Vec<Module>,
    /// By name, what each was made from.
    fingerprints: BTreeMap<String, String>,
    /// By name, its paths from inputs to outputs.
    paths: BTreeMap<String, paths::Paths>,
    errors: Vec<EmitError>,
    reset: ResetKind,
}

impl Emitted {
    /// Emits `node`'s children, then `node`, each module once.
    fn add(&mut self, node: &tree::Node) {
        let name = &node.info.module;
        let fingerprint = node.fingerprint();
        match self.fingerprints.get(name) {
            Some(other) if *other == fingerprint => return,
            Some(_) => {
                let what = "two different blocks have this name; add the parameter in which they differ";
                self.errors.push(EmitError::refused(name, what));
                return;
            }
            None => {}
        }
        self.fingerprints.insert(name.clone(), fingerprint);
        node.children.values().filter(|child| !child.is_register()).for_each(|child| self.add(child));
        let module = lower::lower(node).and_then(|lowered| {
            let found = keywords(node, &lowered);
            if !found.is_empty() {
                return Err(found);
            }
            // Without all sub-blocks there is no design, and nobody asks.
            if self.errors.is_empty() {
                self.paths.insert(name.clone(), paths::paths(node, &lowered, &self.paths));
            }
            print::print(node, lowered, self.reset)
        });
        match module {
            Ok(mut module) => {
                module.combinational =
                    self.paths.get(name).map(|paths| paths.ports(print::verilog_name)).unwrap_or_default();
                self.modules.push(module);
            }
            Err(mut found) => self.errors.append(&mut found),
        }
    }
}

/// The names of the module that are keywords.
fn keywords(node: &tree::Node, lowered: &lower::Lowered) -> Vec<EmitError> {
    let module = ("the module".to_string(), node.info.module.clone());
    std::iter::once(module)
        .chain(print::names(node, lowered))
        .filter(|(_, name)| keywords::is_keyword(name))
        .map(|(field, keyword)| EmitError::Keyword { block: node.info.module.clone(), field, keyword })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use documented::DocumentedFieldsOpt;
    use rust_hdl::prelude::*;
    use windlass_catalog::{BLOCKS, BlockSpec, Request};
    use windlass_rtl::info::Info;
    use windlass_rtl::params::{ArbiterKind, Encoding, WindowKind};
    use windlass_rtl::parts::{FindFirst, PayloadRegister, bank, number};

    #[test]
    fn every_port_and_every_register_has_a_comment() {
        let small = Request { slots: 4, sms: 4, scheduled: 8, ..Request::default() };
        let requests = [
            small,
            Request { window: WindowKind::List, encoding: Encoding::Mask, ..small },
            Request { pipelined: true, arbiter: ArbiterKind::Typed { active: 2 }, ..small },
        ];
        let mut bare = Vec::new();
        let mut designs = 0;
        for request in requests {
            for spec in BLOCKS.iter().filter_map(|name| BlockSpec::new(name, request).ok()) {
                designs += 1;
                let hardware = spec.hardware();
                for module in emit(&*hardware).unwrap_or_else(|e| panic!("{e}")).modules {
                    let ports = module.ports.iter().filter(|port| port.doc.is_empty());
                    bare.extend(ports.map(|port| format!("{}: {}", module.name, port.name)));
                }
                let root = tree::probe(&*hardware).unwrap_or_else(|e| panic!("{e}"));
                registers_without_comment(&root, &mut bare);
            }
        }
        bare.sort();
        bare.dedup();
        assert!(bare.is_empty(), "{bare:#?}");
        assert!(designs > 30, "only {designs} designs were looked at");
    }

    /// What a comment calls by a name is there, in this variant.
    #[test]
    fn comments_name_only_what_is_there() {
        let small = Request { slots: 4, sms: 4, scheduled: 8, ..Request::default() };
        let requests = [
            small,
            Request { window: WindowKind::List, encoding: Encoding::Mask, ..small },
            Request {
                pipelined: true,
                places: 2,
                arbiter: ArbiterKind::Typed { active: 4 },
                hold_idle: true,
                ..small
            },
            Request { arbiter: ArbiterKind::Single, ..small },
        ];
        let is_name = |word: &&str| {
            word.contains('_') && ["_q", "_d", "_i", "_o", "_ni"].iter().any(|end| word.ends_with(end))
        };
        let words = |text: &str| {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.map(String::from).collect::<Vec<_>>()
        };
        let mut elsewhere = std::collections::BTreeSet::new();
        for request in requests {
            for spec in BLOCKS.iter().filter_map(|name| BlockSpec::new(name, request).ok()) {
                for module in emit(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}")).modules {
                    let parts: Vec<(&str, &str)> =
                        module.text.lines().map(|line| line.split_once("//").unwrap_or((line, ""))).collect();
                    // Of an array a comment says the name without an index.
                    let names: std::collections::BTreeSet<String> = parts
                        .iter()
                        .flat_map(|(code, _)| words(code))
                        .flat_map(|word| {
                            let letters = |part: &&str| part.parse::<u32>().is_err();
                            let whole = word.split('_').filter(letters).collect::<Vec<_>>().join("_");
                            [word, whole]
                        })
                        .collect();
                    for (_, comment) in parts {
                        let said = words(comment);
                        for name in said.iter().map(String::as_str).filter(is_name) {
                            if !names.contains(name) {
                                elsewhere.insert(format!("{}: {name}", module.name));
                            }
                        }
                    }
                    let staged = module.name.contains("window_matrix") && module.name.ends_with("_p1");
                    if !staged && module.text.to_lowercase().contains("pipelined") {
                        elsewhere.insert(format!("{}: pipelined", module.name));
                    }
                }
            }
        }
        assert!(elsewhere.is_empty(), "{elsewhere:#?}");
    }

    fn registers_without_comment(node: &tree::Node, bare: &mut Vec<String>) {
        for (key, child) in &node.children {
            let name = key.split('[').next().unwrap_or(key);
            if child.is_register() && node.info.field(name).is_none() {
                bare.push(format!("{}: {name}", node.info.module));
            }
            registers_without_comment(child, bare);
        }
    }

    #[derive(LogicBlock, DocumentedFieldsOpt)]
    struct Spoken {
        info: Info,
        clk_i: Signal<In, Clock>,
        a_i: Signal<In, Bits<4>>,
        x_o: Signal<Out, Bit>,
        y_o: Signal<Out, Bit>,
        /// What `a_i` was.
        ///
        /// More of it.
        seen: PayloadRegister<Bits<4>>,
        /// SMs of each turn.
        turns: Vec<Signal<Local, Bits<4>>>,
        /// Finds the first.
        picker: FindFirst<4>,
        mask: Constant<Bits<4>>,
        _none: usize,
    }

    impl Default for Spoken {
        fn default() -> Self {
            Self {
                info: Info::module("spoken", "").fields::<Self>(&[]),
                clk_i: Signal::default(),
                a_i: Signal::default(),
                x_o: Signal::default(),
                y_o: Signal::default(),
                seen: PayloadRegister::default(),
                turns: bank(2),
                picker: FindFirst::default(),
                mask: number(4),
                _none: 0,
            }
        }
    }

    macro_rules! comment {
        ($text:literal) => {};
    }

    impl Logic for Spoken {
        #[hdl_gen]
        fn update(&mut self) {
            comment!("Stands in no text: what it is said of stands in the register.");
            self.seen.clk_i.next = self.clk_i.val();
            comment!("The register,");
            comment!("and its clock.");
            self.seen.d_i.next = self.a_i.val();
            comment!("Of what was seen.");
            self.picker.req_i.next = self.seen.q_o.val();
            comment!("Of nothing.");
            for _i in 0..self._none {
                self.seen.d_i.next = self.a_i.val();
            }
            for t in 0..2 {
                comment!("Once of all turns.");
                self.turns[t].next = self.seen.q_o.val() << 1;
            }
            comment!("Before a process.");
            self.x_o.next = (self.turns[1].val() & self.mask.val()).any();
            if self.a_i.val().get_bit(0) {
                comment!("Within it.");
                self.x_o.next = false;
                self.x_o.next = self.x_o.val() ^ self.a_i.val().get_bit(1);
            }
            self.y_o.next = (self.turns[0].val() & self.mask.val()).any() & self.picker.gnt_o.val().any();
        }
    }

    #[test]
    fn comments_of_the_block_stand_in_its_verilog() {
        let mut block = Spoken::default();
        block.connect_all();
        let design = emit(&block).unwrap_or_else(|e| panic!("{e}"));
        let body = design.top().text.split_once(");\n").map(|(_, body)| body).unwrap_or_default();
        let wanted = "
  reg  [3:0] seen_q; // what a_i was
  wire [3:0] seen_d;

  wire [3:0] turns_0; // SMs of each turn
  wire [3:0] turns_1;

  reg  x_o_comb;

  wire [3:0] picker_gnt_o;

  assign x_o = x_o_comb;

  wire unused = &{1'b0, turns_0[1:0], turns_0[3], turns_1[1:0], turns_1[3]};

  // The register,
  // and its clock.
  assign seen_d = a_i;

  // Once of all turns.
  assign turns_0 = seen_q << 1;
  assign turns_1 = seen_q << 1;

  // Before a process.
  always @(*) begin
    x_o_comb = turns_1[2];
    if (a_i[0]) begin
      // Within it.
      x_o_comb = 1'b0;
      x_o_comb = x_o_comb ^ a_i[1];
    end
  end

  assign y_o = turns_0[2] & (|picker_gnt_o);

  always @(posedge clk_i) begin
    seen_q <= seen_d;
  end

  // finds the first
  // Of what was seen.
  find_first_n4 u_picker (
    .req_i(seen_q),
    .gnt_o(picker_gnt_o)
  );
endmodule
";
        assert_eq!(body, wanted);
    }

    #[derive(LogicBlock)]
    struct Alike {
        info: Info,
        clk_i: Signal<In, Clock>,
        a_i: Signal<In, Bits<2>>,
        x_o: Signal<Out, Bits<2>>,
        row: Vec<Signal<Local, Bit>>,
        row_1: Signal<Local, Bit>,
        valid: PayloadRegister<Bit>,
        valid_q: Signal<Local, Bit>,
        picker: FindFirst<2>,
        u_picker: Signal<Local, Bit>,
        x_o_comb: Signal<Local, Bit>,
        unused: Signal<Local, Bit>,
        bits_0: Signal<Local, Bit>,
    }

    impl Default for Alike {
        fn default() -> Self {
            Self {
                info: Info::module("alike", ""),
                clk_i: Signal::default(),
                a_i: Signal::default(),
                x_o: Signal::default(),
                row: bank(2),
                row_1: Signal::default(),
                valid: PayloadRegister::default(),
                valid_q: Signal::default(),
                picker: FindFirst::default(),
                u_picker: Signal::default(),
                x_o_comb: Signal::default(),
                unused: Signal::default(),
                bits_0: Signal::default(),
            }
        }
    }

    impl Logic for Alike {
        #[hdl_gen]
        fn update(&mut self) {
            self.row[0].next = self.a_i.val().get_bit(0);
            self.row[1].next = self.row[0].val();
            self.row_1.next = self.row[1].val();
            self.valid.clk_i.next = self.clk_i.val();
            self.valid.d_i.next = self.row_1.val();
            self.valid_q.next = self.valid.q_o.val();
            self.picker.req_i.next = self.a_i.val();
            self.u_picker.next = self.valid_q.val();
            self.x_o_comb.next = self.u_picker.val();
            // The emitter's own name for the sum goes out of the way.
            self.bits_0.next = (self.a_i.val() + self.picker.gnt_o.val()).get_bit(0);
            self.unused.next = self.bits_0.val();
            self.x_o.next = self.a_i.val();
            if self.x_o_comb.val() & self.unused.val() {
                self.x_o.next = self.picker.gnt_o.val();
                if self.a_i.val().get_bit(0) {
                    self.x_o.next = self.picker.gnt_o.val() + self.a_i.val();
                }
            }
        }
    }

    #[test]
    fn names_that_become_one_are_refused() {
        let mut block = Alike::default();
        block.connect_all();
        let EmitErrors(mut errors) = emit(&block).expect_err("must be refused");
        errors.sort_by_key(EmitError::to_string);
        let same = |first: &str, second: &str, name: &str| EmitError::SameName {
            block: "alike".into(),
            first: first.into(),
            second: second.into(),
            name: name.into(),
        };
        let expected = [
            same("row[1]", "row_1", "row_1"),
            same("u_picker", "picker", "u_picker"),
            same("unused", "the wire for what is not read", "unused"),
            same("valid.q_o", "valid_q", "valid_q"),
            same("x_o_comb", "x_o", "x_o_comb"),
        ];
        assert_eq!(errors, expected);
    }
}
