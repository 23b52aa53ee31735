//! Two independent chains of kernels, launched one after another, and run side by side.

use windlass_runtime::args;
use windlass_runtime::runtime::{Error, Kernel, Runtime};

fn main() -> Result<(), Error> {
    let saxpy =
        Kernel::new("saxpy").value_of::<f32>("a").read_of::<f32>("x").read_write_of::<f32>("y").body(|cta| {
            let (a, x, y) = (cta.value::<f32>(0)?, cta.read::<f32>(1)?, cta.read_write::<f32>(2)?);
            for i in cta.threads().filter(|i| *i < y.len()) {
                y.set(i, a * x.get(i) + y.get(i));
            }
            Ok(())
        });
    let mut rt = Runtime::builder().window(32).build()?;
    let saxpy = rt.register(saxpy)?;
    let x = rt.buffer_from(&vec![1.0f32; 1000])?;
    let (even, odd) = (rt.buffer::<f32>(1000)?, rt.buffer::<f32>(1000)?);
    for step in 0..8 {
        let y = if step % 2 == 0 { even } else { odd };
        rt.launch(saxpy, 4, 256, args![step as f32, x, y])?;
    }
    rt.synchronize()?;
    println!("even {}, odd {}", rt.read(even)?[999], rt.read(odd)?[999]);
    assert_eq!((rt.read(even)?[0], rt.read(odd)?[0]), (12.0, 16.0));
    Ok(())
}
