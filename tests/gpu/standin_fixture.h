// What tests of trouble with a GPU share: octet finds stand-ins for NVIDIA's libraries, which the environment makes
// fail.
#pragma once

#include "cli/cli_fixture.h"
#include "cli/environment.h"

namespace octet::test {

/// A stand-in's directory: "driver" and "products" are whole, libraries in "hollow" lack every function.
[[nodiscard]] std::string stand_in(std::string_view directory);

/// One whole GPU, until `set` says otherwise. Attention is Octet's own, whatever the machine has.
class StandInTest : public CliTest {
 protected:
  /// Skips the test where the program under test is built without CUDA.
  void SetUp() override;

  void set_environment(const char* name, const std::string& value) { environment_.set(name, value); }
  /// The words of a training on that GPU.
  [[nodiscard]] static Words train_on_gpu(std::string_view run, const Words& more = {});
  /// A directory that holds a text of this name where a library is expected.
  std::string text_for_library(const std::string& name) const;
  /// What octet info says of a library: "version", "path" and "problem", each empty where it says none.
  [[nodiscard]] std::string library(std::string_view name, const char* what) const;
  /// Why octet info leaves out a backend.
  [[nodiscard]] std::string reason_left_out(std::string_view backend) const;

 private:
  Environment environment_;
};

}  // namespace octet::test
