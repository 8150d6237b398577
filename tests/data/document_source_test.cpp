// Documents out of texts and JSON lines: where they begin and end, what is too long, what is no text.
#include "data/document_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "compressed.h"
#include "data/input_files.h"
#include "data/json_text.h"
#include "io/mutations.h"
#include "test_files.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using test::user_error;
using test::write_file;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Documents = std::vector<std::pair<std::string, std::uint64_t>>;  // with their places

Documents documents_of(const fs::path& path, DocumentFormat format, const SourceOptions& options = {}) {
  Documents documents;
  const auto source = open_documents(path, format, options);
  for (Piece piece; source->next(piece);) {
    EXPECT_TRUE(piece.ends_document);
    documents.emplace_back(piece.bytes, piece.place);
  }
  return documents;
}

TEST(WholeText, IsOneDocumentInPieces) {
  const TempFolder folder;
  std::string text(kTextPieceBytes - 10, 'x');
  text += "\n\n" + std::string(kTextPieceBytes, 'y') + "z";
  write_file(folder / "a.txt.zst", test::zstd(text));
  const auto source = open_documents(folder / "a.txt.zst", DocumentFormat::text, {});
  std::vector<std::size_t> sizes;
  std::vector<bool> ends;
  std::string all;
  for (Piece piece; source->next(piece);) {
    sizes.push_back(piece.bytes.size());
    ends.push_back(piece.ends_document);
    all += piece.bytes;
  }
  EXPECT_EQ(all, text);
  EXPECT_THAT(sizes, ElementsAre(kTextPieceBytes - 8, kTextPieceBytes, 1));
  EXPECT_THAT(ends, ElementsAre(false, false, true));
}

TEST(WholeText, OfExactlyAPieceIsOne) {
  const TempFolder folder;
  write_file(folder / "a.txt", std::string(kTextPieceBytes, 'x'));
  EXPECT_EQ(documents_of(folder / "a.txt", DocumentFormat::text).size(), 1U);
  write_file(folder / "a.txt", "");
  EXPECT_EQ(documents_of(folder / "a.txt", DocumentFormat::text).size(), 0U);
}

TEST(SeparatedText, EndsAtItsLines) {
  const TempFolder folder;
  SourceOptions options;
  options.separator = "";
  write_file(folder / "a.txt", "\n\none\ntwo\n\n\nthree\r\n\r\nfour");
  EXPECT_THAT(documents_of(folder / "a.txt", DocumentFormat::text, options),
              ElementsAre(Pair("one\ntwo\n", 3), Pair("three\r\n", 7), Pair("four", 9)));
  options.separator = "<end>";
  write_file(folder / "a.txt", "one\n\n<end>\n <end>\n<end>\n");
  EXPECT_THAT(documents_of(folder / "a.txt", DocumentFormat::text, options),
              ElementsAre(Pair("one\n\n", 1), Pair(" <end>\n", 4)));
  options.max_document_bytes = 10;
  write_file(folder / "a.txt", "a\n<end>\nbbbbbb\nccccc\n");
  EXPECT_THAT(user_error([&] { documents_of(folder / "a.txt", DocumentFormat::text, options); }),
              AllOf(HasSubstr("a.txt:3: the document that begins here is longer than 10 bytes"),
                    HasSubstr("--max-document-bytes")));
}

TEST(JsonLines, AreLinesThatAreNotBlank) {
  const TempFolder folder;
  write_file(folder / "a.jsonl.gz", test::gzip("{1}\n\n \t\r\n{2}\r\n") + test::gzip("{3}"));
  EXPECT_THAT(documents_of(folder / "a.jsonl.gz", DocumentFormat::jsonl),
              ElementsAre(Pair("{1}\n", 1), Pair("{2}\r\n", 4), Pair("{3}", 5)));
}

/// However much a file expands to, memory holds one line of it.
TEST(JsonLines, AreNotLongerThanAllowed) {
  const TempFolder folder;
  SourceOptions options;
  options.max_document_bytes = 1 << 20;
  const std::string longest(options.max_document_bytes - 1, 'x');
  write_file(folder / "a.jsonl.zst", test::zstd("{1}\n" + longest + "\n"));
  EXPECT_EQ(documents_of(folder / "a.jsonl.zst", DocumentFormat::jsonl, options).size(), 2U);
  write_file(folder / "bomb.jsonl.zst", test::zstd("{1}\n" + std::string(std::size_t{16} << 20, 'x')));
  EXPECT_THAT(user_error([&] { documents_of(folder / "bomb.jsonl.zst", DocumentFormat::jsonl, options); }),
              HasSubstr("bomb.jsonl.zst:2: the line is longer than 1048576 bytes"));
}

TEST(Parquet, IsReadOrRefusedByName) {
  const TempFolder folder;
  write_file(folder / "a.parquet", "PAR1 and no table");
  EXPECT_THAT(user_error([&] { documents_of(folder / "a.parquet", DocumentFormat::parquet); }),
              AllOf(HasSubstr("a.parquet"), HasSubstr("Parquet")));
}

/// What JsonText says of a line, with the room behind it that it asks for.
JsonText::Result read_json(JsonText& json, const std::string& line, std::string& kept) {
  kept = line + std::string(JsonText::padding(), '"');
  return json.read(std::string_view(kept).substr(0, line.size()));
}

std::string text_in(const std::string& line, const std::string& field = "text") {
  JsonText json(field);
  std::string kept;
  const auto [text, problem] = read_json(json, line, kept);
  return problem.empty() ? std::string(text) : "! " + problem;
}

TEST(JsonText, FindsItsField) {
  EXPECT_EQ(text_in(R"({"id": 1, "text": "a\n\u00e9\ud83d\ude00\"b"})"), "a\n\u00e9\U0001F600\"b");
  EXPECT_EQ(text_in("{\"text\": \"\"}\r\n"), "");
  EXPECT_EQ(text_in(R"({"data": {"deep": {"text": "x"}}})", "data.deep.text"), "x");
  EXPECT_EQ(text_in(R"({"text": "a\u0000b"})"), std::string("a\0b", 3));
}

TEST(JsonText, SaysWhatIsMissing) {
  EXPECT_EQ(text_in(R"({"body": "x"})"), "! has no field text");
  EXPECT_EQ(text_in(R"({"text": 7})"), "! has no text in the field text: it is not a string");
  EXPECT_EQ(text_in(R"({"text": null})"), "! has no text in the field text: it is not a string");
  EXPECT_EQ(text_in(R"({"text": ["x"]})"), "! has no text in the field text: it is not a string");
  EXPECT_EQ(text_in(R"({"data": {"body": "x"}})", "data.text"), "! has no field data.text");
  EXPECT_EQ(text_in(R"({"data": "x"})", "data.text"), "! has no field data.text: it is not in an object");
  EXPECT_EQ(text_in(R"(["x"])"), "! has no field text: it is not in an object");
  for (const char* field : {"", ".text", "data..text", "text."}) {
    EXPECT_THAT(user_error([field] { JsonText{field}; }), HasSubstr("has an empty part")) << field;
  }
}

TEST(JsonText, ReadsWholeLinesStrictly) {
  for (const std::string line :
       {R"({"text": "x"} {"text": "y"})", R"({"text": "x")", R"({"text": "x\q"})", R"({"text": "x", "n": 01})",
        R"({'text': 'x'})", "{\"text\": \"\x80\"}", "text", R"({"text": "\ud800"})"}) {
    EXPECT_THAT(text_in(line), HasSubstr("! is no valid JSON")) << line;
  }
  EXPECT_THAT(text_in(R"({"text": "x", "deep": )" + std::string(100000, '[')), HasSubstr("! is no valid JSON"));
}

/// Where another parser finds a text too, it is the same.
TEST(JsonText, SurvivesAnyEdit) {
  const std::string line = R"({"id": 12, "text": "some \u00e9 text", "meta": {"n": [1, 2.5e3, null, true]}})";
  Mutator mutator(5);
  JsonText json("text");
  int read = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    const std::string edited = mutator.mutate(line, "{}[]\",:\\u0e\x80");
    std::string kept;
    const auto [text, problem] = read_json(json, edited, kept);
    if (!problem.empty()) continue;
    ++read;
    const auto other = nlohmann::json::parse(edited, nullptr, false);
    ASSERT_TRUE(other.is_object()) << edited;
    const bool once = edited.find("\"text\"") == edited.rfind("\"text\"");
    EXPECT_TRUE(!once || other.at("text") == text) << edited;
  }
  EXPECT_GT(read, 300);
}

TEST(InputFiles, FoldersAndPatternsAreSortedAndComplete) {
  const TempFolder folder;
  fs::create_directories(folder / "d/sub");
  fs::create_directories(folder / "d/.hidden");
  for (const char* name : {"d/b.jsonl", "d/a.txt.gz", "d/sub/c.jsonl.zst", "d/README", "d/.x.txt", "d/.hidden/y.txt"}) {
    write_file(folder / name, name);
  }
  const auto found = find_document_files(std::vector<std::string>{(folder / "d").string()}, {});
  std::vector<std::string> names;
  for (const DocumentFile& file : found.files) names.push_back(fs::relative(file.path, folder.path()).string());
  EXPECT_THAT(names, ElementsAre("d/a.txt.gz", "d/b.jsonl", "d/sub/c.jsonl.zst"));
  EXPECT_EQ(found.files[0].format, DocumentFormat::text);
  EXPECT_EQ(found.files[2].format, DocumentFormat::jsonl);
  EXPECT_EQ(found.files[1].bytes, 9U);
  EXPECT_THAT(found.left_out, ElementsAre(folder / "d/README"));
  const auto by_pattern =
      find_document_files(std::vector<std::string>{(folder / "d/[ab]*").string()}, DocumentFormat::text);
  ASSERT_EQ(by_pattern.files.size(), 2U);
  EXPECT_EQ(by_pattern.files[1].path, folder / "d/b.jsonl");
  EXPECT_EQ(by_pattern.files[1].format, DocumentFormat::text);
}

TEST(InputFiles, RefusesWhatCannotBeMeant) {
  const TempFolder folder;
  fs::create_directories(folder / "empty");
  fs::create_directories(folder / "other");
  write_file(folder / "a.jsonl", "");
  write_file(folder / "data", "");
  write_file(folder / "other/x.csv", "");
  fs::create_symlink(folder / "a.jsonl", folder / "link.jsonl");
  const auto error = [&folder](const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back((folder / name).string());
    return user_error([&paths] { (void)find_document_files(paths, {}); });
  };
  EXPECT_THAT(error({"none.jsonl"}), HasSubstr("none.jsonl: No such file or directory"));
  EXPECT_THAT(error({"*.txt"}), HasSubstr("*.txt: no file matches the pattern"));
  EXPECT_THAT(error({"empty"}), HasSubstr("empty: there is no file in the folder"));
  EXPECT_THAT(error({"data"}), HasSubstr("data: its name does not say what it holds: give --format"));
  EXPECT_THAT(error({"other"}), HasSubstr("none of the 1 files found is of a known format"));
  EXPECT_THAT(error({"a.jsonl", "*.jsonl"}), HasSubstr("a.jsonl: is named twice"));
  EXPECT_THAT(error({"a.jsonl", "link.jsonl"}), HasSubstr("link.jsonl: is named twice"));
}

}  // namespace
}  // namespace octet
