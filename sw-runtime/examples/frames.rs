//! Frames come in, are blurred, and go out, while the program is ahead of all three: nothing is waited for before the end.

use windlass_runtime::args;
use windlass_runtime::runtime::{Kernel, Runtime};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Each frame gets memory of its own while kernels still use the last one's.
    let mut rt = Runtime::builder().rename(1 << 20).build()?;
    let blur = Kernel::new("blur").read_of::<f32>("x").write_of::<f32>("y").body(|cta| {
        let (x, y) = (cta.read::<f32>(0)?, cta.write::<f32>(1)?);
        for i in cta.threads().filter(|i| *i < y.len()) {
            y.set(i, (x.get(i.saturating_sub(1)) + x.get((i + 1).min(x.len() - 1))) / 2.0);
        }
        Ok(())
    });
    let blur = rt.register(blur)?;
    let (input, output) = (rt.buffer::<f32>(256)?, rt.buffer::<f32>(256)?);

    let mut frames = Vec::new();
    for n in 0..5 {
        let frame: Vec<f32> = (0..256).map(|i| (i * n) as f32).collect();
        rt.start_write(input, frame)?;
        rt.launch(blur, 4, 64, args![input, output])?;
        frames.push(rt.start_read(output)?);
    }
    for (n, frame) in frames.into_iter().enumerate() {
        let frame = frame.wait()?;
        println!("frame {n}: {} {} {}", frame[0], frame[100], frame[255]);
        assert_eq!((frame[100], frame[255]), ((100 * n) as f32, 254.5 * n as f32));
    }
    rt.synchronize()?;
    Ok(())
}
