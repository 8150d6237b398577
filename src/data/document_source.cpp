// Sources of documents in texts and JSON lines.
#include "data/document_source.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/error.h"
#include "data/input_file.h"
#include "data/line_reader.h"
#include "data/parquet_source.h"
#include "data/text_boundary.h"

namespace octet {
namespace {

/// What all sources that read bytes have in common.
class FileSource : public DocumentSource {
 public:
  explicit FileSource(const std::filesystem::path& path) : file_(path) {}
  [[nodiscard]] std::uint64_t bytes_read() const final { return file_.bytes_read(); }
  [[nodiscard]] std::uint64_t checksum() const final { return file_.checksum(); }

 protected:
  InputFile file_;  // NOLINT(misc-non-private-member-variables-in-classes)
};

/// A text as one document, in pieces.
class WholeText final : public FileSource {
 public:
  using FileSource::FileSource;

  bool next(Piece& piece) override {
    buffer_.erase(0, std::exchange(handed_out_, 0));
    while (buffer_.size() <= kTextPieceBytes && more_) {
      const std::size_t count = file_.read(chunk_);
      buffer_.append(chunk_.data(), count);
      more_ = count > 0;
    }
    if (buffer_.empty()) return false;
    handed_out_ = text_boundary(buffer_, std::min(buffer_.size(), kTextPieceBytes));
    const std::string_view bytes = std::string_view(buffer_).substr(0, handed_out_);
    piece = {bytes, line_, Piece::Kind::text, handed_out_ == buffer_.size()};
    line_ += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
    return true;
  }

 private:
  std::array<char, std::size_t{1} << 16> chunk_{};
  std::string buffer_;
  std::size_t handed_out_ = 0;
  bool more_ = true;
  std::uint64_t line_ = 1;
};

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// A text whose documents stand between lines of a kind, which belong to none of them.
class SeparatedText final : public FileSource {
 public:
  SeparatedText(const std::filesystem::path& path, std::string separator, std::uint64_t max_bytes)
      : FileSource(path), lines_(file_, max_bytes), separator_(std::move(separator)), max_bytes_(max_bytes) {}

  bool next(Piece& piece) override {
    document_.clear();
    std::uint64_t first = 0;
    for (std::string_view line; lines_.next(line);) {
      if (without_line_end(line) == separator_) {
        if (document_.empty()) continue;
        break;
      }
      if (document_.empty()) first = lines_.number();
      document_.append(line);
      if (document_.size() > max_bytes_) {
        throw UserError("{}:{}: the document that begins here is longer than {} bytes: raise --max-document-bytes",
                        file_.path().string(), first, max_bytes_);
      }
    }
    piece = {document_, first, Piece::Kind::text, true};
    return !document_.empty();
  }

 private:
  LineReader lines_;
  std::string separator_;
  std::uint64_t max_bytes_;
  std::string document_;
};

/// Every line is a document; blank ones are none.
class JsonLines final : public FileSource {
 public:
  JsonLines(const std::filesystem::path& path, std::uint64_t max_bytes) : FileSource(path), lines_(file_, max_bytes) {}

  bool next(Piece& piece) override {
    for (std::string_view line; lines_.next(line);) {
      if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) continue;
      piece = {line, lines_.number(), Piece::Kind::json, true};
      return true;
    }
    return false;
  }

 private:
  LineReader lines_;
};

}  // namespace

std::string_view to_string(DocumentFormat format) {
  switch (format) {
    case DocumentFormat::text:
      return "text";
    case DocumentFormat::jsonl:
      return "jsonl";
    case DocumentFormat::parquet:
      return "parquet";
  }
  return {};
}

std::unique_ptr<DocumentSource> open_documents(const std::filesystem::path& path, DocumentFormat format,
                                               const SourceOptions& options) {
  switch (format) {
    case DocumentFormat::jsonl:
      return std::make_unique<JsonLines>(path, options.max_document_bytes);
    case DocumentFormat::parquet:
      return open_parquet(path, options);
    case DocumentFormat::text:
      break;
  }
  if (!options.separator) return std::make_unique<WholeText>(path);
  return std::make_unique<SeparatedText>(path, *options.separator, options.max_document_bytes);
}

}  // namespace octet
