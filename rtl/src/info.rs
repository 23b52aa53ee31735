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

/// Name, channel and meaning of a port, as a block declares them; for an array of ports, of each of them.
pub type PortDoc = (&'static str, &'static str, &'static str);

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
    ports: &'static [PortDoc],
    /// Names of the fields, and what is said of each.
    fields: (&'static [&'static str], &'static [Option<&'static str>]),
    source: &'static str,
}

const MARK: &str = "windlass";

impl Info {
    /// A block that becomes a module called `kind`, with the parameters' tags added by [`Info::param`].
    pub fn module(kind: &str, source: &'static str, ports: &'static [PortDoc]) -> Self {
        Self {
            id: get_signal_id(),
            module: kind.to_string(),
            form: Form::Module,
            params: Vec::new(),
            ports,
            fields: (&[], &[]),
            source,
        }
    }

    /// Takes what `B`, the block itself, says of its registers and signals, for comments in its Verilog: the first paragraph.
    #[must_use]
    pub fn signals<B: DocumentedFieldsOpt>(self) -> Self {
        Self { fields: (B::FIELD_NAMES, B::FIELD_DOCS), ..self }
    }

    /// A register.
    pub fn register() -> Self {
        Self { form: Form::Register, ..Self::module("register", "", &[]) }
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
        let mut info =
            BlockInfo { module, form, source, params: Vec::new(), ports: Vec::new(), signals: Vec::new() };
        for field in fields {
            match field.kind.kind {
                TypeKind::Bits(value) => info.params.push((field.fieldname, value)),
                TypeKind::Enum(_) => info.signals.push((field.fieldname, field.kind.name)),
                _ => {
                    let (channel, doc) = field.kind.name.split_once('|')?;
                    info.ports.push((field.fieldname, channel.to_string(), doc.to_string()));
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
    /// Port name, channel, meaning.
    pub ports: Vec<(String, String, String)>,
    /// Name and meaning of registers, signals and sub-blocks.
    pub signals: Vec<(String, String)>,
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
        let ports = self.ports.iter().map(|(name, channel, doc)| {
            let kind = TypeKind::Composite(Vec::new());
            field(name, TypeDescriptor { name: format!("{channel}|{doc}"), kind })
        });
        let (names, docs) = self.fields;
        let is_port = |name: &str| self.ports.iter().any(|(port, ..)| *port == name);
        let signals = names.iter().zip(docs).filter(|(name, _)| !is_port(name)).filter_map(|(name, doc)| {
            let doc = doc.as_ref()?.split("\n\n").next()?.replace('\n', " ");
            Some(field(name, TypeDescriptor { name: doc, kind: TypeKind::Enum(Vec::new()) }))
        });
        TypeDescriptor {
            name: format!("{MARK}|{}|{form}|{}", self.module, self.source),
            kind: TypeKind::Composite(params.chain(ports).chain(signals).collect()),
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
