//! The matrix window and ACE's list window are the same from outside, but for latency: both side by side in one circuit.

use super::bench::Bench;
use super::{ProofReport, ProveError, ProveOptions, SolverKind, Tools, prove_bench};
use crate::emit::{self, Design, Form, Module};
use crate::rtl::Rtl;
use crate::verilog::{self, Instance};
use std::collections::{BTreeMap, BTreeSet};
use windlass_catalog::BlockSpec;
use windlass_rtl::params::{Encoding, ParamError, SchedulerParams, WindowKind, WindowParams};
use windlass_rtl::port::{CLOCK, Direction, Port, RESET};

/// Kernels that the host sends from a reset on.
const KERNELS: usize = 8;

/// Two schedulers that differ in their windows and in nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BothWindows {
    matrix: SchedulerParams,
    list: SchedulerParams,
}

impl BothWindows {
    /// Whatever window `params` has. Only the matrix can be pipelined, and is if `params` says so.
    pub fn new(params: SchedulerParams) -> Result<Self, ParamError> {
        let (window, upstream) = (params.window(), params.upstream());
        let of = |kind| {
            SchedulerParams::new(
                kind,
                window.slots(),
                window.retire_ports(),
                upstream.scheduled(),
                upstream.encoding(),
            )
        };
        Ok(Self {
            matrix: of(WindowKind::Matrix)?.with_pipeline(window.pipelined())?,
            list: of(WindowKind::List)?,
        })
    }

    /// Its two designs: with the matrix, with the list.
    pub fn designs(self) -> Result<[Design; 2], ProveError> {
        let design = |params| emit::emit(&*BlockSpec::KernelScheduler(params).hardware());
        Ok([design(self.matrix)?, design(self.list)?])
    }

    /// Shows for [`ProveOptions::depth`] cycles from a reset that both run the same kernels, once latency is over: what the same host sent to
    /// both, and after the same retirements.
    pub fn prove(self, options: &ProveOptions) -> Result<ProofReport, ProveError> {
        self.prove_designs(&self.designs()?, options)
    }

    /// The same for designs that somebody has changed; a module that both have is taken from the first.
    pub fn prove_designs(
        self,
        designs: &[Design; 2],
        options: &ProveOptions,
    ) -> Result<ProofReport, ProveError> {
        let bench = self.bench();
        prove_bench(
            &Tools::find(options.solver, &bench)?,
            &Rtl::from(&self.side_by_side(designs)),
            &bench,
            options,
        )
    }

    fn bench(self) -> Bench {
        let window: WindowParams = self.matrix.window();
        let slots = window.slots();
        let params = vec![
            ("N", slots),
            ("LN", window.slot_bits()),
            ("R", window.retire_ports()),
            ("MASK", (self.matrix.upstream().encoding() == Encoding::Mask).into()),
            ("KERNELS", KERNELS),
            // A list is walked in N cycles; the pipelined matrix takes less.
            ("READY", slots),
        ];
        let text = include_str!("properties/both_windows.sv");
        Bench { solver: SolverKind::Bitwuzla, ..Bench::new("both_windows", text, params) }
    }

    /// A design that has both: what comes from the host is there once, the other ports as `m_` and `l_`.
    fn side_by_side(self, designs: &[Design; 2]) -> Design {
        let shared = |port: &Port| {
            port.direction == Direction::Input
                && (port.name == CLOCK || port.name == RESET || port.name.starts_with("host_"))
        };
        let [matrix, list] = designs.each_ref().map(Design::top);
        let name = format!("{}_beside_{}", matrix.name, WindowKind::List.name());
        let instances = [(matrix, "m_"), (list, "l_")].map(|(top, prefix)| Instance {
            module: &top.name,
            name: format!("{prefix}scheduler"),
            ports: &top.ports,
            prefix: prefix.into(),
        });
        let (text, ports) = verilog::side_by_side(&name, &instances, shared);
        let top = Module {
            text,
            name,
            params: matrix.params.clone(),
            ports,
            instances: instances.iter().map(|i| (i.name.clone(), i.module.into())).collect(),
            source: String::new(),
            combinational: BTreeMap::new(),
        };
        let mut seen = BTreeSet::new();
        let modules = designs.iter().flat_map(|design| &design.modules);
        // What both use is there once.
        let modules =
            modules.filter(|module| seen.insert(module.name.clone())).cloned().chain([top]).collect();
        Design { modules, form: Form::default() }
    }
}
