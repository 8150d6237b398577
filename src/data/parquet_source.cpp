// Reads a column of strings through Apache's Parquet library.
#include "data/parquet_source.h"

#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/schema.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "core/error.h"
#include "data/shard_format.h"
#include "io/files.h"
#include "io/text.h"

namespace octet {
namespace {

/// The library's exceptions as errors that name the file.
template <typename Action>
auto with_named_errors(const std::filesystem::path& path, Action action) {
  try {
    return action();
  } catch (const parquet::ParquetException& error) {
    throw UserError("{}: cannot be read as Parquet ({}): copy or make the file again", path.string(),
                    printable(error.what()));
  }
}

class ParquetRows final : public DocumentSource {
 public:
  ParquetRows(const std::filesystem::path& path, const SourceOptions& options)
      : path_(path), max_bytes_(options.max_document_bytes) {
    with_named_errors(path_, [&] {
      constexpr bool kMapped = true;
      file_ = parquet::ParquetFileReader::OpenFile(path.string(), kMapped);
      const parquet::SchemaDescriptor& schema = *file_->metadata()->schema();
      column_ = schema.ColumnIndex(options.field);
      if (column_ < 0) {
        throw UserError("{}: there is no column {}: name another --field", path_.string(), printable(options.field));
      }
      const parquet::ColumnDescriptor& column = *schema.Column(column_);
      if (column.physical_type() != parquet::Type::BYTE_ARRAY || column.max_repetition_level() != 0) {
        throw UserError("{}: the column {} does not hold a text in each row: name another --field", path_.string(),
                        printable(options.field));
      }
      present_ = column.max_definition_level();
    });
  }

  bool next(Piece& piece) override {
    return with_named_errors(path_, [&] {
      if (at_ == levels_read_ && !read_batch()) return false;
      piece = {{}, ++row_, Piece::Kind::absent, true};
      // A column without nulls has no levels.
      if (present_ == 0 || levels_[at_] == present_) {
        const parquet::ByteArray& value = values_[value_++];
        if (value.len > max_bytes_) {
          throw UserError("{}:{}: the text is longer than {} bytes: correct the file, or raise --max-document-bytes",
                          path_.string(), row_, max_bytes_);
        }
        piece.bytes = {reinterpret_cast<const char*>(value.ptr), value.len};
        piece.kind = Piece::Kind::text;
      }
      ++at_;
      return true;
    });
  }

  [[nodiscard]] std::uint64_t bytes_read() const override {
    std::error_code unknown;
    const auto rows = static_cast<double>(std::max<std::int64_t>(file_->metadata()->num_rows(), 1));
    return static_cast<std::uint64_t>(static_cast<double>(std::filesystem::file_size(path_, unknown)) *
                                      static_cast<double>(row_) / rows);
  }
  [[nodiscard]] std::uint64_t checksum() const override { return checksum_of(MappedFile(path_).bytes()); }

 private:
  /// The next rows of the column, which lie in one page; false behind the last row group.
  bool read_batch() {
    at_ = value_ = levels_read_ = 0;
    while (levels_read_ == 0) {
      if (reader_ == nullptr || !reader_->HasNext()) {
        if (group_ == file_->metadata()->num_row_groups()) return false;
        rows_ = file_->RowGroup(group_++);
        reader_ = std::static_pointer_cast<parquet::ByteArrayReader>(rows_->Column(column_));
        continue;
      }
      std::int64_t values_read = 0;
      levels_read_ = static_cast<std::size_t>(reader_->ReadBatch(
          static_cast<std::int64_t>(levels_.size()), levels_.data(), nullptr, values_.data(), &values_read));
    }
    return true;
  }

  static constexpr std::size_t kRows = 256;

  std::filesystem::path path_;
  std::uint64_t max_bytes_;
  std::unique_ptr<parquet::ParquetFileReader> file_;
  int column_ = -1;
  std::int16_t present_ = 0;  // the level at which a row has a text
  int group_ = 0;             // the next row group
  std::shared_ptr<parquet::RowGroupReader> rows_;
  std::shared_ptr<parquet::ByteArrayReader> reader_;
  std::array<std::int16_t, kRows> levels_{};
  std::array<parquet::ByteArray, kRows> values_{};
  std::size_t levels_read_ = 0;  // rows of the batch
  std::size_t at_ = 0;           // of them, handed out
  std::size_t value_ = 0;        // of those that have a text
  std::uint64_t row_ = 0;
};

}  // namespace

std::unique_ptr<DocumentSource> open_parquet(const std::filesystem::path& path, const SourceOptions& options) {
  return std::make_unique<ParquetRows>(path, options);
}

}  // namespace octet
