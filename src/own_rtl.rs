//! Folders of `--rtl`, where several designs are put side by side.

use crate::{Failure, options};
use std::path::{Path, PathBuf};
use windlass_catalog::BlockSpec;
use windlass_cosim::profile::Profile;
use windlass_gen::rtl::{Rtl, Source};
use windlass_gen::table::counted;
use windlass_rtl::params::{FrontEndParams, SmParams};

/// A folder of `--rtl`.
pub struct Own {
    /// What its design is called: as the folder or the list is.
    pub name: String,
    /// Where it was read.
    pub path: PathBuf,
    /// Its Verilog.
    pub rtl: Rtl,
    /// What it is.
    pub block: BlockSpec,
}

impl Own {
    /// Reads each path once. Designs of one name could not be told apart.
    pub fn read_all(paths: &[PathBuf]) -> Result<Vec<Self>, Failure> {
        let mut all: Vec<Self> = Vec::new();
        for path in options::distinct(paths) {
            let own = Self::read(&path)?;
            if let Some(other) = all.iter().find(|other| other.name == own.name) {
                return Err(format!(
                    "--rtl: {} and {} would both be called `{}` in the report; rename one",
                    other.path.display(),
                    path.display(),
                    own.name
                )
                .into());
            }
            all.push(own);
        }
        Ok(all)
    }

    /// The SMs of a front end.
    pub fn sms(&self) -> Option<u32> {
        match self.block {
            BlockSpec::FrontEnd(params) => Some(params.dispatch().sms().sms() as u32),
            _ => None,
        }
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let source = Source::read(path)?;
        let shown = path.display();
        let Some(words) = &source.arguments else {
            return Err(format!(
                "--rtl {shown}: nothing says which block it is\n  begin with a folder of `windlass gen`, and put your files in the place of its own"
            )
            .into());
        };
        let block = options::block_of(path, words, &[])?;
        let whole = path.canonicalize().map_err(|e| format!("{shown}: {e}"))?;
        let called = if whole.is_dir() { whole.file_name() } else { whole.file_stem() };
        let name = called.unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, path: path.to_path_buf(), rtl: source.of(block), block })
    }
}

/// Refuses the front end that the folder at `path` says it has, if its SMs are not those of the GPU.
pub fn fits(path: &Path, params: FrontEndParams, profile: &Profile) -> Result<(), Failure> {
    let has = params.dispatch().sms();
    let wanted = profile.sm_params()?.with_hold(has.holds());
    if has == wanted {
        return Ok(());
    }
    let name = |sms: SmParams| {
        let of_each = sms.limits();
        let [ctas, warps, registers, smem] =
            [of_each.ctas(), of_each.warps(), of_each.registers(), of_each.smem()];
        format!(
            "{} of {ctas} CTAs, {warps} warps, {registers} units of registers and {smem} of shared memory",
            counted(sms.sms(), "SM")
        )
    };
    let gpu = &profile.name;
    Err(format!(
        "--rtl {}: it has {}, and {gpu} has {}\n  choose another --gpu, or begin with `windlass gen --gpu {gpu}`",
        path.display(),
        name(has),
        name(wanted)
    )
    .into())
}
