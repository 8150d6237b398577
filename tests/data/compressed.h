// Compresses for tests, with the libraries that the readers use for the other direction.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <string>
#include <string_view>

#include "core/error.h"

namespace octet::test {

/// One gzip member.
inline std::string gzip(std::string_view text) {
  z_stream stream{};
  check(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflate begins");
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  check(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate ends");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// One zstd frame with a checksum of its content.
inline std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  const std::size_t size = ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  check(ZSTD_isError(size) == 0, "zstd compresses");
  out.resize(size);
  return out;
}

}  // namespace octet::test
