// Ranks that are threads of one process: what tests run the parallel rooms on where no MPI is needed.
#pragma once

#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "parallel/communicator.h"

namespace octet::parallel {

/// Where `size` threads meet, and see what each has brought. A rank that fails breaks it for all.
class MeetingPlace {
 public:
  explicit MeetingPlace(int size) : brought_(static_cast<std::size_t>(size)) {}

  /// Each rank brings a pointer; `use` runs when all are there, and nobody leaves before all have used them.
  void meet(int rank, const void* mine, const std::function<void(const std::vector<const void*>&)>& use) {
    brought_[static_cast<std::size_t>(rank)] = mine;
    arrive();
    use(brought_);
    arrive();
  }

  void break_up() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    changed_.notify_all();
  }

 private:
  void arrive() {
    std::unique_lock lock(mutex_);
    const std::int64_t round = round_;
    if (++arrived_ == brought_.size()) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return round_ != round || broken_; });
    }
    if (broken_) throw Failure("another rank has failed");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const void*> brought_;
  std::size_t arrived_ = 0;
  std::int64_t round_ = 0;
  bool broken_ = false;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<MeetingPlace> place, int rank, int size)
      : place_(std::move(place)), rank_(rank), size_(size) {}

  [[nodiscard]] std::string description() const override { return std::to_string(size_) + " ranks, threads"; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  [[nodiscard]] Ticket all_gather(std::string_view, const void* mine, void* all,
                                  std::span<const std::size_t> bytes) override {
    check(std::ssize(bytes) == size_, "a gather has a size for each rank");
    place_->meet(rank_, mine, [&](const std::vector<const void*>& from) {
      auto* to = static_cast<std::byte*>(all);
      for (std::size_t r = 0; r < from.size(); to += bytes[r++]) {
        if (to != from[r] && bytes[r] > 0) std::memcpy(to, from[r], bytes[r]);
      }
    });
    return {};
  }

  [[nodiscard]] Ticket all_to_all(std::string_view, const void* send, std::span<const std::size_t> send_bytes,
                                  void* receive, std::span<const std::size_t> receive_bytes) override {
    struct Sent {
      const void* data;
      std::span<const std::size_t> bytes;
    };
    const Sent mine{send, send_bytes};
    place_->meet(rank_, &mine, [&](const std::vector<const void*>& all) {
      auto* to = static_cast<std::byte*>(receive);
      for (std::size_t r = 0; r < all.size(); to += receive_bytes[r++]) {
        const Sent& sent = *static_cast<const Sent*>(all[r]);
        std::size_t offset = 0;
        for (int before = 0; before < rank_; ++before) offset += sent.bytes[static_cast<std::size_t>(before)];
        check(sent.bytes[static_cast<std::size_t>(rank_)] == receive_bytes[r], "what is sent is expected");
        if (receive_bytes[r] > 0) std::memcpy(to, static_cast<const std::byte*>(sent.data) + offset, receive_bytes[r]);
      }
    });
    return {};
  }

  void wait(Ticket) override {}

  void all_gather_on_host(std::string_view what, std::span<const std::byte> mine, std::span<std::byte> all) override {
    const std::vector<std::size_t> bytes(static_cast<std::size_t>(size_), mine.size());
    wait(all_gather(what, mine.data(), all.data(), bytes));
  }

  void barrier(std::string_view) override {
    place_->meet(rank_, nullptr, [](const std::vector<const void*>&) {});
  }

  [[nodiscard]] std::unique_ptr<Communicator> split(int color) override;

 private:
  std::shared_ptr<MeetingPlace> place_;
  int rank_, size_;
};

inline std::unique_ptr<Communicator> ThreadCommunicator::split(int color) {
  struct Offer {
    int color;
    std::shared_ptr<MeetingPlace> place;  // of the color's first rank, for all of its ranks
  };
  std::vector<int> colors(static_cast<std::size_t>(size_));
  all_gather_on_host("colors", std::as_bytes(std::span(&color, 1)), std::as_writable_bytes(std::span(colors)));
  int size = 0;
  int rank = 0;
  int first = -1;
  for (int r = 0; r < size_; ++r) {
    if (colors[static_cast<std::size_t>(r)] != color) continue;
    if (first < 0) first = r;
    if (r < rank_) ++rank;
    ++size;
  }
  const Offer mine{color, std::make_shared<MeetingPlace>(size)};
  std::shared_ptr<MeetingPlace> place;
  place_->meet(rank_, &mine, [&](const std::vector<const void*>& all) {
    place = static_cast<const Offer*>(all[static_cast<std::size_t>(first)])->place;
  });
  return std::make_unique<ThreadCommunicator>(std::move(place), rank, size);
}

/// Runs `rank_main` on `size` ranks at once and rethrows what failed first. Communicators of split() are not broken by
/// a rank that fails: others may then wait for it until the test's time is up.
inline void run_ranks(int size, const std::function<void(Communicator& world)>& rank_main) {
  const auto place = std::make_shared<MeetingPlace>(size);
  std::exception_ptr first;
  std::mutex first_mutex;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        ThreadCommunicator world(place, rank, size);
        rank_main(world);
      } catch (...) {
        const std::lock_guard lock(first_mutex);
        if (!first) first = std::current_exception();
        place->break_up();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace octet::parallel
