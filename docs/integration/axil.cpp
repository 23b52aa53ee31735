// SPDX-License-Identifier: MIT OR Apache-2.0
// Software, a bus and SMs around a front end with registers (`windlass gen --axil`), in Verilator: the driver of TOP_axil.h sends random kernels,
// rewrites partitions, waits by polling and by the interrupt, provokes errors and reads counters. The SMs run what comes, and check that each CTA
// comes after all that its kernel waits for, once, and to an SM of its partition. Give it the header as HEADER. With an argument it
// prints what the registers answer instead.
#include "Vtop.h"
#include "verilated.h"
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

static uint32_t bus_read(uint32_t address);
static void bus_write(uint32_t address, uint32_t value);
#define WINDLASS_READ(base, offset) bus_read((uint32_t)(base) + (offset))
#define WINDLASS_WRITE(base, offset, value) bus_write((uint32_t)(base) + (offset), (value))
#include HEADER

static uint64_t state = 1;
static uint32_t below(uint32_t n) { // xorshift
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)((state >> 16) % n);
}

static Vtop *top;
static uint64_t cycle, reads, writes;
static unsigned refused;     // the last answer: 0, or SLVERR, 2
static unsigned lanes = 0xf; // bytes that are written

static void check(bool right, const char *what) {
  if (!right) {
    printf("FAILED in cycle %llu: %s\n", (unsigned long long)cycle, what);
    exit(1);
  }
}

// The books.
struct Kernel {
  uint32_t grid, placed, ended;
  unsigned part;
  std::vector<size_t> upstream;
};
static std::vector<Kernel> kernels;
static bool has_ended(size_t k) {
  if (kernels[k].ended < kernels[k].grid)
    return false;
  for (size_t u : kernels[k].upstream) // a marker ends after what it waits for
    if (kernels[k].grid == 0 && !has_ended(u))
      return false;
  return true;
}
static uint32_t masks[8];

// The SMs.
struct Cta {
  uint64_t end;
  unsigned sm, slot;
  size_t kernel;
};
static std::vector<Cta> running;
static std::deque<Cta> ended[4];
static bool held; // no CTA ends
static uint64_t ctas;

static void take(unsigned channel, const VlWide<3> &data) {
  const unsigned sm = data[0] & 0xff, slot = data[0] >> 8 & 0xff, id = data[0] >> 16 & 0xff, type = data[2] & 1;
  size_t k = kernels.size();
  while (k > 0 && ((k - 1) & 0xff) != id)
    k--;
  check(k > 0, "a CTA of a kernel that was not sent");
  Kernel &kernel = kernels[--k];
  check(type == channel && kernel.placed < kernel.grid && data[1] == kernel.placed, "not the kernel's next CTA");
  check(sm < WINDLASS_SMS && (masks[kernel.part] >> sm & 1), "an SM that is not in the partition");
  for (size_t u : kernel.upstream)
    check(has_ended(u), "a CTA before a kernel that it waits for has ended");
  kernel.placed++;
  ctas++;
  running.push_back({cycle + 1 + below(30), sm, slot, k});
}

// One clock cycle. The accesses' handshakes in it are for the bus.
static struct { bool aw, w, b, ar, r; } fired;
static void tick() {
  CData *const valid[4] = {&top->s_axis_done_0_tvalid, &top->s_axis_done_1_tvalid, &top->s_axis_done_2_tvalid, &top->s_axis_done_3_tvalid};
  SData *const data[4] = {&top->s_axis_done_0_tdata, &top->s_axis_done_1_tdata, &top->s_axis_done_2_tdata, &top->s_axis_done_3_tdata};
  CData *const ready[4] = {&top->s_axis_done_0_tready, &top->s_axis_done_1_tready, &top->s_axis_done_2_tready, &top->s_axis_done_3_tready};
  for (size_t i = 0; i < running.size();) {
    if (!held && running[i].end <= cycle) {
      ended[running[i].sm % 4].push_back(running[i]);
      running[i] = running.back();
      running.pop_back();
    } else
      i++;
  }
  for (unsigned p = 0; p < 4; p++) {
    *valid[p] = !ended[p].empty();
    *data[p] = ended[p].empty() ? 0 : (SData)(ended[p].front().sm | ended[p].front().slot << 8);
  }
  top->m_axis_cta_0_tready = below(4) != 0;
  top->m_axis_cta_1_tready = below(4) != 0;
  top->aclk = 0;
  top->eval();
  fired = {top->s_axi_awvalid && top->s_axi_awready, top->s_axi_wvalid && top->s_axi_wready, top->s_axi_bvalid && top->s_axi_bready,
           top->s_axi_arvalid && top->s_axi_arready, top->s_axi_rvalid && top->s_axi_rready};
  if (top->aresetn) {
    if (top->m_axis_cta_0_tvalid && top->m_axis_cta_0_tready)
      take(0, top->m_axis_cta_0_tdata);
    if (top->m_axis_cta_1_tvalid && top->m_axis_cta_1_tready)
      take(1, top->m_axis_cta_1_tdata);
    for (unsigned p = 0; p < 4; p++)
      if (*valid[p] && *ready[p]) {
        kernels[ended[p].front().kernel].ended++;
        ended[p].pop_front();
      }
  }
  refused = fired.b ? top->s_axi_bresp : fired.r ? top->s_axi_rresp : refused;
  top->aclk = 1;
  top->eval();
  cycle++;
}

// The bus: address and data come in any order, and answers are taken late at times.
static void bus_write(uint32_t address, uint32_t value) {
  uint32_t address_waits = below(3), data_waits = below(3);
  bool address_taken = false, data_taken = false, answered = false;
  top->s_axi_awaddr = address;
  top->s_axi_wdata = value;
  top->s_axi_wstrb = lanes;
  for (uint32_t n = 0; !answered; n++) {
    check(n < 50, "no answer to a write");
    top->s_axi_awvalid = !address_taken && n >= address_waits;
    top->s_axi_wvalid = !data_taken && n >= data_waits;
    top->s_axi_bready = below(2);
    tick();
    address_taken |= fired.aw;
    data_taken |= fired.w;
    answered = fired.b;
  }
  check(address_taken && data_taken, "an answer to no write");
  top->s_axi_awvalid = top->s_axi_wvalid = top->s_axi_bready = 0;
  writes++;
}

static uint32_t bus_read(uint32_t address) {
  bool taken = false, answered = false;
  uint32_t value = 0;
  top->s_axi_araddr = address;
  for (uint32_t n = 0; !answered; n++) {
    check(n < 50, "no answer to a read");
    top->s_axi_arvalid = !taken;
    top->s_axi_rready = below(2);
    value = top->s_axi_rdata;
    tick();
    taken |= fired.ar;
    answered = fired.r;
  }
  top->s_axi_arvalid = top->s_axi_rready = 0;
  reads++;
  if (address == WINDLASS_REG_DONE) {
    check(value <= kernels.size(), "more kernels are done than were sent");
    for (size_t k = 0; k < value; k++)
      check(has_ended(k), "DONE counts a kernel that runs");
  }
  return value;
}

// The software.
static const uintptr_t BASE = 0;

static void beat(const windlass_packet &packet, int last) {
  while (windlass_send(BASE, &packet, last) != 0)
    check(cycle < 10000000, "the queue stays full");
  check(refused == 0, "a beat is refused");
}

static windlass_packet next(uint32_t grid) {
  windlass_packet packet = {};
  packet.id = (uint8_t)kernels.size();
  packet.grid = grid;
  packet.warps = packet.regs = 1;
  return packet;
}

static void send(uint32_t grid, unsigned part, const std::vector<size_t> &upstream) {
  windlass_packet packet = next(grid);
  packet.type = below(2);
  packet.part = (uint8_t)part;
  const size_t k = kernels.size();
  kernels.push_back({grid, 0, 0, part, upstream});
#ifdef WINDLASS_LANES
  size_t i = 0;
  do {
    packet.up_valid = 0;
    for (unsigned lane = 0; lane < WINDLASS_LANES && i < upstream.size(); lane++) {
      packet.up_valid |= 1 << lane;
      packet.up_id[lane] = (uint8_t)upstream[i++];
    }
    beat(packet, i == upstream.size());
  } while (i < upstream.size());
#else
  for (size_t u : upstream)
    packet.up |= 1u << (k - u - 1);
  beat(packet, 1);
#endif
  (void)k;
}

static void finish(bool by_interrupt) {
  const uint32_t all = (uint32_t)kernels.size();
  if (by_interrupt) {
    WINDLASS_WRITE(BASE, WINDLASS_REG_WAIT_FOR, all);
    WINDLASS_WRITE(BASE, WINDLASS_REG_IRQ_ENABLE, WINDLASS_IRQ_DONE);
    for (unsigned n = 0; !top->irq; n++) {
      check(n < 100000, "no interrupt");
      tick();
    }
    check(WINDLASS_READ(BASE, WINDLASS_REG_IRQ) == WINDLASS_IRQ_DONE && windlass_is_done(BASE, all), "an interrupt too early");
    WINDLASS_WRITE(BASE, WINDLASS_REG_IRQ_ENABLE, 0);
    tick();
    check(!top->irq, "the interrupt stays");
  } else
    for (unsigned n = 0; !windlass_is_done(BASE, all); n++)
      check(n < 100000, "the kernels do not end");
  check(WINDLASS_READ(BASE, WINDLASS_REG_DONE) == all && WINDLASS_READ(BASE, WINDLASS_REG_TAKEN) == all, "DONE or TAKEN is wrong");
}

static void expect_error(uint32_t error, const char *what) {
  WINDLASS_WRITE(BASE, WINDLASS_REG_IRQ_ENABLE, error);
  tick();
  check(WINDLASS_READ(BASE, WINDLASS_REG_ERRORS) == error && top->irq && WINDLASS_READ(BASE, WINDLASS_REG_IRQ) == error, what);
  WINDLASS_WRITE(BASE, WINDLASS_REG_ERRORS, error);
  WINDLASS_WRITE(BASE, WINDLASS_REG_IRQ_ENABLE, 0);
  check(WINDLASS_READ(BASE, WINDLASS_REG_ERRORS) == 0 && !top->irq, "an error stays");
}

// What each address of the map answers, in hexadecimal: 0 or 2 (SLVERR) and what it reads; after it was written with ones the same; and ERRORS
// after an error, after zeros and after ones were written.
static void print_map() {
  std::vector<uint32_t> read(1024), said(1024);
  for (uint32_t n = 0; n < 1024; n++) {
    read[n] = bus_read(4 * n);
    said[n] = refused;
  }
  kernels.push_back({0, 0, 0, 0, {}}); // by the doorbell, a marker
  for (uint32_t n = 0; n < 1024; n++) {
    bus_write(4 * n, ~0u);
    const unsigned written = refused;
    printf("%x %x %x %x %x\n", 4 * n, said[n], read[n], written, bus_read(4 * n));
  }
  windlass_packet wrong = next(1);
  wrong.warps = 127;
  kernels.push_back({0, 0, 0, 0, {}});
  beat(wrong, 1);
  finish(false);
  printf("%x", bus_read(WINDLASS_REG_ERRORS));
  for (uint32_t value : {0u, ~0u}) {
    bus_write(WINDLASS_REG_ERRORS, value);
    printf(" %x", bus_read(WINDLASS_REG_ERRORS));
  }
  printf("\n");
}

int main(int argc, char **argv) {
  Verilated::commandArgs(argc, argv);
  const unsigned rounds = 20, of_each = 30;
  top = new Vtop;
  for (unsigned part = 0; part < 8; part++)
    masks[part] = WINDLASS_SMS < 32 ? (1u << WINDLASS_SMS) - 1 : ~0u;
  for (unsigned n = 0; n < 3; n++)
    tick();
  top->aresetn = 1;
  if (argc > 1) {
    print_map();
    return 0;
  }
  check(windlass_probe(BASE) == 0, "another design");
  check(WINDLASS_READ(BASE, WINDLASS_REG_STATUS) == (WINDLASS_STATUS_IDLE | WINDLASS_QUEUE), "not idle after the reset");

  for (unsigned round = 0; round < rounds; round++) {
    // A partition of which no kernel runs now.
    const unsigned part = round % 7;
    masks[part] = 1 + below((1u << (WINDLASS_SMS < 16 ? WINDLASS_SMS : 16)) - 1);
    while (windlass_partition(BASE, part, 0, masks[part]) != 0)
      check(cycle < 10000000, "a partition stays busy");
    check(refused == 0, "a partition is refused");
    for (unsigned n = 0; n < of_each; n++) {
      const size_t k = kernels.size();
      std::vector<size_t> upstream;
      for (size_t back = 1; back <= 6 && back <= k; back++)
        if (below(4) == 0)
          upstream.push_back(k - back);
      send(below(6), below(8) ? part : 7, upstream);
    }
    finish(round % 2);
  }

  // Some bytes of a word.
  for (unsigned n = 0; n < 30; n++) {
    const uint32_t registers[4] = {WINDLASS_REG_WAIT_FOR, WINDLASS_REG_PART_MASK, WINDLASS_REG_PACKET,
                                   WINDLASS_REG_PACKET + 4 * (WINDLASS_PACKET_WORDS - 1)};
    const uint32_t address = registers[n % 4], value = below(~0u);
    uint32_t expected = WINDLASS_READ(BASE, address);
    lanes = below(16);
    for (unsigned b = 0; b < 4; b++)
      if (lanes >> b & 1)
        expected = (expected & ~(0xffu << 8 * b)) | (value & 0xffu << 8 * b);
    WINDLASS_WRITE(BASE, address, value);
    lanes = 0xf;
    check(WINDLASS_READ(BASE, address) == expected, "other bytes are written than were meant");
  }
  // Addresses without a register; a packet that no SM has room for.
  WINDLASS_READ(BASE, WINDLASS_REG_PACKET + 4 * WINDLASS_PACKET_WORDS);
  check(refused == 2, "an address without a register can be read");
  WINDLASS_WRITE(BASE, WINDLASS_REG_DONE, 1);
  check(refused == 2, "DONE can be written");
  check(WINDLASS_READ(BASE, WINDLASS_REG_ERRORS) == 0, "an error that nobody made");
  windlass_packet wrong = next(7);
  wrong.warps = 127;
  kernels.push_back({0, 0, 0, 0, {}});
  beat(wrong, 1);
  finish(false);
  expect_error(WINDLASS_ERROR_HOST, "a packet without room is no error");
  // A queue that is full, for nothing ends.
  held = true;
  const size_t first = kernels.size();
  for (unsigned patience = 0; patience < 20; patience++)
    while (WINDLASS_STATUS_FREE(WINDLASS_READ(BASE, WINDLASS_REG_STATUS)) > 0) {
      send(1, 7, {});
      patience = 0;
    }
  check(kernels.size() - first == WINDLASS_SLOTS + WINDLASS_QUEUE + 1, "not as many beats as there are places");
  check((WINDLASS_READ(BASE, WINDLASS_REG_STATUS) & WINDLASS_STATUS_IDLE) == 0, "idle with kernels in the window");
  WINDLASS_WRITE(BASE, WINDLASS_REG_IRQ_ENABLE, WINDLASS_IRQ_DONE);
  for (uint32_t ahead = 0; ahead < 3; ahead++) {
    const uint32_t done = WINDLASS_READ(BASE, WINDLASS_REG_DONE);
    WINDLASS_WRITE(BASE, WINDLASS_REG_WAIT_FOR, done - ahead);
    tick();
    check(top->irq, "no interrupt of what was reached before");
    WINDLASS_WRITE(BASE, WINDLASS_REG_WAIT_FOR, done + 1 + ahead);
    tick();
    check(!top->irq, "an interrupt before it is reached");
  }
  WINDLASS_WRITE(BASE, WINDLASS_REG_DOORBELL, 1);
  check(refused == 2, "a beat goes into a full queue");
  expect_error(WINDLASS_ERROR_BEAT_LOST, "a beat that was lost is no error");
  held = false;
  finish(true);

  check(windlass_counter(BASE, WINDLASS_COUNTER_RETIRED) == kernels.size(), "the counter of kernels is wrong");
  check(windlass_counter(BASE, WINDLASS_COUNTER_PLACED_SIMT) + windlass_counter(BASE, WINDLASS_COUNTER_PLACED_TENSOR) == ctas,
        "the counters of CTAs are wrong");
  check(WINDLASS_READ(BASE, WINDLASS_REG_STATUS) & WINDLASS_STATUS_IDLE, "not idle at the end");
  for (const Kernel &kernel : kernels)
    check(kernel.ended == kernel.grid, "CTAs are missing");
  printf("PASSED: %zu kernels, %llu CTAs, %llu reads, %llu writes, %llu cycles\n", kernels.size(), (unsigned long long)ctas,
         (unsigned long long)reads, (unsigned long long)writes, (unsigned long long)cycle);
  return 0;
}
