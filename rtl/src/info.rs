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

/// Channels, each with its ports: names of fields.
pub type Channels = &'static [(&'static str, &'static [&'static str])];

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
    channels: Channels,
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
    /// the block's Verilog and metadata; of an array of ports it speaks of each of them.
    #[must_use]
    pub fn fields<B: DocumentedFieldsOpt>(self, channels: Channels) -> Self {
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
        let channel = |name: &str| {
            let channel = self.channels.iter().find(|(_, ports)| ports.contains(&name));
            channel.map_or("", |(channel, _)| channel)
        };
        let (names, docs) = self.fields;
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
