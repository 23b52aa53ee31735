//! `--fpga`: what a design takes of an FPGA, beside the report.

use crate::Failure;
use clap::Args;
use windlass_gen::report::fpga::{Family, FpgaOptions, FpgaReport, fpga};
use windlass_gen::{emit, output};
use windlass_rtl::catalog::BlockSpec;

/// Options of the FPGA flow.
#[derive(Args)]
pub struct FpgaArgs {
    /// Also map the designs to FPGAs, separated by commas: ice40, ecp5, xc7
    #[arg(long, value_delimiter = ',', value_name = "FAMILY")]
    fpga: Vec<Family>,
    /// Seeds of place and route, one run each, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "1,2,3", value_name = "N")]
    fpga_seeds: Vec<u32>,
}

impl FpgaArgs {
    /// The block on each family that was asked for.
    pub fn measure(&self, block: BlockSpec) -> Result<Vec<FpgaReport>, Failure> {
        if self.fpga.is_empty() {
            return Ok(Vec::new());
        }
        let design = emit::emit(&*block.hardware())?;
        let files = output::verilog_files(&design);
        let options = FpgaOptions { seeds: self.fpga_seeds.clone(), ..FpgaOptions::default() };
        let top = design.top();
        let mut reports = Vec::new();
        for family in &self.fpga {
            reports.push(fpga(&files, &top.name, &top.ports, *family, &options)?);
        }
        Ok(reports)
    }
}
