//! A kernel fails: what reads its result does not run, everything else does, and the program goes on.

use windlass_runtime::args;
use windlass_runtime::runtime::{Error, Kernel, Options, Runtime};

fn main() -> Result<(), Error> {
    let mut rt = Runtime::builder().build()?;
    let inverse =
        rt.register(Kernel::new("inverse").read_of::<f64>("x").write_of::<f64>("y").body(|cta| {
            let (x, y) = (cta.read::<f64>(0)?, cta.write::<f64>(1)?);
            for i in 0..y.len() {
                if x.get(i) == 0.0 {
                    return Err(format!("element {i} is 0").into());
                }
                y.set(i, 1.0 / x.get(i));
            }
            Ok(())
        }))?;
    let (good, bad) = (rt.buffer_from(&[2.0, 4.0])?, rt.buffer_from(&[2.0, 0.0])?);
    let [a, b, c] = [rt.buffer::<f64>(2)?, rt.buffer::<f64>(2)?, rt.buffer::<f64>(2)?];
    rt.launch(inverse, 1, 1, args![good, a])?;
    rt.launch(inverse, 1, 1, args![bad, b])?;
    let told = Options::new()
        .on_done(|result| println!("third: {}", result.map_or_else(|e| e.to_string(), |()| "done".into())));
    rt.launch_with(inverse, 1, 1, args![b, c], told)?;
    match rt.synchronize() {
        Err(Error::Failed(failures)) => println!("{failures}"),
        other => other?,
    }
    assert_eq!(rt.read(a)?, [0.5, 0.25]);
    assert!(rt.read(c).is_err());
    // Written anew, the bytes are as good as ever.
    rt.write(b, &[8.0, 8.0])?;
    rt.launch(inverse, 1, 1, args![b, c])?;
    assert_eq!(rt.read(c)?, [0.125, 0.125]);
    Ok(())
}
