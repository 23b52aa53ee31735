// A thread per element of the output; places outside the image are skipped.
extern "C" __global__ void __launch_bounds__(256)
conv2d(const float *x, const float *w, float *y, unsigned channels, unsigned height, unsigned width, unsigned filters, unsigned rows,
       unsigned cols, unsigned stride, unsigned padding, unsigned out_height, unsigned out_width, unsigned n) {
  const unsigned at = blockIdx.x * 256 + threadIdx.x;
  if (at >= n) return;
  const unsigned ox = at % out_width, oy = at / out_width % out_height;
  const unsigned filter = at / out_width / out_height % filters, image = at / out_width / out_height / filters;
  float sum = 0.0f;
  for (unsigned c = 0; c < channels; ++c)
    for (unsigned r = 0; r < rows; ++r) {
      const unsigned iy = oy * stride + r - padding; // outside on either side is past the end: it is unsigned
      if (iy >= height) continue;
      for (unsigned s = 0; s < cols; ++s) {
        const unsigned ix = ox * stride + s - padding;
        if (ix < width)
          sum += x[((image * channels + c) * height + iy) * width + ix] * w[((filter * channels + c) * rows + r) * cols + s];
      }
    }
  y[at] = sum;
}
