#include "verilated.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

namespace {

// Where the design's $display goes while one of our functions runs; a thread runs one instance at a time.
thread_local std::string* t_output = nullptr;

// Thrown through the Verilated code by $stop, $finish, a failed assertion or a loop that does not settle.
struct Stopped : std::runtime_error {
    using std::runtime_error::runtime_error;
};
