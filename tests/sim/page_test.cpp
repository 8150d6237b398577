// The first section of docs/cdna-simulator.md, done as a reader would: its files are written, its commands run, and
// what they print is what the page says.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include "sim/shell.h"

namespace octet::sim {
namespace {

namespace fs = std::filesystem;

const fs::path kPage = "docs/cdna-simulator.md";  // tests run in the root of the tree
constexpr std::string_view kSection = "## Five minutes\n";

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

/// A directory to work in, where `cdna-sim` and `clang++-22` are found by these names.
class Desk {
 public:
  Desk() : directory_(fs::temp_directory_path() / ("cdna_sim_page_" + std::to_string(getpid()))) {
    fs::create_directories(directory_ / "bin");
    fs::create_symlink(OCTET_CDNA_SIM, directory_ / "bin" / "cdna-sim");
    fs::create_symlink(OCTET_HIP_CLANG, directory_ / "bin" / "clang++-22");
  }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;
  ~Desk() { fs::remove_all(directory_); }

  void write(const std::string& name, const std::string& text) const { write_text(directory_ / name, text); }
  [[nodiscard]] std::string run(const std::string& command) const {
    return shell("cd '" + directory_.string() + "' && PATH=\"$PWD/bin:$PATH\" && " + command).output;
  }

 private:
  fs::path directory_;
};

/// The lines of a console, with what each command prints now below it. A command goes on where a line ends in "\".
std::string replayed(const std::string& console, const Desk& desk) {
  std::istringstream lines(console);
  std::string result;
  std::string command;
  for (std::string line; std::getline(lines, line);) {
    if (command.empty() && !line.starts_with("$ ")) continue;  // printed when the page was written
    result += line + '\n';
    command += command.empty() ? line.substr(2) : '\n' + line;
    if (line.ends_with('\\')) continue;
    result += desk.run(command);
    command.clear();
  }
  return result;
}

/// The section, with consoles replayed: "```cpp NAME" is a file, "```console" a console.
std::string replayed_section(const std::string& section, const Desk& desk) {
  std::istringstream lines(section);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    result += line + '\n';
    if (!line.starts_with("```")) continue;
    std::string block;
    std::string content;
    while (std::getline(lines, content) && content != "```") block += content + '\n';
    if (line.starts_with("```cpp ")) desk.write(line.substr(7), block);
    result += line == "```console" ? replayed(block, desk) : block;
    result += "```\n";
  }
  return result;
}

TEST(Page, WhatItsFirstSectionSaysIsWhatHappens) {
  const Desk desk;
  if (desk.run("clang++-22 --version").find("version 22.") == std::string::npos) {
    GTEST_SKIP() << "the page shows what clang 22 makes";
  }
  const std::string page = read_text(kPage);
  const std::size_t begin = page.find(kSection);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = page.find("\n## ", begin);
  const std::string section = page.substr(begin, end - begin);
  ASSERT_NE(section.find("```console\n$ "), std::string::npos);
  const std::string now = replayed_section(section, desk);
  // OCTET_UPDATE_DOCS=1 writes the page instead of comparing it.
  if (std::getenv("OCTET_UPDATE_DOCS") != nullptr) {
    return write_text(kPage, page.substr(0, begin) + now + page.substr(end));
  }
  EXPECT_EQ(section, now) << "run this test with OCTET_UPDATE_DOCS=1, read what changed and commit " << kPage;
}

}  // namespace
}  // namespace octet::sim
