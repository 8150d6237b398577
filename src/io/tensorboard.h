// Event files as TensorBoard reads them: TFRecords of hand-encoded Event messages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "io/histogram.h"

namespace octet {

/// `data` as one record of a TFRecord file: u64 length, its checksum, the data, its checksum; all little endian.
/// Checksums are CRC32C, masked as TensorFlow's lib/hash/crc32c.h says.
[[nodiscard]] std::string tfrecord(std::string_view data);

struct TaggedScalar {
  std::string_view tag;
  double value = 0;  ///< NaN and infinities are kept
};

struct TaggedHistogram {
  std::string_view tag;
  const Histogram& histogram;
};

/// One events.out.tfevents.TIME.HOST.PID in a directory that may hold those of earlier parts of the same run.
/// TensorBoard reads the files of a directory in the order of their names, as one run, so TIME is later than that of
/// every file there, even if the clock went back.
class EventFile {
 public:
  /// Begins a new file. It says that the run starts at `first_step`, upon which TensorBoard forgets what earlier files
  /// hold from that step on: those steps are gone through again. Times are seconds since 1970.
  /// UserError where directory or file cannot be made.
  EventFile(const std::filesystem::path& directory, std::int64_t first_step, double wall_time);

  /// Appends values of a step and hands them to the system at once: a killed run loses none, and a record cut short is
  /// passed over by readers. UserError where that fails, on a full disk say.
  void append(std::int64_t step, double wall_time, std::span<const TaggedScalar> scalars);
  void append(std::int64_t step, double wall_time, std::span<const TaggedHistogram> histograms);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  void write(std::string_view event);

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace octet
