#include "ops/gpu/gpu_table.h"

#include "ops/gpu/entries.h"
#include "ops/gpu/refusals.h"

namespace octet::ops::gpu {
namespace {

using fp8::FormatFamily;

template <FormatFamily Family>
OpTable make_table() {
  OpTable table;
  std::get<Entry<EmbeddingForward>>(table) = {&embedding_forward, nullptr};
  std::get<Entry<EmbeddingBackward>>(table) = {&embedding_backward, nullptr};
  std::get<Entry<RmsNormForward>>(table) = {&rmsnorm_forward, &rmsnorm_forward_workspace,
                                            &refuse_rows<Family, RmsNormForward>};
  std::get<Entry<RmsNormForwardCast>>(table) = {&rmsnorm_forward_cast, nullptr,
                                                &refuse_columns<Family, RmsNormForwardCast>};
  std::get<Entry<RmsNormBackward>>(table) = {&rmsnorm_backward, &rmsnorm_backward_workspace,
                                             &refuse_rows<Family, RmsNormBackward>};
  std::get<Entry<AttentionForward>>(table) = {&attention_forward, &attention_forward_workspace};
  std::get<Entry<AttentionBackward>>(table) = {&attention_backward, &attention_backward_workspace};
  std::get<Entry<Rope>>(table) = {&rope, &rope_workspace, &refuse_rows_of_any_length<Family, Rope>};
  std::get<Entry<AppendToCache>>(table) = {&append_to_cache, nullptr};
  std::get<Entry<AttentionDecode>>(table) = {&attention_decode, &attention_decode_workspace};
  std::get<Entry<SwigluForward>>(table) = {&swiglu_forward, &swiglu_forward_workspace,
                                           &refuse_rows<Family, SwigluForward>};
  std::get<Entry<SwigluBackward>>(table) = {&swiglu_backward, &swiglu_backward_workspace,
                                            &refuse_rows<Family, SwigluBackward>};
  std::get<Entry<SwigluBackwardCast>>(table) = {&swiglu_backward_cast, nullptr,
                                                &refuse_columns<Family, SwigluBackwardCast>};
  std::get<Entry<QuantizeRows>>(table) = {&quantize_rows, &quantize_rows_workspace,
                                          &refuse_rows_of_any_length<Family, QuantizeRows>};
  std::get<Entry<Maxima>>(table) = {&maxima, &maxima_workspace};
  std::get<Entry<Cast>>(table) = {&cast, &cast_workspace, &refuse_cast<Family>};
  std::get<Entry<CastStatistics>>(table) = {&cast_statistics, nullptr};
  std::get<Entry<Gemm>>(table) = {&gemm, &gemm_workspace, &refuse_gemm<Family>};
  std::get<Entry<CrossEntropy>>(table) = {&cross_entropy, nullptr};
  std::get<Entry<SumFloats>>(table) = {&sum_floats, &sum_floats_workspace};
  std::get<Entry<Zero>>(table) = {&zero, nullptr};
  std::get<Entry<SumOfSquares>>(table) = {&sum_of_squares, &sum_of_squares_workspace};
  std::get<Entry<AdamW>>(table) = {&adamw, &adamw_workspace};
  std::get<Entry<FindNonFinite>>(table) = {&find_non_finite, &find_non_finite_workspace};
  std::get<Entry<Copy>>(table) = {&copy, nullptr};
  std::get<Entry<Difference>>(table) = {&difference, &difference_workspace};
  std::get<Entry<Route>>(table) = {&route, nullptr, &refuse_router<Route>};
  std::get<Entry<RouteBackward>>(table) = {&route_backward, &route_backward_workspace, &refuse_router<RouteBackward>};
  std::get<Entry<BalanceBias>>(table) = {&balance_bias, nullptr,
                                         [](const BalanceBias& op) { return refuse_experts(op.experts); }};
  std::get<Entry<GroupTokens>>(table) = {&group_tokens, &group_tokens_workspace,
                                         [](const GroupTokens& op) { return refuse_experts(op.expert_count); }};
  std::get<Entry<GatherRows>>(table) = {&gather_rows, &gather_rows_workspace, &refuse_rows<Family, GatherRows>};
  std::get<Entry<GatherRowsCast>>(table) = {&gather_rows_cast, nullptr, &refuse_columns<Family, GatherRowsCast>};
  std::get<Entry<CombineRows>>(table) = {&combine_rows, nullptr};
  std::get<Entry<GroupedSwigluForward>>(table) = {&grouped_swiglu_forward, &grouped_swiglu_forward_workspace,
                                                  &refuse_rows<Family, GroupedSwigluForward>};
  std::get<Entry<GroupedSwigluBackward>>(table) = {&grouped_swiglu_backward, &grouped_swiglu_backward_workspace,
                                                   &refuse_rows<Family, GroupedSwigluBackward>};
  std::get<Entry<GroupedSwigluCast>>(table) = {&grouped_swiglu_cast, nullptr, &refuse_grouped_swiglu_cast<Family>};
  std::get<Entry<MlaAssemble>>(table) = {&mla_assemble, nullptr, &refuse_latent<MlaAssemble>};
  std::get<Entry<MlaAssembleBackward>>(table) = {&mla_assemble_backward, nullptr, &refuse_latent<MlaAssembleBackward>};
  std::get<Entry<Add>>(table) = {&add, nullptr};
  std::get<Entry<ShiftTokens>>(table) = {&shift_tokens, nullptr};
  std::get<Entry<HeadNormRope>>(table) = {&head_norm_rope, nullptr, &refuse_normed_heads<HeadNormRope>};
  std::get<Entry<HeadNormRopeBackward>>(table) = {
      &head_norm_rope_backward, &head_norm_rope_backward_workspace, [](const HeadNormRopeBackward& op) {
        const char* refused = refuse_normed_heads(op);
        return refused != nullptr ? refused : refuse_rows_of_any_length<Family>(op);
      }};
  std::get<Entry<GroupedGemm>>(table) = {&grouped_gemm, &grouped_gemm_workspace, &refuse_grouped_gemm<Family>};
  std::get<Entry<GroupedWgrad>>(table) = {&grouped_wgrad, &grouped_wgrad_workspace, &refuse_grouped_wgrad<Family>};
  return table;
}

}  // namespace

OpTable gpu_table(FormatFamily family) {
  return family == FormatFamily::ocp ? make_table<FormatFamily::ocp>() : make_table<FormatFamily::fnuz>();
}

}  // namespace octet::ops::gpu
