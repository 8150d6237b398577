// Event files by the byte: checksums, framing, protobuf encoding, names, and a disk that fills up.
#include "io/tensorboard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "io/crc32c.h"
#include "io/file_size_limit.h"
#include "io/protobuf.h"
#include "io/scratch.h"

namespace octet {
namespace {

using namespace std::string_literals;
namespace fs = std::filesystem;

constexpr double kTime = 1'700'000'000.25;

// The vectors of RFC 3720, B.4, and the check value of the catalogue of CRCs.
TEST(Crc32c, KnownValues) {
  std::string rising(32, '\0');
  std::ranges::generate(rising, [byte = 0]() mutable { return static_cast<char>(byte++); });
  const std::string falling(rising.rbegin(), rising.rend());
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(rising), 0x46DD794EU);
  EXPECT_EQ(crc32c(falling), 0x113FDB5CU);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(""), 0U);
}

// The record of TensorFlow's own first event: its header is in every file that TensorFlow writes for a 24-byte event.
TEST(Tfrecord, HasLengthAndMaskedChecksums) {
  const std::string data(24, 'x');
  const std::string record = tfrecord(data);
  ASSERT_EQ(record.size(), 8 + 4 + data.size() + 4);
  EXPECT_EQ(record.substr(0, 12), "\x18\0\0\0\0\0\0\0\xA3\x7F\x4B\x22"s);
  EXPECT_EQ(record.substr(12, data.size()), data);
  EXPECT_EQ(tfrecord("").size(), 16U);
}

TEST(Protobuf, Varints) {
  const auto encoded = [](std::int64_t value) {
    ProtobufMessage message;
    message.add_integer(1, value);
    return std::string(message.bytes());
  };
  EXPECT_EQ(encoded(0), "\x08\0"s);
  EXPECT_EQ(encoded(127), "\x08\x7F");
  EXPECT_EQ(encoded(128), "\x08\x80\x01");
  EXPECT_EQ(encoded(300), "\x08\xAC\x02");
  EXPECT_EQ(encoded(-1), "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
  EXPECT_EQ(encoded(std::numeric_limits<std::int64_t>::max()), "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F");
}

TEST(Protobuf, EveryWireType) {
  ProtobufMessage inner;
  inner.add_text(16, "ab");  // the tag takes two bytes
  inner.add_float(2, 1.0F);
  ProtobufMessage outer;
  outer.add_double(1, -2.0);
  outer.add_message(3, inner);
  outer.add_doubles(4, std::vector<double>{1.0, 2.0});
  outer.add_doubles(5, {});
  EXPECT_EQ(outer.bytes(),
            "\x09\0\0\0\0\0\0\0\xC0"
            "\x1A\x0A\x82\x01\x02"
            "ab\x15\0\0\x80\x3F"
            "\x22\x10\0\0\0\0\0\0\xF0\x3F\0\0\0\0\0\0\0\x40"
            "\x2A\0"s);
}

TEST(Histogram, CountsWhatIsFinite) {
  Histogram histogram(0.5);
  for (const double value : {-0.25, 0.0, 0.49, 3.5, 3.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    histogram.add(value);
  }
  EXPECT_EQ(histogram.buckets(), (std::map<std::int64_t, std::uint64_t>{{-1, 1}, {0, 2}, {7, 2}}));
  EXPECT_EQ(histogram.count(), 5U);
  EXPECT_EQ(histogram.min(), -0.25);
  EXPECT_EQ(histogram.max(), 3.5);
  EXPECT_DOUBLE_EQ(histogram.sum(), 7.24);
  EXPECT_DOUBLE_EQ(histogram.sum_of_squares(), 0.0625 + 0.49 * 0.49 + 2 * 12.25);
}

class EventFileTest : public testing::Test {
 protected:
  [[nodiscard]] fs::path directory() const { return scratch_.path() / "tensorboard"; }

  ScratchDirectory scratch_;
};

/// The data of a file's records; fails the test where a record is not framed as it should be.
std::vector<std::string> records_of(const fs::path& path) {
  const std::string bytes = read_file(path);
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t size = bytes.size();
    if (at + 12 <= bytes.size()) std::memcpy(&size, bytes.data() + at, sizeof(size));
    if (size > bytes.size() - at) {
      ADD_FAILURE() << "a record is cut short at byte " << at;
      break;
    }
    records.push_back(bytes.substr(at + 12, size));
    EXPECT_EQ(bytes.substr(at, size + 16), tfrecord(records.back()));
    at += size + 16;
  }
  return records;
}

TEST_F(EventFileTest, EachRecordIsOnDiskOnceItIsAppended) {
  EventFile file(directory(), 5, kTime);
  EXPECT_EQ(file.path().filename().string().find("events.out.tfevents.1700000000."), 0U) << file.path();
  ASSERT_EQ(records_of(file.path()).size(), 2U);
  const std::string time(reinterpret_cast<const char*>(&kTime), sizeof(kTime));
  EXPECT_EQ(records_of(file.path())[0], "\x09" + time + "\x1A\x0D" + "brain.Event:2");
  EXPECT_EQ(records_of(file.path())[1], "\x09" + time + "\x10\x05\x3A\x02\x08\x01");
  file.append(5, kTime, std::vector<TaggedScalar>{{"loss", 1.0}});
  ASSERT_EQ(records_of(file.path()).size(), 3U);
  EXPECT_EQ(records_of(file.path())[2], "\x09" + time + "\x10\x05\x2A\x0D\x0A\x0B\x0A\x04loss\x15\0\0\x80\x3F"s);
}

TEST_F(EventFileTest, NamesAreInTheOrderOfTheParts) {
  const std::vector<double> starts = {kTime, kTime, kTime - 1000};  // twice in a second, then a clock put back
  std::vector<std::string> names;
  for (const double start : starts) names.push_back(EventFile(directory(), 1, start).path().filename().string());
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_EQ(names[2].find("events.out.tfevents.1700000002."), 0U) << names[2];
}

TEST_F(EventFileTest, OtherFilesDoNotMatter) {
  fs::create_directory(directory());
  for (const char* name :
       {"notes", "events.out.tfevents.", "events.out.tfevents.99", "events.out.tfevents.17x0000000"}) {
    scratch_.write("tensorboard/" + std::string(name), "x");
  }
  EXPECT_NE(EventFile(directory(), 1, kTime).path().string().find("1700000000."), std::string::npos);
}

TEST_F(EventFileTest, AFullDiskIsTheUsersToMend) {
  EventFile file(directory(), 1, kTime);
  const FileSizeLimit limit(200);
  const std::string message = user_error([&] {
    for (int step = 1; step < 10; ++step) file.append(step, kTime, std::vector<TaggedScalar>{{"loss", 1.0}});
  });
  EXPECT_TRUE(contains(message, file.path().string()));
  EXPECT_TRUE(contains(message, "the disk may be full"));
}

TEST_F(EventFileTest, AFileInTheWayIsTheUsersToMend) {
  scratch_.write("tensorboard", "");
  EXPECT_TRUE(contains(user_error([&] { const EventFile file(directory(), 1, kTime); }), directory().string()));
}

}  // namespace
}  // namespace octet
