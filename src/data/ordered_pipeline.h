// A pipeline that works in parallel and delivers in order: one thread reads, several transform, the caller's writes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace octet {

/// What is delivered, and in which order, does not depend on the number of threads; the first error in that order is
/// the one that is thrown.
template <typename Input, typename Output>
class OrderedPipeline {
 public:
  /// The next input, or nothing at the end; called by one thread.
  using Read = std::function<std::optional<Input>()>;
  /// Called by `threads` threads, with the number of the thread.
  using Transform = std::function<Output(const Input&, int thread)>;
  /// Called by the thread that calls run().
  using Write = std::function<void(Output)>;

  /// At most four inputs for each of the `threads`, at least 1, are under way.
  explicit OrderedPipeline(int threads) : threads_(threads) {}

  /// Returns when everything has been written. Rethrows what `read` or `transform` threw, once everything before it is
  /// written, and at once what `write` threw. Called once.
  void run(const Read& read, const Transform& transform, const Write& write) {
    std::vector<std::jthread> threads;
    const Stopper stop_before_joining{*this};
    threads.emplace_back([this, &read] { read_all(read); });
    for (int thread = 0; thread < threads_; ++thread) {
      threads.emplace_back([this, &transform, thread] { transform_all(transform, thread); });
    }
    write_all(write);
  }

 private:
  struct Job {
    std::optional<Input> input;    // none: what read() threw, or the end
    std::optional<Output> output;  // none yet, or never
    std::exception_ptr error;
    bool done = false;
  };

  struct Stopper {
    OrderedPipeline& pipeline;
    ~Stopper() {
      const std::scoped_lock lock(pipeline.mutex_);
      pipeline.stopping_ = true;
      pipeline.changed_.notify_all();
    }
  };

  void read_all(const Read& read) {
    const auto limit = 4 * static_cast<std::size_t>(threads_);
    for (bool more = true; more;) {
      Job job;
      try {
        job.input = read();
      } catch (...) {
        job.error = std::current_exception();
      }
      more = job.input.has_value();
      job.done = !more;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || jobs_.size() < limit; });
      if (stopping_) return;
      jobs_.push_back(std::move(job));
      if (more) waiting_.push_back(&jobs_.back());
      changed_.notify_all();
    }
  }

  void transform_all(const Transform& transform, int thread) {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      Job* const job = waiting_.front();  // a deque moves no element when others come or go at its ends
      waiting_.pop_front();
      lock.unlock();
      try {
        job->output = transform(*job->input, thread);
      } catch (...) {
        job->error = std::current_exception();
      }
      lock.lock();
      job->done = true;
      changed_.notify_all();
    }
  }

  void write_all(const Write& write) {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !jobs_.empty() && jobs_.front().done; });
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      changed_.notify_all();
      lock.unlock();
      if (job.error) std::rethrow_exception(job.error);
      if (!job.input) return;
      write(std::move(*job.output));
    }
  }

  int threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;      // in order; those in front may be done
  std::deque<Job*> waiting_;  // of them, those that no thread has taken
  bool stopping_ = false;
};

}  // namespace octet
