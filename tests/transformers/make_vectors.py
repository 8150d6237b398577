"""What transformers computes with small models of every family, for the tests here: writes vectors.safetensors beside
this file, and the configurations that transformers saved to configs/NAME.json.

Each model's tensors are those of the files that `save_pretrained` writes, under NAME/ and their own names, in bf16,
which holds these weights exactly (routers' biases in fp32, as transformers keeps them); NAME/logits [B, S, V] are what
the model answers in fp32 to NAME/tokens [B, S].

Run by hand, from any directory, with PyPI's torch 2.15, transformers 5.24 and safetensors; no GPU is used:

    python3 tests/transformers/make_vectors.py
"""

import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = Path(__file__).resolve().parent
BATCH, LENGTH, VOCAB = 2, 24, 48

COMMON = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
}
GROUPED = COMMON | {"num_key_value_heads": 2, "rms_norm_eps": 1e-5}
EXPERTS = {"moe_intermediate_size": 16, "num_experts_per_tok": 2}
LATENT = COMMON | EXPERTS | {
    "num_key_value_heads": 4,
    "n_routed_experts": 8,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 12,
    "qk_rope_head_dim": 8,
    "v_head_dim": 10,
    "first_k_dense_replace": 1,
}
# Contexts shorter than the sequences, so that scaled frequencies count.
LLAMA_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 3.0,
    "original_max_position_embeddings": 16,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 100.0,
    "factor": 4.0,
    "beta_fast": 2.0,
    "beta_slow": 0.5,
    "mscale": 0.7,
    "mscale_all_dim": 1.0,
    "original_max_position_embeddings": 16,
}


def models():
    plain = {"rope_type": "default", "rope_theta": 1000.0}
    yield "llama", transformers.LlamaConfig(**GROUPED, rope_parameters=plain)
    # As Llama 3.2: a head without a tensor of its own. Heads that together are wider than the stream.
    yield "llama_tied", transformers.LlamaConfig(
        **GROUPED, head_dim=12, tie_word_embeddings=True, rope_parameters=LLAMA_ROPE
    )
    yield "qwen3", transformers.Qwen3Config(
        **GROUPED, head_dim=12, tie_word_embeddings=True, rope_parameters=plain
    )
    yield "qwen3_moe", transformers.Qwen3MoeConfig(
        **GROUPED,
        **EXPERTS,
        head_dim=12,
        num_experts=8,
        norm_topk_prob=True,
        decoder_sparse_step=1,
        mlp_only_layers=[0],
        rope_parameters=plain,
    )
    yield "qwen3_moe_unnormalised", transformers.Qwen3MoeConfig(
        **(GROUPED | {"num_hidden_layers": 1}),
        **EXPERTS,
        head_dim=12,
        num_experts=8,
        norm_topk_prob=False,
        rope_parameters=plain,
    )
    yield "deepseek_v3", transformers.DeepseekV3Config(
        **LATENT,
        q_lora_rank=20,
        n_shared_experts=2,
        n_group=4,
        topk_group=2,
        routed_scaling_factor=2.5,
        rope_parameters=YARN,
    )
    yield "deepseek_v3_without_q_lora", transformers.DeepseekV3Config(
        **LATENT,
        q_lora_rank=None,
        n_shared_experts=1,
        n_group=1,
        topk_group=1,
        routed_scaling_factor=1.0,
        rope_parameters=plain,
    )


def fill(model):
    """Weights large enough that every part matters to the logits, of which bf16 holds each."""
    for name, tensor in model.state_dict().items():
        noise = torch.randn(tensor.shape)
        if name.endswith("norm.weight"):
            value = 1 + 0.2 * noise
        elif name.endswith("e_score_correction_bias"):
            value = 0.2 * noise
        else:
            spread = 2.0 if name.endswith("mlp.gate.weight") else 1.0
            value = spread * noise / tensor.shape[-1] ** 0.5
        tensor.copy_(value.bfloat16())


@torch.no_grad()
def vectors_of(name, config):
    torch.manual_seed(7)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    fill(model)
    tokens = torch.randint(VOCAB, (BATCH, LENGTH))
    vectors = {"tokens": tokens.int(), "logits": model(tokens, use_cache=False).logits}
    with tempfile.TemporaryDirectory() as directory:
        model.save_pretrained(directory)
        (HERE / "configs").mkdir(exist_ok=True)
        (HERE / "configs" / f"{name}.json").write_text((Path(directory) / "config.json").read_text())
        for key, tensor in load_file(Path(directory) / "model.safetensors").items():
            if not key.endswith("e_score_correction_bias"):
                assert torch.equal(tensor, tensor.bfloat16().float()), key
                tensor = tensor.bfloat16()
            vectors[key] = tensor
    return {f"{name}/{key}": tensor.contiguous() for key, tensor in vectors.items()}


def main():
    vectors = {}
    for name, config in models():
        vectors |= vectors_of(name, config)
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    save_file(vectors, HERE / "vectors.safetensors", metadata=versions)


if __name__ == "__main__":
    main()
