// A CUDA driver without a GPU, as far as `Cuda` asks for one: streams, events, marks, memory and contexts by CUDA's rules, and nothing that these
// do not promise. Among the streams that may go on it chooses by chance, and kernels take a chance's time: an order that was only likely on a GPU
// does not hold here. A kernel is a `Kernel`, whose function runs on a thread. Graphs and modules it has not.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

enum { OK = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_READY = 600, ILLEGAL_ADDRESS = 700, NOT_SUPPORTED = 801 };

struct Context {
  int device;
};
struct Event {
  Context *context;
  uint64_t recorded = 0, reached = 0;
};
// What `CudaKernel::function` is given.
struct Kernel {
  uint64_t parameters;
  uint64_t bytes[8];
  int (*run)(void **args, const unsigned *grid_and_block);
};
struct Config {
  unsigned grid_and_block[6], shared;
  struct Stream *stream;
};
struct Op {
  enum { LAUNCH, WAIT, RECORD, WRITE } kind;
  const Kernel *kernel = nullptr;
  unsigned grid_and_block[6] = {};
  std::vector<uint64_t> args;
  Event *event = nullptr;
  uint64_t version = 0; // of an event
  std::atomic<uint32_t> *to = nullptr;
  uint32_t value = 0;
};
struct Stream {
  Context *context;
  std::deque<Op> ops;
  bool runs = false;
};

// Never destroyed: threads use them until the process ends.
static std::mutex &mutex = *new std::mutex;
static std::condition_variable &changed = *new std::condition_variable;
static std::set<Stream *> &streams = *new std::set<Stream *>;
static auto &memory = *new std::map<uint64_t, std::pair<uint64_t, Context *>>; // by address: bytes, whose; of nobody: the host's
static std::mt19937_64 &chance = *new std::mt19937_64;
static Context primary{0};
static int faulted = OK;
// Launches, marks, waits for events, events recorded.
static std::atomic<uint64_t> counts[4];
static thread_local std::vector<Context *> current;

static Context *here() { return current.empty() ? nullptr : current.back(); }

static bool may_go_on(const Stream *stream) {
  if (stream->runs || stream->ops.empty()) return false;
  const Op &op = stream->ops.front();
  return op.kind != Op::WAIT || op.event->reached >= op.version;
}

static void engine() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    std::vector<Stream *> able;
    if (faulted == OK)
      for (Stream *stream : streams)
        if (may_go_on(stream)) able.push_back(stream);
    if (able.empty()) {
      changed.wait(lock);
      continue;
    }
    Stream *stream = able[chance() % able.size()];
    Op op = std::move(stream->ops.front());
    stream->ops.pop_front();
    if (op.kind == Op::LAUNCH) {
      uint64_t pause = chance() % 4 ? 0 : chance() % 60;
      stream->runs = true;
      lock.unlock();
      if (pause) std::this_thread::sleep_for(std::chrono::microseconds(pause));
      void *args[8];
      for (size_t n = 0; n < op.args.size(); n++) args[n] = &op.args[n];
      int failed = op.kernel->run(args, op.grid_and_block);
      lock.lock();
      stream->runs = false;
      if (failed) faulted = ILLEGAL_ADDRESS;
    } else if (op.kind == Op::RECORD) {
      op.event->reached = op.version > op.event->reached ? op.version : op.event->reached;
    } else if (op.kind == Op::WRITE) {
      op.to->store(op.value, std::memory_order_release);
    }
    changed.notify_all();
  }
}

// Of a stream's calls: in its context, and nothing works after a fault.
static int put(Stream *stream, Op op) {
  std::lock_guard<std::mutex> lock(mutex);
  if (faulted) return faulted;
  if (!streams.count(stream)) return INVALID_HANDLE;
  if (here() != stream->context) return INVALID_CONTEXT;
  stream->ops.push_back(std::move(op));
  changed.notify_all();
  return OK;
}
static int in_context() {
  std::lock_guard<std::mutex> lock(mutex);
  return faulted ? faulted : here() ? OK : INVALID_CONTEXT;
}

// The allocation that an address is in.
static bool find(uint64_t at, uint64_t &first, uint64_t &bytes, Context *&context) {
  auto next = memory.upper_bound(at);
  if (next == memory.begin()) return false;
  --next;
  first = next->first, bytes = next->second.first, context = next->second.second;
  return at < first + bytes;
}
static int reachable(uint64_t at, uint64_t size) {
  if (int code = in_context()) return code;
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t first, bytes;
  Context *context;
  return find(at, first, bytes, context) && at + size <= first + bytes ? OK : INVALID_VALUE;
}

extern "C" {
void fake_counts(uint64_t *to) {
  for (int n = 0; n < 4; n++) to[n] = counts[n].exchange(0);
}
int cuInit(unsigned) {
  const char *seed = getenv("FAKE_CUDA_SEED");
  chance.seed(seed ? strtoull(seed, nullptr, 10) : 1);
  for (int n = 0; n < 3; n++) std::thread(engine).detach();
  return OK;
}
int cuDriverGetVersion(int *version) { return *version = 13000, OK; }
int cuGetErrorName(int code, const char **text) { return *text = code == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR", OK; }
int cuGetErrorString(int code, const char **text) {
  return *text = code == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : code == INVALID_CONTEXT ? "invalid device context" : "an error of the fake driver", OK;
}
int cuDeviceGetCount(int *count) { return *count = 1, OK; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, OK; }
int cuDeviceGetName(char *name, int bytes, int) { return strncpy(name, "no GPU at all", bytes), OK; }
int cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = 1 << 30, OK; }
int cuDeviceGetAttribute(int *value, int attribute, int) {
  switch (attribute) {
  case 16: return *value = 4, OK;        // SMs
  case 75: return *value = 9, OK;        // compute capability
  case 97: return *value = 100 << 10, OK; // shared memory of a CTA
  default: return *value = 0, OK;
  }
}
int cuCtxCreate_v2(Context **context, unsigned, int device) {
  if (faulted) return faulted;
  current.push_back(*context = new Context{device});
  return OK;
}
int cuCtxDestroy_v2(Context *) { return OK; }
int cuDevicePrimaryCtxRetain(Context **context, int) { return *context = &primary, faulted; }
int cuDevicePrimaryCtxRelease_v2(int) { return OK; }
int cuCtxSetCurrent(Context *context) {
  if (!current.empty()) current.pop_back();
  return current.push_back(context), OK;
}
int cuCtxPushCurrent_v2(Context *context) { return current.push_back(context), OK; }
int cuCtxPopCurrent_v2(Context **context) {
  if (current.empty()) return INVALID_CONTEXT;
  *context = current.back();
  return current.pop_back(), OK;
}
int cuModuleLoadData(void **, const void *) { return NOT_SUPPORTED; }
int cuModuleUnload(void *) { return OK; }
int cuModuleGetFunction(void **, void *, const char *) { return NOT_SUPPORTED; }
int cuFuncSetAttribute(const Kernel *, int, int) { return in_context(); }
int cuFuncGetAttribute(int *value, int, const Kernel *) { return *value = 0, in_context(); }
int cuFuncGetParamInfo(const Kernel *kernel, size_t n, size_t *offset, size_t *bytes) {
  if (n >= kernel->parameters) return INVALID_VALUE;
  return *offset = 8 * n, *bytes = kernel->bytes[n], OK;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  if (int code = in_context()) return code;
  *address = reinterpret_cast<uint64_t>(malloc(bytes));
  std::lock_guard<std::mutex> lock(mutex);
  memory[*address] = {bytes, here()};
  return OK;
}
int cuMemFree_v2(uint64_t address) {
  if (int code = in_context()) return code;
  std::unique_lock<std::mutex> lock(mutex);
  // CUDA's waits for all that runs; what is left there must not use it.
  for (Stream *stream : streams)
    while (faulted == OK && stream->context == here() && (stream->runs || !stream->ops.empty())) changed.wait(lock);
  memory.erase(address);
  return free(reinterpret_cast<void *>(address)), OK;
}
int cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  if (int code = in_context()) return code;
  *address = aligned_alloc(128, (bytes + 127) / 128 * 128);
  std::lock_guard<std::mutex> lock(mutex);
  memory[reinterpret_cast<uint64_t>(*address)] = {bytes, nullptr};
  return OK;
}
int cuMemFreeHost(void *address) {
  std::lock_guard<std::mutex> lock(mutex);
  memory.erase(reinterpret_cast<uint64_t>(address));
  return free(address), OK;
}
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *host, unsigned) { return *address = reinterpret_cast<uint64_t>(host), OK; }
int cuPointerGetAttribute(void *to, int attribute, uint64_t at) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t first, bytes;
  Context *context;
  if (!find(at, first, bytes, context)) return INVALID_VALUE;
  uint64_t value = at;
  switch (attribute) {
  case 1: value = reinterpret_cast<uint64_t>(context); break;
  case 2: return *static_cast<uint32_t *>(to) = context ? 2 : 1, OK;
  case 3: break;
  case 11: value = first; break;
  case 12: value = bytes; break;
  default: return NOT_SUPPORTED;
  }
  return memcpy(to, &value, 8), OK;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  if (int code = reachable(from, bytes)) return code;
  return memcpy(to, reinterpret_cast<void *>(from), bytes), OK;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  if (int code = reachable(to, bytes)) return code;
  return memcpy(reinterpret_cast<void *>(to), from, bytes), OK;
}
int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t bytes) {
  if (int code = reachable(to, bytes)) return code;
  return memset(reinterpret_cast<void *>(to), value, bytes), OK;
}
int cuStreamCreate(Stream **stream, unsigned) {
  if (int code = in_context()) return code;
  std::lock_guard<std::mutex> lock(mutex);
  return streams.insert(*stream = new Stream{here(), {}, false}), OK;
}
int cuStreamDestroy_v2(Stream *stream) {
  std::unique_lock<std::mutex> lock(mutex);
  while (faulted == OK && (stream->runs || !stream->ops.empty())) changed.wait(lock);
  return streams.erase(stream), OK;
}
int cuStreamQuery(Stream *stream) {
  std::lock_guard<std::mutex> lock(mutex);
  return faulted ? faulted : stream && (stream->runs || !stream->ops.empty()) ? NOT_READY : OK;
}
int cuStreamSynchronize(Stream *stream) {
  std::unique_lock<std::mutex> lock(mutex);
  while (stream && faulted == OK && (stream->runs || !stream->ops.empty())) changed.wait(lock);
  return faulted;
}
int cuStreamWaitEvent(Stream *stream, Event *event, unsigned) {
  counts[2]++;
  Op op;
  {
    std::lock_guard<std::mutex> lock(mutex);
    op.version = event->recorded;
  }
  op.kind = Op::WAIT, op.event = event;
  return put(stream, std::move(op));
}
int cuStreamWriteValue32_v2(Stream *stream, uint64_t to, uint32_t value, unsigned) {
  counts[1]++;
  Op op;
  op.kind = Op::WRITE, op.to = reinterpret_cast<std::atomic<uint32_t> *>(to), op.value = value;
  return put(stream, std::move(op));
}
int cuEventCreate(Event **event, unsigned) {
  if (int code = in_context()) return code;
  return *event = new Event{here()}, OK;
}
int cuEventDestroy_v2(Event *) { return OK; }
int cuEventRecord(Event *event, Stream *stream) {
  counts[3]++;
  Op op;
  {
    std::lock_guard<std::mutex> lock(mutex);
    op.version = ++event->recorded;
  }
  op.kind = Op::RECORD, op.event = event;
  return put(stream, std::move(op));
}
int cuEventQuery(Event *event) {
  std::lock_guard<std::mutex> lock(mutex);
  return event->reached >= event->recorded ? OK : NOT_READY;
}
int cuLaunchKernelEx(const Config *config, const Kernel *kernel, void **args, void **) {
  counts[0]++;
  if (config->grid_and_block[3] > 1024) return INVALID_VALUE;
  Op op;
  op.kind = Op::LAUNCH, op.kernel = kernel;
  memcpy(op.grid_and_block, config->grid_and_block, sizeof op.grid_and_block);
  for (uint64_t n = 0; n < kernel->parameters; n++) {
    uint64_t value = 0;
    memcpy(&value, args[n], kernel->bytes[n]);
    op.args.push_back(value);
  }
  return put(config->stream, std::move(op));
}
int cuGraphCreate(void **, unsigned) { return NOT_SUPPORTED; }
int cuGraphDestroy(void *) { return NOT_SUPPORTED; }
int cuGraphAddKernelNode_v2(void *, void *, const void *, size_t, const void *) { return NOT_SUPPORTED; }
int cuGraphAddDependencies_v2(void *, const void *, const void *, const void *, size_t) { return NOT_SUPPORTED; }
int cuGraphInstantiateWithFlags(void *, void *, unsigned long long) { return NOT_SUPPORTED; }
int cuGraphExecUpdate_v2(void *, void *, void *) { return NOT_SUPPORTED; }
int cuGraphExecDestroy(void *) { return NOT_SUPPORTED; }
int cuGraphLaunch(void *, void *) { return NOT_SUPPORTED; }
}
