// Documents of one input file, one after the other: of a text, of JSON lines, of a Parquet table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace octet {

enum class DocumentFormat : std::uint8_t { text, jsonl, parquet };

/// "text", "jsonl", "parquet".
[[nodiscard]] std::string_view to_string(DocumentFormat format);

/// A document, or a piece of a text that is longer than kTextPieceBytes.
struct Piece {
  enum class Kind : std::uint8_t {
    text,
    json,    ///< `bytes` are a line of JSON, of which a field is the text
    absent,  ///< a row that has no text
  };

  std::string_view bytes;   ///< valid until the next piece is asked for
  std::uint64_t place = 0;  ///< line or row, from 1
  Kind kind = Kind::text;
  bool ends_document = true;
};

/// A text that is one document is handed out in pieces of at most so many bytes, cut as in text_boundary.h.
inline constexpr std::size_t kTextPieceBytes = std::size_t{1} << 20;

struct SourceOptions {
  std::string field = "text";            ///< of JSON and Parquet; dots lead into nested objects
  std::optional<std::string> separator;  ///< a line between documents of a text; none: each file is a document
  std::uint64_t max_document_bytes = std::uint64_t{64} << 20;  ///< of a line of JSON, or of a text between separators
};

class DocumentSource {
 public:
  virtual ~DocumentSource() = default;

  /// The next piece, or false at the end. Throws UserError, with file and place, for damaged compressed data, and for a
  /// document that is too long.
  [[nodiscard]] virtual bool next(Piece& piece) = 0;

  /// Bytes of the file, as stored, that have been read, and XXH3-64 of them.
  [[nodiscard]] virtual std::uint64_t bytes_read() const = 0;
  [[nodiscard]] virtual std::uint64_t checksum() const = 0;
};

/// Throws UserError for a file that cannot be opened or is not of its format, and for Parquet where this build has no
/// reader of it.
[[nodiscard]] std::unique_ptr<DocumentSource> open_documents(const std::filesystem::path& path, DocumentFormat format,
                                                             const SourceOptions& options);

}  // namespace octet
