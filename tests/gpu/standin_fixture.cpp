#include "gpu/standin_fixture.h"

namespace octet::test {

std::string stand_in(std::string_view directory) {
  return OCTET_STANDINS "/" + std::string(directory);
}

void StandInTest::SetUp() {
  CliTest::SetUp();
  set_environment("LD_LIBRARY_PATH", stand_in("driver"));
  set_environment("OCTET_LIBRARY_PATH", stand_in("products"));
  set_environment("OCTET_ATTENTION", "own");
  if (contains(reason_left_out("cuda"), "built without CUDA")) GTEST_SKIP() << "the program is built without CUDA";
}

Words StandInTest::train_on_gpu(std::string_view run, const Words& more) {
  return train(run, join({{"--device", "cuda"}, more}));
}

std::string StandInTest::text_for_library(const std::string& name) const {
  write(name, "no library but a text, and longer than the header of one: " + std::string(100, '.'));
  return path("").string();
}

std::string StandInTest::library(std::string_view name, const char* what) const {
  const nlohmann::json info = json_of({"info", "--json"});
  for (const auto& library : info.at("gpu_libraries")) {
    if (library.at("name") == name) return library.value(what, "");
  }
  return {};
}

std::string StandInTest::reason_left_out(std::string_view backend) const {
  const nlohmann::json info = json_of({"info", "--json"});
  for (const auto& left_out : info.at("left_out")) {
    if (left_out.at("backend") == backend) return left_out.at("reason");
  }
  return {};
}

}  // namespace octet::test
