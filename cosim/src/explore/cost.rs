//! What a design costs: the one place that knows which synthesis flow is used.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use thiserror::Error;
use windlass_gen::constraints::{Constraints, Sdc};
use windlass_gen::synth::{AreaOptions, SynthOptions, SynthesisError, Variant, Yosys, area, synth};
use windlass_gen::tools::{self, Tool, ToolError};
use windlass_netlist::WireModel;

/// How thoroughly designs are synthesized: what `--flow` chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Area only, hierarchy kept, as `windlass report` has it.
    Area,
    /// Flattened, with one mapping that is sized for speed, timed.
    Quick,
    /// Flattened, with every mapping and sizing that the synthesis flow has, all timed.
    Full,
}

impl Effort {
    /// Its name in reports and keys.
    pub fn name(self) -> &'static str {
        match self {
            Self::Area => "area",
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    fn variants(self) -> Vec<Variant> {
        match self {
            Self::Full => SynthOptions::default().variants,
            Self::Area | Self::Quick => Variant::quick(),
        }
    }
}

/// How to synthesize.
#[derive(Clone, Debug)]
pub struct Synthesis {
    /// The library's Liberty file.
    pub liberty: PathBuf,
    /// How much.
    pub effort: Effort,
    /// What netlists are timed with.
    pub constraints: Constraints,
    /// The clock period in ns that sizing aims at; none: as fast as it goes.
    pub period_ns: Option<f64>,
    /// Clock gates before flip-flops that share an enable.
    pub clock_gates: bool,
    /// Rows and wires of the technology: areas and clocks are those of the fastest netlist with its wires ([`windlass_gen::synth::wires`]). With
    /// [`Effort::Quick`], which has one netlist.
    pub wires: Option<WireModel>,
}

/// What a design costs in a library. All areas are those of one netlist with its frequency: the smallest, and the fastest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Synthesis tool and version.
    pub tool: String,
    /// What timed it, if anything did.
    pub timer: Option<String>,
    /// The library's name.
    pub library: String,
    /// Its operating conditions.
    pub corner: String,
    /// The cell that gate equivalents count in.
    pub gate: String,
    /// The smallest netlist.
    pub smallest: Netlist,
    /// The fastest netlist, where times are known.
    pub fastest: Option<Netlist>,
}

/// One netlist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Netlist {
    /// How it was mapped.
    pub variant: String,
    /// Cell area in µm².
    pub area_um2: f64,
    /// The same in NAND2 of the library.
    pub gate_equivalents: f64,
    /// Flip-flops.
    pub flip_flops: u64,
    /// The highest clock, register to register, in MHz.
    pub fmax_mhz: Option<f64>,
}

/// The tools that were found, so that they are looked for once.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    yosys: Yosys,
    /// Versions, for keys.
    pub versions: String,
}

impl Tools {
    pub fn find(effort: Effort) -> Result<Self, ToolError> {
        let yosys = Yosys::find()?;
        let timer = match effort {
            Effort::Area => String::new(),
            _ => match tools::find(Tool::OpenSta) {
                Ok(sta) => sta.version_text(),
                Err(ToolError::Missing { .. }) => "estimate".into(),
                Err(error) => return Err(error),
            },
        };
        Ok(Self { versions: format!("{}; {timer}", yosys.version), yosys })
    }
}

/// Why a design has no cost.
#[derive(Debug, Error)]
pub(super) enum CostError {
    /// Nothing was synthesized.
    #[error(transparent)]
    Synthesis(#[from] SynthesisError),
    /// One of the mappings failed.
    #[error("{0}")]
    Mapping(String),
    /// There was none.
    #[error("no netlist came out of any mapping")]
    Nothing,
}

/// Synthesizes the module `top` of `files`.
pub(super) fn cost(
    files: &[(String, String)],
    top: &str,
    synthesis: &Synthesis,
    sdc: Sdc,
    tools: &Tools,
) -> Result<Cost, CostError> {
    if synthesis.effort == Effort::Area {
        return Ok(hierarchical(files, top, synthesis, tools)?);
    }
    let options = SynthOptions {
        yosys: Some(tools.yosys.clone()),
        variants: synthesis.effort.variants(),
        sdc: Some(sdc),
        period_ns: synthesis.period_ns,
        clock_gates: synthesis.clock_gates,
        wires: synthesis.wires,
        // Pieces run side by side already.
        jobs: 1,
        ..SynthOptions::default()
    };
    let report = synth(files, top, &synthesis.liberty, &options)?;
    // What is kept is kept for good: without some of the mappings the fastest may be missing.
    if let Some(failure) = report.results.iter().find_map(|r| r.failure.clone()) {
        return Err(CostError::Mapping(failure));
    }
    let netlist = |name: &str| {
        let result = report.result(name)?;
        let total = result.total?;
        Some(Netlist {
            variant: result.name.clone(),
            area_um2: total.area_um2,
            gate_equivalents: total.gate_equivalents,
            flip_flops: total.flip_flops,
            fmax_mhz: result.fmax_mhz(),
        })
    };
    let wired = report.wired.as_ref().and_then(|wired| {
        let netlist = wired.fastest()?;
        Some(Netlist {
            variant: wired.name(netlist),
            area_um2: netlist.total.area_um2,
            gate_equivalents: netlist.total.gate_equivalents,
            flip_flops: netlist.total.flip_flops,
            fmax_mhz: netlist.fmax_mhz(),
        })
    });
    let (smallest, fastest) = match wired {
        Some(wired) => (Some(wired.clone()), Some(wired)),
        None => (netlist(&report.smallest), netlist(&report.fastest)),
    };
    Ok(Cost {
        timer: report.smallest().and_then(|r| r.timing.as_ref()).map(|t| t.tool.clone()),
        smallest: smallest.ok_or(CostError::Nothing)?,
        fastest: fastest.filter(|n| n.fmax_mhz.is_some()),
        tool: report.tool,
        library: report.library,
        corner: report.corner,
        gate: report.gate,
    })
}

fn hierarchical(
    files: &[(String, String)],
    top: &str,
    synthesis: &Synthesis,
    tools: &Tools,
) -> Result<Cost, SynthesisError> {
    let (yosys, clock_gates) = (Some(tools.yosys.clone()), synthesis.clock_gates);
    let options = AreaOptions { yosys, clock_gates, ..AreaOptions::default() };
    let report = area(files, top, &synthesis.liberty, &options)?;
    let total = report.total();
    Ok(Cost {
        timer: None,
        smallest: Netlist {
            variant: "hierarchy kept".into(),
            area_um2: total.area_um2,
            gate_equivalents: total.gate_equivalents,
            flip_flops: total.flip_flops,
            fmax_mhz: None,
        },
        fastest: None,
        tool: report.tool,
        library: report.library,
        corner: report.corner,
        gate: report.gate,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_catalog::{BlockSpec, Request};
    use windlass_gen::{emit, output};
    use windlass_netlist::liberty;

    #[test]
    fn with_wires_area_and_clock_are_those_of_the_netlist_that_has_them() {
        let request = Request { slots: 8, ..Request::default() };
        let block = BlockSpec::new("round_robin", request).unwrap();
        let design = emit::emit(&*block.hardware()).unwrap();
        let (files, top) = (output::verilog_files(&design), design.top().name.clone());
        let constraints = Constraints::embedded();
        let tools = Tools::find(Effort::Quick).unwrap();
        let of = |wires: Option<WireModel>| {
            let sdc = constraints.resolve("round_robin", &top, &design.top().ports).unwrap();
            let synthesis = Synthesis {
                liberty: liberty::default_path().unwrap(),
                effort: Effort::Quick,
                constraints: constraints.clone(),
                period_ns: None,
                clock_gates: false,
                wires,
            };
            cost(&files, &top, &synthesis, sdc.timing("osu018"), &tools).unwrap()
        };
        let (ideal, wired) = (of(None), of(Some(constraints.wires("osu018").unwrap())));
        assert_eq!(ideal.smallest.variant, "speed+resize");
        assert!(["speed+resize.placed", "speed+resize.wired"].contains(&wired.smallest.variant.as_str()));
        assert!(wired.smallest.fmax_mhz < ideal.smallest.fmax_mhz, "{wired:?} and {ideal:?}");
        assert_eq!(wired.fastest, Some(wired.smallest));
    }
}
