// Decoders over zlib and libzstd.
#include "data/decoder.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/error.h"

namespace octet {
namespace {

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() {
    constexpr int kGzipAlone = 16;  // added to the size of the window: zlib's own format is refused
    check(inflateInit2(&stream_, MAX_WBITS + kGzipAlone) == Z_OK, "inflate has memory");
  }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  ~GzipDecoder() override { inflateEnd(&stream_); }

  Step step(std::span<const std::byte> in, std::span<char> out) override {
    if (may_end_) {  // between members, where inflate has nothing left to give
      if (in.empty()) return {};
      inflateReset(&stream_);
      may_end_ = false;
    }
    const auto some = [](std::size_t size) {
      return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
    };
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream_.avail_in = some(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = some(out.size());
    const uInt in_before = stream_.avail_in;
    const uInt out_before = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    may_end_ = result == Z_STREAM_END;
    Step done{in_before - stream_.avail_in, out_before - stream_.avail_out};
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      done.reason = stream_.msg != nullptr ? stream_.msg : "invalid data";
    }
    return done;
  }
  [[nodiscard]] bool may_end() const override { return may_end_; }
  [[nodiscard]] std::string_view name() const override { return "gzip"; }

 private:
  z_stream stream_{};
  bool may_end_ = false;
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : context_(ZSTD_createDCtx()) { check(context_ != nullptr, "zstd has memory"); }

  Step step(std::span<const std::byte> in, std::span<char> out) override {
    if (may_end_ && in.empty()) return {};
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(context_.get(), &to, &from);
    Step done{from.pos, to.pos};
    if (ZSTD_isError(result) != 0) {
      done.reason = ZSTD_getErrorName(result);
    } else {
      may_end_ = result == 0;
    }
    return done;
  }
  [[nodiscard]] bool may_end() const override { return may_end_; }
  [[nodiscard]] std::string_view name() const override { return "zstd"; }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  bool may_end_ = false;
};

bool begins_with(std::span<const std::byte> file, std::span<const unsigned char> magic) {
  return file.size() >= magic.size() &&
         std::ranges::equal(file.first(magic.size()), magic,
                            [](std::byte a, unsigned char b) { return a == std::byte{b}; });
}

}  // namespace

std::unique_ptr<Decoder> make_decoder(std::span<const std::byte> file) {
  constexpr std::array<unsigned char, 2> kGzip{0x1F, 0x8B};              // RFC 1952
  constexpr std::array<unsigned char, 4> kZstd{0x28, 0xB5, 0x2F, 0xFD};  // RFC 8878
  if (begins_with(file, kGzip)) return std::make_unique<GzipDecoder>();
  if (begins_with(file, kZstd)) return std::make_unique<ZstdDecoder>();
  return nullptr;
}

}  // namespace octet
