#include "core/thread_pool.h"

#include <utility>

namespace octet {

ThreadPool::ThreadPool(int threads) {
  for (int thread = 1; thread < threads; ++thread) {
    workers_.emplace_back([this, thread] { work(thread); });
  }
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  ++generation_;
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::work(int thread) {
  for (std::uint32_t seen = 0;;) {
    generation_.wait(seen);
    seen = generation_;
    if (stopping_) return;
    take_tasks(thread);
    if (--busy_ == 0) busy_.notify_one();
  }
}

void ThreadPool::take_tasks(int thread) {
  try {
    for (std::int64_t task = next_++; task < count_; task = next_++) (*body_)(task, thread);
  } catch (...) {
    next_ = count_;
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void ThreadPool::run(std::int64_t count, const PoolTask& body) {
  body_ = &body;
  count_ = count;
  next_ = 0;
  const bool alone = workers_.empty() || count <= 1;
  if (!alone) {
    busy_ = static_cast<std::uint32_t>(workers_.size());
    ++generation_;
    generation_.notify_all();
  }
  take_tasks(0);
  if (!alone) {
    for (std::uint32_t busy = busy_; busy != 0; busy = busy_) busy_.wait(busy);
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace octet
