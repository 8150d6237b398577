// Field numbers are those of TensorFlow's event.proto and summary.proto.
#include "io/tensorboard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <functional>
#include <limits>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "io/crc32c.h"
#include "io/files.h"
#include "io/protobuf.h"
#include "io/text.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "lengths and checksums are written as they lie in memory");

constexpr std::string_view kNameBegin = "events.out.tfevents.";
constexpr std::size_t kTimeDigits = 10;  // until the year 2286, names in the order of time are in alphabetical order

namespace event {
constexpr int wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;
}
namespace session_log {
constexpr int status = 1;
constexpr std::int64_t start = 1;
}  // namespace session_log
namespace summary {
constexpr int value = 1;
}
namespace summary_value {
constexpr int tag = 1, simple_value = 2, histogram = 5;
}
namespace histogram_field {
constexpr int min = 1, max = 2, count = 3, sum = 4, sum_of_squares = 5, bucket_limits = 6, buckets = 7;
}

template <typename T>
void append_bytes(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// A checksum that is unlike that of data which holds checksums itself.
std::uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xA282EAD8U;
}

/// The time in the name of an event file; -1 for other names.
std::int64_t time_in_name(const std::string& name) {
  if (!name.starts_with(kNameBegin) || name.size() < kNameBegin.size() + kTimeDigits) return -1;
  const char* begin = name.data() + kNameBegin.size();
  std::int64_t time = -1;
  const auto [end, error] = std::from_chars(begin, begin + kTimeDigits, time);
  return error == std::errc() && end == begin + kTimeDigits ? time : -1;
}

/// The machine's name as far as it fits a file name without surprises.
std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  std::string host = name.data();
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-';
  };
  std::replace_if(host.begin(), host.end(), std::not_fn(plain), '_');
  return host.empty() ? "unknown" : host;
}

fs::path next_path(const fs::path& directory, double wall_time) {
  auto time = static_cast<std::int64_t>(wall_time);
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    time = std::max(time, time_in_name(entry.path().filename().string()) + 1);
  }
  if (error) throw UserError("cannot list {}: {}", printable(directory.string()), error.message());
  return directory / fmt::format("{}{:0{}}.{}.{}", kNameBegin, time, kTimeDigits, host_name(), ::getpid());
}

ProtobufMessage begin_event(std::int64_t step, double wall_time) {
  ProtobufMessage message;
  message.add_double(event::wall_time, wall_time);
  message.add_integer(event::step, step);
  return message;
}

ProtobufMessage summary_event(std::int64_t step, double wall_time, const ProtobufMessage& values) {
  ProtobufMessage message = begin_event(step, wall_time);
  message.add_message(event::summary, values);
  return message;
}

ProtobufMessage encode(const Histogram& histogram) {
  std::vector<double> limits;
  std::vector<double> counts;
  // A bucket goes from the limit before it to its own, so that a gap between filled ones is an empty one.
  const auto append = [&](std::int64_t bucket_after, std::uint64_t count) {
    limits.push_back(static_cast<double>(bucket_after) * histogram.width());
    counts.push_back(static_cast<double>(count));
  };
  auto next = std::numeric_limits<std::int64_t>::min();
  for (const auto& [bucket, count] : histogram.buckets()) {
    if (bucket != next) append(bucket, 0);
    next = bucket + 1;
    append(next, count);
  }
  ProtobufMessage message;
  message.add_double(histogram_field::min, histogram.min());
  message.add_double(histogram_field::max, histogram.max());
  message.add_double(histogram_field::count, static_cast<double>(histogram.count()));
  message.add_double(histogram_field::sum, histogram.sum());
  message.add_double(histogram_field::sum_of_squares, histogram.sum_of_squares());
  message.add_doubles(histogram_field::bucket_limits, limits);
  message.add_doubles(histogram_field::buckets, counts);
  return message;
}

}  // namespace

std::string tfrecord(std::string_view data) {
  std::string record;
  append_bytes(record, static_cast<std::uint64_t>(data.size()));
  append_bytes(record, masked_crc32c(record));
  record += data;
  append_bytes(record, masked_crc32c(data));
  return record;
}

EventFile::EventFile(const fs::path& directory, std::int64_t first_step, double wall_time) {
  make_directory(directory);
  path_ = next_path(directory, wall_time);
  file_.open(path_, std::ios::binary);
  ProtobufMessage version;
  version.add_double(event::wall_time, wall_time);
  version.add_text(event::file_version, "brain.Event:2");  // readers heed the start of a session from version 2 on
  write(version.bytes());
  ProtobufMessage started;
  started.add_integer(session_log::status, session_log::start);
  ProtobufMessage session = begin_event(first_step, wall_time);
  session.add_message(event::session_log, started);
  write(session.bytes());
}

void EventFile::append(std::int64_t step, double wall_time, std::span<const TaggedScalar> scalars) {
  ProtobufMessage values;
  for (const TaggedScalar& scalar : scalars) {
    ProtobufMessage value;
    value.add_text(summary_value::tag, scalar.tag);
    // The older of two forms: every reader knows it, and TensorBoard turns it into the newer one.
    value.add_float(summary_value::simple_value, static_cast<float>(scalar.value));
    values.add_message(summary::value, value);
  }
  write(summary_event(step, wall_time, values).bytes());
}

void EventFile::append(std::int64_t step, double wall_time, std::span<const TaggedHistogram> histograms) {
  ProtobufMessage values;
  for (const TaggedHistogram& tagged : histograms) {
    ProtobufMessage value;
    value.add_text(summary_value::tag, tagged.tag);
    value.add_message(summary_value::histogram, encode(tagged.histogram));
    values.add_message(summary::value, value);
  }
  write(summary_event(step, wall_time, values).bytes());
}

void EventFile::write(std::string_view event) {
  file_ << tfrecord(event) << std::flush;
  if (!file_) {
    throw UserError("cannot write {}: the disk may be full or read-only; the last checkpoint is good",
                    printable(path_.string(), std::numeric_limits<std::size_t>::max()));
  }
}

}  // namespace octet
