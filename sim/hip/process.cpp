#include "sim/hip/process.h"

#include <exception>
#include <mutex>
#include <new>
#include <optional>

#include "core/error.h"
#include "sim/hip/errors.h"
#include "sim/hip/runtime.h"
#include "sim/hip/settings.h"

namespace octet::sim::hip {
namespace {

struct Process {
  std::mutex mutex;
  std::optional<Runtime> runtime;
  bool failed = false;  // to make one
  bool ended = false;
};

/// Is not destroyed: static objects of the client may still call when those of this library are gone.
union Immortal {
  Process process;
  Immortal() : process() {}
  Immortal(const Immortal&) = delete;
  Immortal& operator=(const Immortal&) = delete;
  ~Immortal() {}  // NOLINT(modernize-use-equals-default): defaulted, it would be deleted
};

/// Ends the runtime, and its threads, when the process ends or the client's dlclose() unloads this library.
class End {
 public:
  explicit End(Process& process) : process_(process) {}
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ~End() {
    const std::lock_guard lock(process_.mutex);
    process_.ended = true;
    process_.runtime.reset();
  }

 private:
  Process& process_;
};

/// HIP's interface has no object that could hold this.
Process& process() {
  static Immortal only;
  static const End end(only.process);
  return only.process;
}

std::optional<std::filesystem::path> error_file(const Process& owner) {
  return owner.runtime ? owner.runtime->settings.errors : std::nullopt;
}

/// HipError when the environment is wrong; the first time, with a message.
Runtime& started(Process& owner) {
  require(!owner.ended, hipErrorDeinitialized);
  if (owner.runtime) return *owner.runtime;
  require(!owner.failed, hipErrorNotInitialized);
  try {
    owner.runtime.emplace(read_settings());
  } catch (const UserError& error) {
    owner.failed = true;
    refuse(hipErrorNotInitialized, "{}", error.what());
  }
  return *owner.runtime;
}

/// The code of the exception that is being handled.
hipError_t code_of_exception(const Process& owner) {
  try {
    throw;
  } catch (const HipError& error) {
    if (*error.what() != '\0') report(error.what(), error_file(owner));
    return error.code();
  } catch (const std::bad_alloc&) {
    report("the host has no memory left for the simulated device's", error_file(owner));
    return hipErrorOutOfMemory;
  } catch (const std::exception& error) {
    report(error.what(), error_file(owner));
    return hipErrorUnknown;
  }
}

}  // namespace

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

hipError_t answer(const std::function<void(Runtime&)>& body) {
  Process& owner = process();
  const std::lock_guard lock(owner.mutex);
  try {
    body(started(owner));
    return hipSuccess;
  } catch (...) {
    return thread_state().last_error = code_of_exception(owner);
  }
}

void without_lock(const std::function<void()>& body) {
  std::mutex& mutex = process().mutex;
  mutex.unlock();
  body();
  mutex.lock();
}

}  // namespace octet::sim::hip
