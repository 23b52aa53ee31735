//! What a block says of itself to the Verilog emitter: its kind, its parameters, its ports' meaning.
//!
//! rust-hdl's [`Probe`] sees the field names of a block but not its type. A block therefore carries an [`Info`] as its first
//! field: an atom that takes part in nothing and whose type descriptor holds the module name and the port comments.

use documented::DocumentedFieldsOpt;
use rust_hdl::core::atom::{Atom, AtomKind};
use rust_hdl::core::constraint::PinConstraint;
use rust_hdl::core::signal::get_signal_id;
use rust_hdl::core::synth::VCDValue;
use rust_hdl::prelude::*;

/// How the emitter writes a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A module of its own.
    Module,
    /// A register, written in place as an `always @(posedge clk_i)` of the parent.
    Register,
}

/// A block's description of itself.
#[derive(Clone, Debug)]
pub struct Info {
    id: usize,
    module: String,
    form: Form,
    params: Vec<(&'static str, usize)>,
    channels: &'static [&'static str],
    /// Names of the fields, and what is said of each.
    fields: (&'static [&'static str], &'static [Option<&'static str>]),
    source: &'static str,
}

const MARK: &str = "windlass";

impl Info {
    /// A block that becomes a module called `kind`, with the parameters' tags added by [`Info::param`].
    pub fn module(kind: &str, source: &'static str) -> Self {
        Self {
            id: get_signal_id(),
            module: kind.to_string(),
            form: Form::Module,
            params: Vec::new(),
            channels: &[],
            fields: (&[], &[]),
            source,
        }
    }

    /// Takes what `B`, the block itself, says of its fields: ports, registers, signals, sub-blocks. The first paragraph of each stands in
    /// the block's Verilog and metadata; of an array of ports it speaks of each of them. A channel has the ports that begin with its name and go
    /// the way of its `valid`, and its `ready`, but not its `err`.
    #[must_use]
    pub fn fields<B: DocumentedFieldsOpt>(self, channels: &'static [&'static str]) -> Self {
        Self { fields: (B::FIELD_NAMES, B::FIELD_DOCS), channels, ..self }
    }

    /// A register.
    pub fn register() -> Self {
        Self { form: Form::Register, ..Self::module("register", "") }
    }

    /// Adds a parameter; `tag` and the value go into the module's name, e.g. `_n32`.
    #[must_use]
    pub fn param(mut self, name: &'static str, tag: &str, value: usize) -> Self {
        self.module = format!("{}_{tag}{value}", self.module);
        self.params.push((name, value));
        self
    }

    /// The same for a parameter whose value of 0 stands for a block without it.
    #[must_use]
    pub fn param_if(self, name: &'static str, tag: &str, value: usize) -> Self {
        if value == 0 { self } else { self.param(name, tag, value) }
    }

    /// The same for a parameter that the name does not say where it has its `usual` value.
    #[must_use]
    pub fn param_unless(mut self, usual: usize, name: &'static str, tag: &str, value: usize) -> Self {
        if value != usual {
            return self.param(name, tag, value);
        }
        self.params.push((name, value));
        self
    }

    /// Reads what a probed atom says, if it is an `Info`.
    pub fn read(atom: &dyn Atom) -> Option<BlockInfo> {
        let descriptor = atom.descriptor();
        let TypeKind::Composite(fields) = descriptor.kind else { return None };
        let mut words = descriptor.name.split('|');
        if words.next() != Some(MARK) {
            return None;
        }
        let module = words.next()?.to_string();
        let form = if words.next()? == "register" { Form::Register } else { Form::Module };
        let source = words.next()?.to_string();
        let mut info = BlockInfo { module, form, source, params: Vec::new(), fields: Vec::new() };
        for field in fields {
            match field.kind.kind {
                TypeKind::Bits(value) => info.params.push((field.fieldname, value)),
                _ => {
                    let (channel, doc) = field.kind.name.split_once('|')?;
                    info.fields.push((field.fieldname, channel.to_string(), doc.to_string()));
                }
            }
        }
        Some(info)
    }
}

/// What [`Info::read`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Module name with parameters, e.g. `window_matrix_n32_r2`.
    pub module: String,
    /// Module or register.
    pub form: Form,
    /// Where the block comes from: paper, section.
    pub source: String,
    /// Parameter names and values.
    pub params: Vec<(String, usize)>,
    /// Name of a port, a register, a signal or a sub-block; its channel; its meaning.
    pub fields: Vec<(String, String, String)>,
}

/// The first paragraph of a field's documentation, as a comment beside a name.
fn comment(doc: &str) -> String {
    let doc = doc.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let doc = doc.replace("[`", "").replace("`]", "").replace('`', "");
    let doc = doc.strip_suffix('.').unwrap_or(&doc);
    let mut letters = doc.chars();
    match (letters.next(), letters.next()) {
        // Not of an abbreviation, nor of a name of one letter.
        (Some(first), Some(second)) if second.is_lowercase() || (first, second) == ('A', ' ') => {
            format!("{}{second}{}", first.to_lowercase(), letters.as_str())
        }
        _ => doc.to_string(),
    }
}

impl BlockInfo {
    /// What is said of the field of that name.
    pub fn field(&self, name: &str) -> Option<&(String, String, String)> {
        self.fields.iter().find(|(field, ..)| field == name)
    }
}

impl Atom for Info {
    fn bits(&self) -> usize {
        1
    }
    fn connected(&self) -> bool {
        true
    }
    fn changed(&self) -> bool {
        false
    }
    fn kind(&self) -> AtomKind {
        AtomKind::Constant
    }
    fn descriptor(&self) -> TypeDescriptor {
        let form = if self.form == Form::Register { "register" } else { "module" };
        let field = |fieldname: &str, kind: TypeDescriptor| {
            Box::new(TypeField { fieldname: fieldname.to_string(), kind })
        };
        let params = self.params.iter().map(|(name, value)| {
            field(name, TypeDescriptor { name: String::new(), kind: TypeKind::Bits(*value) })
        });
        let (names, docs) = self.fields;
        let channel = |name: &str| {
            let in_channel = |channel: &&&str| {
                let Some(part) = name.strip_prefix(**channel).and_then(|rest| rest.strip_prefix('_')) else {
                    return false;
                };
                let valid_comes_in = names.contains(&format!("{channel}_valid_i").as_str());
                // What is wrong with a transfer is no part of it.
                !part.starts_with("err_")
                    && part.ends_with("_i") == (valid_comes_in != part.starts_with("ready_"))
            };
            self.channels.iter().find(in_channel).map_or("", |channel| *channel)
        };
        let fields = names.iter().zip(docs).filter_map(|(name, doc)| {
            let kind = TypeKind::Composite(Vec::new());
            let text = format!("{}|{}", channel(name), comment(doc.as_ref()?));
            Some(field(name, TypeDescriptor { name: text, kind }))
        });
        TypeDescriptor {
            name: format!("{MARK}|{}|{form}|{}", self.module, self.source),
            kind: TypeKind::Composite(params.chain(fields).collect()),
        }
    }
    fn vcd(&self) -> VCDValue {
        false.into()
    }
    fn id(&self) -> usize {
        self.id
    }
    fn verilog(&self) -> VerilogLiteral {
        false.into()
    }
    fn constraints(&self) -> Vec<PinConstraint> {
        Vec::new()
    }
}

impl Logic for Info {
    fn update(&mut self) {}
}

impl Block for Info {
    fn connect_all(&mut self) {}
    fn update_all(&mut self) {}
    fn has_changed(&self) -> bool {
        false
    }
    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_atom(name, self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_has_what_goes_the_way_of_its_valid_and_its_ready() {
        /// Not the block's.
        #[derive(DocumentedFieldsOpt)]
        #[allow(dead_code)]
        struct Ports {
            /// A kernel comes.
            ins_valid_i: (),
            /// It is taken.
            ins_ready_o: (),
            /// Its id.
            ins_id_i: (),
            /// SMs that it has.
            ins_slot_o: (),
            /// M newer ones were sent.
            inside_i: (),
            /// `ins_slot_o`, kept.
            ///
            /// More of it.
            ret_valid_o: (),
            /// It is taken.
            ret_ready_i: (),
            /// Its slot.
            ret_slot_o: (),
            /// Of the retirements
            /// an error.
            ret_err_o: (),
            nothing: (),
        }
        let info = Info::module("block", "").fields::<Ports>(&["ins", "ret"]);
        let read = Info::read(&info).expect("it is an Info");
        let fields: Vec<_> =
            read.fields.iter().map(|(n, c, d)| (n.as_str(), c.as_str(), d.as_str())).collect();
        let expected = [
            ("ins_valid_i", "ins", "a kernel comes"),
            ("ins_ready_o", "ins", "it is taken"),
            ("ins_id_i", "ins", "its id"),
            ("ins_slot_o", "", "SMs that it has"),
            ("inside_i", "", "M newer ones were sent"),
            ("ret_valid_o", "ret", "ins_slot_o, kept"),
            ("ret_ready_i", "ret", "it is taken"),
            ("ret_slot_o", "ret", "its slot"),
            ("ret_err_o", "", "of the retirements an error"),
        ];
        assert_eq!(fields, expected);
    }
}
