// tensorboard_sample DIRECTORY: writes the event files of a run that was killed as it wrote step 5, after its last
// checkpoint of step 2, and was resumed. The oracle test knows what is in them.
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "io/tensorboard.h"

namespace {

constexpr double kStart = 1'700'000'000;

void append_step(octet::EventFile& file, std::int64_t step, double loss) {
  const std::vector<octet::TaggedScalar> scalars = {{"loss", loss}, {"memory_bytes", 3e9}};
  file.append(step, kStart + static_cast<double>(step) + 0.5, scalars);
}

octet::Histogram histogram_of(std::initializer_list<double> values) {
  octet::Histogram histogram(0.125);
  for (const double value : values) histogram.add(value);
  return histogram;
}

void write_sample(const std::filesystem::path& directory) {
  const octet::Histogram spread = histogram_of({-3.0, -2.9, -2.9, 7.0});
  const octet::Histogram single = histogram_of({4.0, 4.0});
  std::filesystem::path killed;
  {
    octet::EventFile file(directory, 1, kStart);
    for (std::int64_t step = 1; step <= 4; ++step) append_step(file, step, 10.0 + static_cast<double>(step));
    file.append(2, kStart, std::vector<octet::TaggedHistogram>{{"log2_scale/a", spread}, {"log2_scale/b", single}});
    file.append(4, kStart, std::vector<octet::TaggedHistogram>{{"log2_scale/a", single}});
    append_step(file, 5, 15.0);
    killed = file.path();
  }
  std::filesystem::resize_file(killed, std::filesystem::file_size(killed) - 5);
  octet::EventFile file(directory, 3, kStart);
  append_step(file, 3, std::nan(""));
  append_step(file, 4, std::numeric_limits<double>::infinity());
  append_step(file, 5, 25.0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    write_sample(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
