// A CUDA driver without a GPU, as far as `Cuda` and `CudaDevice` ask for one: streams, events, marks, graphs, memory and contexts by CUDA's rules,
// and nothing that these do not promise. Among the kernels and streams that may go on it chooses by chance, and kernels take a chance's time:
// an order that was only likely on a GPU does not hold here. A kernel is a `Kernel`, whose function runs on a thread. A module, whatever its
// machine code, has the kernels of footprint.cu.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "on_host.h"

enum {
  OK = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  NOT_SUPPORTED = 801,
  GRAPH_EXEC_UPDATE_FAILURE = 910
};
static const size_t MEMORY = 1 << 30;

struct Context {
  int device;
};
struct Event {
  Context *context;
  uint64_t recorded = 0, reached = 0;
};
// What `CudaKernel::function` is given. `run` says whether it faulted.
struct Kernel {
  uint64_t parameters;
  uint64_t bytes[8];
  int (*run)(void **args, const unsigned *grid_and_block);
};
struct Attribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int programmatic_stream_serialization;
  };
};
struct Config {
  unsigned grid_and_block[6], shared;
  struct Stream *stream;
  const Attribute *attributes;
  unsigned count;
};
struct NodeConfig {
  const Kernel *kernel;
  unsigned grid_and_block[6], shared;
  void **args, **extra;
  void *kern, *context;
};
struct Edge {
  unsigned char from_port, to_port, type, reserved[5];
};

// A launch holds its arguments as they were.
struct Launch {
  const Kernel *kernel = nullptr;
  unsigned grid_and_block[6] = {};
  std::vector<std::vector<char>> args;
};
// A kernel that has begun. One that was launched early waits for the one before it by itself (`griddepcontrol.wait`), and then lets the next begin.
struct Run {
  std::shared_ptr<Run> before;
  bool triggered = false, ended = false;
};
struct Node {
  Launch launch;
  std::vector<size_t> upstream; // by number
  std::vector<size_t> early;
  bool operator==(const Node &other) const { return upstream == other.upstream && early == other.early; }
};
struct Graph;
struct NodeHandle {
  Graph *graph;
  size_t number;
};
struct Graph {
  std::vector<Node> nodes;
  std::deque<NodeHandle> handles; // which stay where they are
};
struct Exec {
  std::vector<Node> nodes;
  bool runs = false;
};
// An executable graph that was launched, as it was then.
struct GraphRun {
  std::vector<Node> nodes;
  std::shared_ptr<Exec> exec;
  Stream *stream;
  std::vector<std::shared_ptr<Run>> runs;
  size_t ended = 0;
};
struct Op {
  enum { LAUNCH, WAIT, RECORD, WRITE, GRAPH } kind;
  Launch launch = {};
  bool early = false;
  std::shared_ptr<Exec> exec = nullptr;
  std::vector<Node> nodes = {};
  std::shared_ptr<Event> event = nullptr;
  uint64_t version = 0; // of an event
  std::atomic<uint32_t> *to = nullptr;
  uint32_t value = 0;
};
struct Stream {
  Context *context;
  std::deque<Op> ops;
  int running = 0;
  std::shared_ptr<Run> last; // where the last that it did was a kernel
  bool idle() const { return running == 0 && ops.empty(); }
};

// Never destroyed: threads use them until the process ends.
static std::mutex &mutex = *new std::mutex;
static std::condition_variable &changed = *new std::condition_variable;
static std::set<Stream *> &streams = *new std::set<Stream *>;
static auto &graph_runs = *new std::list<GraphRun>;
static auto &events = *new std::map<Event *, std::shared_ptr<Event>>;
static auto &execs = *new std::map<Exec *, std::shared_ptr<Exec>>;
static auto &memory = *new std::map<uint64_t, std::pair<uint64_t, Context *>>; // by address: bytes, whose; of nobody: the host's
static size_t used = 0;
static std::mt19937_64 &chance = *new std::mt19937_64;
static Context primary{0};
static int faulted = OK;
static bool writes_marks = true;
// Launches, marks, waits for events, events recorded, graphs launched, kernels that began before the one before them had ended.
static std::atomic<uint64_t> counts[6];
static thread_local std::vector<Context *> current;
// The kernel that this thread runs.
static thread_local Run *mine;

static Context *here() { return current.empty() ? nullptr : current.back(); }

static u64 host_nanoseconds() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
static void host_wait_for_upstream() {
  if (mine->triggered) return; // another thread of the kernel was here
  std::unique_lock<std::mutex> lock(mutex);
  while (mine->before && !mine->before->ended) changed.wait(lock);
  mine->triggered = true;
  changed.notify_all();
}

static bool may_go_on(const Stream *stream) {
  if (stream->ops.empty()) return false;
  const Op &op = stream->ops.front();
  if (op.kind == Op::LAUNCH && op.early && stream->last) return stream->last->triggered;
  if (stream->running) return false;
  if (op.kind == Op::GRAPH) return !op.exec->runs;
  return op.kind != Op::WAIT || op.event->reached >= op.version;
}
static bool may_begin(const GraphRun &graph, size_t n) {
  if (graph.runs[n]) return false;
  for (size_t u : graph.nodes[n].upstream)
    if (!graph.runs[u] || !graph.runs[u]->ended) return false;
  for (size_t u : graph.nodes[n].early)
    if (!graph.runs[u] || !graph.runs[u]->triggered) return false;
  return true;
}

// Runs a kernel without the lock.
static void run(std::unique_lock<std::mutex> &lock, const std::shared_ptr<Run> &run, Launch &launch) {
  uint64_t pause = chance() % 4 ? 0 : chance() % 60;
  if (run->before && !run->before->ended) counts[5]++;
  lock.unlock();
  if (pause) std::this_thread::sleep_for(std::chrono::microseconds(pause));
  std::vector<void *> args;
  for (auto &arg : launch.args) args.push_back(arg.data());
  mine = run.get();
  int failed = launch.kernel->run(args.data(), launch.grid_and_block);
  mine = nullptr;
  lock.lock();
  run->triggered = run->ended = true;
  run->before = nullptr;
  if (failed) faulted = ILLEGAL_ADDRESS;
}

static void end_if_done(std::list<GraphRun>::iterator graph) {
  if (graph->ended < graph->nodes.size()) return;
  graph->exec->runs = false;
  graph->stream->running--;
  graph_runs.erase(graph);
}

static void go_on(std::unique_lock<std::mutex> &lock, Stream *stream) {
  Op op = std::move(stream->ops.front());
  stream->ops.pop_front();
  auto before = std::move(stream->last);
  stream->last = nullptr;
  switch (op.kind) {
  case Op::LAUNCH: {
    auto begun = std::make_shared<Run>();
    if (op.early) begun->before = before;
    stream->last = begun;
    stream->running++;
    run(lock, begun, op.launch);
    stream->running--;
    break;
  }
  case Op::RECORD: op.event->reached = op.version > op.event->reached ? op.version : op.event->reached; break;
  case Op::WRITE: op.to->store(op.value, std::memory_order_release); break;
  case Op::GRAPH: {
    size_t count = op.nodes.size();
    stream->running++;
    op.exec->runs = true;
    graph_runs.push_front({std::move(op.nodes), op.exec, stream, std::vector<std::shared_ptr<Run>>(count)});
    end_if_done(graph_runs.begin());
    break;
  }
  case Op::WAIT: break;
  }
}

static void engine() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    std::vector<Stream *> able;
    std::vector<std::pair<std::list<GraphRun>::iterator, size_t>> nodes;
    if (faulted == OK) {
      for (Stream *stream : streams)
        if (may_go_on(stream)) able.push_back(stream);
      for (auto graph = graph_runs.begin(); graph != graph_runs.end(); ++graph)
        for (size_t n = 0; n < graph->nodes.size(); n++)
          if (may_begin(*graph, n)) nodes.push_back({graph, n});
    }
    if (able.empty() && nodes.empty()) {
      changed.wait(lock);
      continue;
    }
    size_t choice = chance() % (able.size() + nodes.size());
    if (choice < able.size()) {
      go_on(lock, able[choice]);
    } else {
      auto [graph, n] = nodes[choice - able.size()];
      auto begun = std::make_shared<Run>();
      if (!graph->nodes[n].early.empty()) begun->before = graph->runs[graph->nodes[n].early[0]];
      graph->runs[n] = begun;
      run(lock, begun, graph->nodes[n].launch);
      graph->ended++;
      end_if_done(graph);
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

static int launch_of(Launch &launch, const Kernel *kernel, const unsigned *grid_and_block, void **args) {
  const unsigned *d = grid_and_block;
  for (int n = 0; n < 6; n++)
    if (d[n] == 0) return INVALID_VALUE;
  if (d[1] > 65535 || d[2] > 65535 || d[3] > 1024 || d[4] > 1024 || d[5] > 64 || (uint64_t)d[3] * d[4] * d[5] > 1024) return INVALID_VALUE;
  launch.kernel = kernel;
  memcpy(launch.grid_and_block, d, sizeof launch.grid_and_block);
  for (uint64_t n = 0; n < kernel->parameters; n++) {
    const char *arg = static_cast<const char *>(args[n]);
    launch.args.push_back({arg, arg + kernel->bytes[n]});
  }
  return OK;
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

static bool allocated(uint64_t at) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t first, bytes;
  Context *context;
  return find(at, first, bytes, context);
}

// The kernels of footprint.cu. How long they work is the driver's to say.
template <typename Kernel> static int run_footprint(void **args, const unsigned *d, Kernel kernel) {
  Footprint f = *static_cast<Footprint *>(args[0]);
  if (!allocated(reinterpret_cast<uint64_t>(f.image))) return 1;
  f.fma = 0;
  each_thread({d[0], d[1], d[2]}, {d[3], d[4], d[5]}, [&] { kernel(f); });
  return 0;
}
template <typename T> static T argument(void **args, int n) {
  T value;
  memcpy(&value, args[n], sizeof value);
  return value;
}
static const std::map<std::string, Kernel> &kernels = *new std::map<std::string, Kernel>{
    {"footprint", {1, {sizeof(Footprint)}, [](void **args, const unsigned *d) { return run_footprint(args, d, footprint); }}},
    {"footprint_large", {1, {sizeof(Footprint)}, [](void **args, const unsigned *d) { return run_footprint(args, d, footprint_large); }}},
    {"initial",
     {2,
      {8, 8},
      [](void **args, const unsigned *d) {
        each_thread({d[0], 1, 1}, {d[3], 1, 1}, [=] { initial(argument<u32 *>(args, 0), argument<u64>(args, 1)); });
        return 0;
      }}},
    {"digest",
     {3,
      {8, 8, 8},
      [](void **args, const unsigned *d) {
        each_thread({d[0], 1, 1}, {d[3], 1, 1}, [=] { digest(argument<u32 *>(args, 0), argument<u64>(args, 1), argument<u64 *>(args, 2)); });
        return 0;
      }}},
    // Its fence and its volatile word are an order for the host on a GPU; in C++ an atomic is.
    {"mark", {2, {8, 4}, [](void **args, const unsigned *) {
                argument<std::atomic<u32> *>(args, 0)->store(argument<u32>(args, 1), std::memory_order_release);
                return 0;
              }}},
};

extern "C" {
void fake_counts(uint64_t *to) {
  for (auto &count : counts) *to++ = count.exchange(0);
}
int cuInit(unsigned) {
  const char *seed = getenv("FAKE_CUDA_SEED");
  chance.seed(seed ? strtoull(seed, nullptr, 10) : 1);
  const char *marks = getenv("FAKE_CUDA_MARKS");
  writes_marks = !marks || strcmp(marks, "no");
  for (int n = 0; n < 3; n++) std::thread(engine).detach();
  return OK;
}
// NVRTC asks for it, and crashes where there is none.
int cuGetExportTable(const void **, const void *) { return NOT_SUPPORTED; }
int cuDriverGetVersion(int *version) { return *version = 13000, OK; }
int cuGetErrorName(int code, const char **text) { return *text = code == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR", OK; }
int cuGetErrorString(int code, const char **text) {
  switch (code) {
  case OUT_OF_MEMORY: return *text = "out of memory", OK;
  case INVALID_CONTEXT: return *text = "invalid device context", OK;
  case ILLEGAL_ADDRESS: return *text = "an illegal memory access was encountered", OK;
  default: return *text = "an error of the fake driver", OK;
  }
}
int cuDeviceGetCount(int *count) { return *count = 1, OK; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, OK; }
int cuDeviceGetName(char *name, int bytes, int) { return strncpy(name, "no GPU at all", bytes), OK; }
int cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = MEMORY, OK; }
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
int cuCtxDestroy_v2(Context *context) { return delete context, OK; }
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
int cuModuleLoadData(const void **module, const void *image) {
  if (memcmp(image, "\177ELF", 4)) return INVALID_IMAGE;
  return *module = &kernels, in_context();
}
int cuModuleUnload(void *) { return OK; }
int cuModuleGetFunction(const Kernel **kernel, const void *, const char *name) {
  auto found = kernels.find(name);
  return found == kernels.end() ? NOT_FOUND : (*kernel = &found->second, OK);
}
int cuFuncSetAttribute(const Kernel *, int, int) { return in_context(); }
int cuFuncGetAttribute(int *value, int, const Kernel *) { return *value = 0, in_context(); }
int cuFuncGetParamInfo(const Kernel *kernel, size_t n, size_t *offset, size_t *bytes) {
  if (n >= kernel->parameters) return INVALID_VALUE;
  return *offset = 8 * n, *bytes = kernel->bytes[n], OK;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  if (int code = in_context()) return code;
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes == 0) return INVALID_VALUE;
  if (bytes > MEMORY - used) return OUT_OF_MEMORY;
  used += bytes;
  *address = reinterpret_cast<uint64_t>(malloc(bytes));
  memory[*address] = {bytes, here()};
  return OK;
}
int cuMemFree_v2(uint64_t address) {
  if (int code = in_context()) return code;
  std::unique_lock<std::mutex> lock(mutex);
  // CUDA's waits for all that runs; what is left there must not use it.
  for (Stream *stream : streams)
    while (faulted == OK && stream->context == here() && !stream->idle()) changed.wait(lock);
  auto found = memory.find(address);
  if (found == memory.end()) return INVALID_VALUE;
  used -= found->second.first;
  memory.erase(found);
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
  return streams.insert(*stream = new Stream{here(), {}, 0, nullptr}), OK;
}
int cuStreamDestroy_v2(Stream *stream) {
  std::unique_lock<std::mutex> lock(mutex);
  while (faulted == OK && !stream->idle()) changed.wait(lock);
  streams.erase(stream);
  if (stream->idle()) delete stream;
  return OK;
}
int cuStreamQuery(Stream *stream) {
  std::lock_guard<std::mutex> lock(mutex);
  return faulted ? faulted : stream && !stream->idle() ? NOT_READY : OK;
}
int cuStreamSynchronize(Stream *stream) {
  std::unique_lock<std::mutex> lock(mutex);
  while (stream && faulted == OK && !stream->idle()) changed.wait(lock);
  return faulted;
}
int cuStreamWaitEvent(Stream *stream, Event *event, unsigned) {
  counts[2]++;
  Op op{Op::WAIT};
  {
    std::lock_guard<std::mutex> lock(mutex);
    op.event = events.at(event), op.version = event->recorded;
  }
  return put(stream, std::move(op));
}
int cuStreamWriteValue32_v2(Stream *stream, uint64_t to, uint32_t value, unsigned) {
  if (!writes_marks) return NOT_SUPPORTED;
  counts[1]++;
  Op op{Op::WRITE};
  op.to = reinterpret_cast<std::atomic<uint32_t> *>(to), op.value = value;
  return put(stream, std::move(op));
}
int cuEventCreate(Event **event, unsigned) {
  if (int code = in_context()) return code;
  auto made = std::make_shared<Event>(Event{here()});
  std::lock_guard<std::mutex> lock(mutex);
  return *event = made.get(), events[*event] = made, OK;
}
int cuEventDestroy_v2(Event *event) {
  std::lock_guard<std::mutex> lock(mutex);
  return events.erase(event) ? OK : INVALID_HANDLE;
}
int cuEventRecord(Event *event, Stream *stream) {
  counts[3]++;
  Op op{Op::RECORD};
  {
    std::lock_guard<std::mutex> lock(mutex);
    op.event = events.at(event), op.version = ++event->recorded;
  }
  return put(stream, std::move(op));
}
int cuEventQuery(Event *event) {
  std::lock_guard<std::mutex> lock(mutex);
  return event->reached >= event->recorded ? OK : NOT_READY;
}
int cuLaunchKernelEx(const Config *config, const Kernel *kernel, void **args, void **) {
  counts[0]++;
  Op op{Op::LAUNCH};
  if (int code = launch_of(op.launch, kernel, config->grid_and_block, args)) return code;
  for (unsigned n = 0; n < config->count; n++) op.early |= config->attributes[n].id == 6 && config->attributes[n].programmatic_stream_serialization;
  return put(config->stream, std::move(op));
}
int cuGraphCreate(Graph **graph, unsigned) { return *graph = new Graph, in_context(); }
int cuGraphDestroy(Graph *graph) { return delete graph, OK; }
int cuGraphAddKernelNode_v2(NodeHandle **node, Graph *graph, NodeHandle *const *upstream, size_t count, const NodeConfig *config) {
  if (int code = in_context()) return code;
  Node added;
  if (int code = launch_of(added.launch, config->kernel, config->grid_and_block, config->args)) return code;
  for (size_t n = 0; n < count; n++) {
    if (upstream[n]->graph != graph) return INVALID_VALUE;
    added.upstream.push_back(upstream[n]->number);
  }
  graph->nodes.push_back(std::move(added));
  graph->handles.push_back({graph, graph->nodes.size() - 1});
  return *node = &graph->handles.back(), OK;
}
int cuGraphAddDependencies_v2(Graph *graph, NodeHandle *const *from, NodeHandle *const *to, const Edge *edges, size_t count) {
  if (int code = in_context()) return code;
  for (size_t n = 0; n < count; n++) {
    if (from[n]->graph != graph || to[n]->graph != graph || from[n]->number >= to[n]->number) return INVALID_VALUE;
    // Programmatic, from a kernel that says itself when.
    bool early = edges && edges[n].type == 1 && edges[n].from_port == 1;
    Node &node = graph->nodes[to[n]->number];
    (early ? node.early : node.upstream).push_back(from[n]->number);
  }
  return OK;
}
int cuGraphInstantiateWithFlags(Exec **exec, const Graph *graph, unsigned long long) {
  if (int code = in_context()) return code;
  auto made = std::make_shared<Exec>();
  made->nodes = graph->nodes;
  std::lock_guard<std::mutex> lock(mutex);
  return *exec = made.get(), execs[*exec] = made, OK;
}
int cuGraphExecUpdate_v2(Exec *exec, const Graph *graph, void *) {
  if (int code = in_context()) return code;
  std::lock_guard<std::mutex> lock(mutex);
  if (!(exec->nodes == graph->nodes)) return GRAPH_EXEC_UPDATE_FAILURE;
  return exec->nodes = graph->nodes, OK;
}
// One that runs goes on.
int cuGraphExecDestroy(Exec *exec) {
  std::lock_guard<std::mutex> lock(mutex);
  return execs.erase(exec) ? OK : INVALID_VALUE;
}
int cuGraphLaunch(Exec *exec, Stream *stream) {
  counts[4]++;
  Op op{Op::GRAPH};
  {
    std::lock_guard<std::mutex> lock(mutex);
    op.exec = execs.at(exec), op.nodes = exec->nodes;
  }
  return put(stream, std::move(op));
}
}
