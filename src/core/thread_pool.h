// A pool of threads for data-parallel work. Idle threads sleep: spinning ones would halve the speed of whoever shares
// the cores, and of this program when something else runs on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace octet {

/// A task's number and the number of the thread that runs it, below `threads()`.
using PoolTask = std::function<void(std::int64_t task, int thread)>;

class ThreadPool {
 public:
  /// `threads` in all, the caller's among them.
  explicit ThreadPool(int threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  [[nodiscard]] int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Runs body(task, thread) once for each task in [0, count); returns when all are done. Tasks are taken in order, by
  /// whoever is free. Rethrows the first exception; tasks not yet begun are then left out. Not reentrant.
  void run(std::int64_t count, const PoolTask& body);

 private:
  void work(int thread);
  void take_tasks(int thread);

  std::vector<std::thread> workers_;
  const PoolTask* body_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<std::uint32_t> generation_{0};  // counts jobs; workers wait for it to change
  std::atomic<std::uint32_t> busy_{0};        // workers that have not finished the job
  std::atomic<bool> stopping_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

}  // namespace octet
