// Reads documents, encodes them in parallel, and writes them in order.
#include "data/tokenize_documents.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "data/input_files.h"
#include "data/json_text.h"
#include "data/ordered_pipeline.h"
#include "data/tokenize_state.h"
#include "io/text.h"

namespace octet {
namespace {

/// Text that is handed to an encoding thread at once: enough that handing over costs nothing, and its tokens stay in a
/// core's cache.
constexpr std::size_t kBatchBytes = std::size_t{1} << 18;

/// A piece in a batch of text.
struct BatchPiece {
  std::size_t begin = 0;  // of its bytes in the batch
  std::size_t size = 0;
  std::uint64_t place = 0;   // line or row
  std::uint64_t number = 0;  // among all pieces
  std::uint32_t file = 0;
  Piece::Kind kind = Piece::Kind::text;
  DataSplit split = DataSplit::train;
  bool ends_document = true;
};

struct TextBatch {
  std::string bytes;  // of all pieces, and what may be read behind the last
  std::vector<BatchPiece> pieces;
  std::uint64_t stored_bytes = 0;  // of all inputs, up to the end of the batch
};

struct EncodedPiece {
  std::size_t tokens = 0;
  std::uint64_t number = 0;
  DataSplit split = DataSplit::train;
  SplitCounts counts;
};

struct TokenBatch {
  std::vector<std::int32_t> tokens;
  std::vector<EncodedPiece> pieces;
  std::uint64_t stored_bytes = 0;
};

/// Goes through the files and makes batches of the pieces that are not in whole shards yet.
class BatchReader {
 public:
  BatchReader(std::span<const DocumentFile> files, const TokenizeJob& job, const BothSplits& done)
      : files_(files),
        job_(job),
        train_from_(done.train.next_piece),
        validation_from_(done.validation.next_piece),
        checksums_(files.size()) {}

  std::optional<TextBatch> next() {
    TextBatch batch;
    batch.bytes.reserve(kBatchBytes + kBatchBytes / 4);
    Piece piece;
    while (batch.bytes.size() < kBatchBytes && next_piece(piece)) {
      const DataSplit split = split_of(document_, job_.seed, job_.validation_fraction);
      const std::uint64_t number = number_++;
      if (piece.ends_document) ++document_;
      if (number < (split == DataSplit::train ? train_from_ : validation_from_)) continue;
      batch.pieces.push_back({batch.bytes.size(), piece.bytes.size(), piece.place, number,
                              static_cast<std::uint32_t>(file_), piece.kind, split, piece.ends_document});
      batch.bytes.append(piece.bytes);
    }
    if (batch.pieces.empty()) return {};
    batch.bytes.append(JsonText::padding(), ' ');
    batch.stored_bytes = stored_before_ + (source_ ? source_->bytes_read() : 0);
    return batch;
  }

  /// XXH3-64 of each file, once next() has come to the end.
  [[nodiscard]] const std::vector<std::uint64_t>& checksums() const { return checksums_; }

 private:
  bool next_piece(Piece& piece) {
    while (file_ < files_.size()) {
      if (!source_) source_ = open_documents(files_[file_].path, files_[file_].format, job_.source);
      if (source_->next(piece)) return true;
      stored_before_ += source_->bytes_read();
      checksums_[file_++] = source_->checksum();
      source_.reset();
    }
    return false;
  }

  std::span<const DocumentFile> files_;
  const TokenizeJob& job_;
  std::uint64_t train_from_, validation_from_;
  std::vector<std::uint64_t> checksums_;
  std::size_t file_ = 0;
  std::unique_ptr<DocumentSource> source_;
  std::uint64_t stored_before_ = 0;
  std::uint64_t document_ = 0;  // numbers of the next
  std::uint64_t number_ = 0;
};

/// Makes tokens of batches; one for each thread.
class BatchEncoder {
 public:
  BatchEncoder(const Tokenizer& tokenizer, std::span<const DocumentFile> files, const TokenizeJob& job)
      : tokenizer_(tokenizer), files_(files), skip_bad_(job.skip_bad), json_(job.source.field) {}

  TokenBatch encode(const TextBatch& batch) {
    TokenBatch result;
    result.stored_bytes = batch.stored_bytes;
    result.pieces.reserve(batch.pieces.size());
    for (const BatchPiece& piece : batch.pieces) {
      const std::size_t before = result.tokens.size();
      const SplitCounts counts =
          encode(piece, std::string_view(batch.bytes).substr(piece.begin, piece.size), result.tokens);
      result.pieces.push_back({result.tokens.size() - before, piece.number, piece.split, counts});
    }
    return result;
  }

 private:
  SplitCounts encode(const BatchPiece& piece, std::string_view bytes, std::vector<std::int32_t>& tokens) {
    JsonText::Result found{bytes, {}};
    if (piece.kind == Piece::Kind::json) found = json_.read(bytes);
    if (piece.kind == Piece::Kind::absent) found.problem = "has no text";
    if (!found.problem.empty()) {
      if (skip_bad_) return {.skipped = 1};
      throw UserError("{}:{}: {}: correct it, name another --field, or leave such lines out with --skip-bad",
                      printable(files_[piece.file].path.string()), piece.place, found.problem);
    }
    if (found.text.empty()) return {.empty = 1};
    tokenizer_.encode(found.text, tokens);
    const auto end = tokenizer_.end_of_document();
    if (piece.ends_document && end) tokens.push_back(*end);
    return {.documents = piece.ends_document ? 1U : 0U, .text_bytes = found.text.size()};
  }

  const Tokenizer& tokenizer_;
  std::span<const DocumentFile> files_;
  bool skip_bad_;
  JsonText json_;
};

void check_job(const TokenizeJob& job) {
  if (!(job.validation_fraction >= 0 && job.validation_fraction < 1)) {  // written so that NaN is refused
    throw UserError("validation_fraction {}: must be at least 0 and below 1", job.validation_fraction);
  }
  if (job.shard_tokens == 0) throw UserError("a shard has at least one token: raise --shard-tokens");
  if (job.source.max_document_bytes == 0) throw UserError("a document has at least a byte: raise --max-document-bytes");
  constexpr int kMaxThreads = 1024;
  if (job.threads < 1 || job.threads > kMaxThreads) {
    throw UserError("--threads {}: choose 1 to {}", job.threads, kMaxThreads);
  }
}

void check_result(const Manifest& manifest, const TokenizeJob& job) {
  const std::uint64_t documents = manifest.train.counts.documents + manifest.validation.counts.documents;
  if (manifest.train.shards.empty()) {
    throw UserError("none of {} documents is left for training: check the inputs, lower the validation fraction",
                    documents);
  }
  if (job.validation_fraction > 0 && manifest.validation.shards.empty()) {
    throw UserError(
        "none of {} documents fell into the validation part: remove {}, then raise --validation-fraction, or hold out "
        "the end of a text with --train and --validation",
        documents, job.folder.string());
  }
}

Manifest describe_result(const Tokenizer& tokenizer, const TokenizeJob& job, std::span<const DocumentFile> files,
                         std::span<const std::uint64_t> checksums, const BothSplits& written) {
  Manifest manifest;
  manifest.tokenizer = tokenizer.name();
  manifest.fingerprint = tokenizer.fingerprint();
  manifest.vocab_size = tokenizer.vocab_size();
  manifest.document_end = tokenizer.end_of_document();
  manifest.train = written.train.written;
  manifest.validation = written.validation.written;
  for (std::size_t i = 0; i < files.size(); ++i) {
    manifest.inputs.push_back(
        {files[i].path.string(), std::string(to_string(files[i].format)), files[i].bytes, checksums[i]});
  }
  manifest.options = options_json(job);
  return manifest;
}

}  // namespace

DataSplit split_of(std::uint64_t document, std::uint64_t seed, double validation_fraction) {
  const double draw = uniform(philox(seed, document, stream_of("tokenize.split"))[0]);
  return draw < validation_fraction ? DataSplit::validation : DataSplit::train;
}

DocumentsResult tokenize_documents(const Tokenizer& tokenizer, const TokenizeJob& job,
                                   const TokenizeListener& listener) {
  check_job(job);
  auto [files, left_out] = find_document_files(job.inputs, job.format);
  const nlohmann::ordered_json description = job_json(tokenizer, job, files);
  std::vector<BatchEncoder> encoders;
  for (int thread = 0; thread < job.threads; ++thread) encoders.emplace_back(tokenizer, files, job);

  const BothSplits done = begin_or_go_on(tokenizer, job.folder, description);
  if (const auto shards = done.train.written.shards.size() + done.validation.written.shards.size(); shards > 0) {
    listener.on_resume(shards);
  }
  BatchReader reader(files, job, done);
  SplitWriter train(job.folder, DataSplit::train, tokenizer, job.shard_tokens, done.train);
  SplitWriter validation(job.folder, DataSplit::validation, tokenizer, job.shard_tokens, done.validation);
  TokenizeStatus status;
  for (const DocumentFile& file : files) status.total_stored_bytes += file.bytes;

  const auto write = [&](const TokenBatch& batch) {
    std::span<const std::int32_t> rest(batch.tokens);
    for (const EncodedPiece& piece : batch.pieces) {
      SplitWriter& writer = piece.split == DataSplit::train ? train : validation;
      if (writer.append(rest.first(piece.tokens), piece.counts, piece.number)) {
        save_state(job.folder, description, train.progress(), validation.progress());
      }
      rest = rest.subspan(piece.tokens);
      status.text_bytes += piece.counts.text_bytes;
    }
    status.tokens += batch.tokens.size();
    status.stored_bytes = batch.stored_bytes;
    listener.on_progress(status);
  };
  OrderedPipeline<TextBatch, TokenBatch>(job.threads)
      .run([&reader] { return reader.next(); },
           [&encoders](const TextBatch& batch, int thread) {
             return encoders[static_cast<std::size_t>(thread)].encode(batch);
           },
           write);
  // From here on shards may lie there that no state knows; the next run must see whose they are.
  save_state(job.folder, description, train.progress(), validation.progress());
  train.finish();
  validation.finish();

  Manifest manifest =
      describe_result(tokenizer, job, files, reader.checksums(), {train.progress(), validation.progress()});
  check_result(manifest, job);
  write_manifest(job.folder / kManifestName, manifest);
  remove_state(job.folder);
  return {std::move(manifest), std::move(left_out)};
}

}  // namespace octet
