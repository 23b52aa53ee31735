//! `--fpga`: what a design takes of an FPGA, beside the report.

use crate::Failure;
use crate::options::distinct;
use clap::Args;
use std::time::Duration;
use windlass_gen::synth::fpga::{Family, FpgaOptions, FpgaReport, LIMIT, fpga};
use windlass_rtl::port::Port;

/// Options of the FPGA flow.
#[derive(Args)]
#[command(next_help_heading = "FPGA")]
pub struct FpgaArgs {
    /// Also map the designs to these FPGA families, separated by commas: ice40, ecp5, xc7
    #[arg(long, value_delimiter = ',', value_name = "FAMILY")]
    fpga: Vec<Family>,
    /// Seeds of place and route, separated by commas; each is one run
    #[arg(long, value_delimiter = ',', default_value = "1,2,3", value_name = "N", requires = "fpga")]
    fpga_seeds: Vec<u32>,
    /// Most seconds for each run of Yosys and of place and route; the report says which runs of place and route gave no result
    #[arg(long, default_value_t = LIMIT.as_secs(), value_name = "SECONDS", requires = "fpga")]
    fpga_limit: u64,
}

impl FpgaArgs {
    /// The same seed again is the same run, and no second opinion.
    fn seeds(&self) -> Vec<u32> {
        distinct(&self.fpga_seeds)
    }

    /// The design on each family that was asked for.
    pub fn measure(
        &self,
        files: &[(String, String)],
        top: &str,
        ports: &[Port],
    ) -> Result<Vec<FpgaReport>, Failure> {
        let limit = Duration::from_secs(self.fpga_limit);
        let options = FpgaOptions { seeds: self.seeds(), limit, ..FpgaOptions::default() };
        let mut reports = Vec::new();
        for family in distinct(&self.fpga) {
            reports.push(fpga(files, top, ports, family, &options)?);
        }
        Ok(reports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_counts_once() {
        let args =
            FpgaArgs { fpga: vec![Family::Ice40], fpga_seeds: vec![2, 1, 2], fpga_limit: LIMIT.as_secs() };
        assert_eq!(args.seeds(), [2, 1]);
    }
}
