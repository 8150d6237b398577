#!/usr/bin/env python3
"""octet convert and octet train --init-from against transformers: transformers_oracle.py OCTET

Small random models of transformers are converted to Octet's layout and back, which must give each bit again; they
begin a run of 20 steps in rowwise FP8 on the CPU, whose checkpoint is exported. transformers loads the export and
saves it again: the same tensors, bit by bit, and the same logits, which the training has moved.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    import transformers
    from safetensors.torch import load_file
except ImportError as error:
    print(f"skipped: {error}; scripts/transformers-check makes an environment that has it")
    sys.exit(77)

OCTET = str(Path(sys.argv[1]).resolve())
SMALL = dict(vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=128)


def models():
    t = transformers
    llama = dict(SMALL, num_key_value_heads=2)
    yield "llama", t.LlamaForCausalLM(t.LlamaConfig(**llama)), "50KB"
    yield "llama_tied", t.LlamaForCausalLM(t.LlamaConfig(**llama, tie_word_embeddings=True)), "1GB"
    deepseek = dict(SMALL, num_key_value_heads=4, moe_intermediate_size=32, n_routed_experts=8, n_shared_experts=1,
                    num_experts_per_tok=2, n_group=2, topk_group=1, first_k_dense_replace=1, kv_lora_rank=32,
                    qk_rope_head_dim=16, qk_nope_head_dim=16, v_head_dim=16)
    for name, rank in (("deepseek_v3", 32), ("deepseek_v3_without_q_lora", None)):
        yield name, t.DeepseekV3ForCausalLM(t.DeepseekV3Config(**deepseek, q_lora_rank=rank)), "100KB"
    yield "qwen3", t.Qwen3ForCausalLM(t.Qwen3Config(**llama, head_dim=32)), "50KB"
    moe = dict(llama, head_dim=16, moe_intermediate_size=32, num_experts=8, num_experts_per_tok=2)
    yield "qwen3_moe", t.Qwen3MoeForCausalLM(t.Qwen3MoeConfig(**moe)), "1GB"


def octet(*words, allowed=()):
    done = subprocess.run([OCTET, *map(str, words)], capture_output=True, text=True)
    if done.returncode and not any(word in done.stderr for word in allowed):
        sys.exit(f"octet {' '.join(map(str, words))}: {done.stderr}")
    return done.returncode == 0


def tensors(directory):
    found = {}
    for path in sorted(Path(directory).glob("*.safetensors")):
        found.update(load_file(path))
    return found


def logits(model):
    tokens = torch.arange(48).reshape(1, 48) * 7 % 256
    with torch.no_grad():
        return model.eval().float()(tokens).logits


def check(name, model, shard, work):
    before = work / name
    model.save_pretrained(before, max_shard_size=shard)
    if not octet("convert", before, work / f"{name}.octet", allowed=("model.family",)):
        print(f"{name}: this octet has no such family, left out")
        return
    octet("convert", work / f"{name}.octet", work / f"{name}.back", "--shard-size", "100KB")
    old, back = tensors(before), tensors(work / f"{name}.back")
    assert old.keys() == back.keys(), old.keys() ^ back.keys()
    assert all(old[key].dtype == back[key].dtype and torch.equal(old[key], back[key]) for key in old), "bits differ"
    again = type(model).from_pretrained(work / f"{name}.back", dtype=torch.float32)
    assert torch.equal(logits(model), logits(again)), "logits differ after the way back"

    config = work / f"{name}.toml"
    octet("convert", "--config-only", before, config)
    octet("train", config, "--init-from", before, "--run-dir", work / f"{name}.run", "--set",
          f"data.train={work / 'text.tok'}", "--set", "training.steps=20", "--set", "training.seq_len=64", "--set",
          "training.batch_size=2", "--set", "optimizer.lr=1e-3", "--recipe", "rowwise",
          "--set", "precision.min_size=0")
    octet("convert", work / f"{name}.run", work / f"{name}.trained", "--like", before)
    trained = type(model).from_pretrained(work / f"{name}.trained", dtype=torch.float32)
    exported = tensors(work / f"{name}.trained")
    moved = sum(not torch.equal(old[key].float(), exported[key].float()) for key in old)
    trained.save_pretrained(work / f"{name}.again", max_shard_size=shard)
    saved = tensors(work / f"{name}.again")
    assert saved.keys() == exported.keys() and all(torch.equal(saved[key], exported[key].float()) for key in saved)
    result, expected = logits(trained), logits(model)
    assert torch.equal(result, logits(type(model).from_pretrained(work / f"{name}.again", dtype=torch.float32)))
    assert torch.isfinite(result).all() and moved > len(old) // 2 and not torch.equal(result, expected)
    change = (result - expected).abs().max().item()
    print(f"{name}: {len(old)} tensors there and back bit by bit, same logits; {moved} moved in 20 steps, logits by up "
          f"to {change:.3g}; the export loads and saves bit by bit")


def main():
    torch.manual_seed(1)
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "text").write_text("The quick brown fox jumps over the lazy dog. " * 400)
        octet("tokenize", work / "text", "--train", work / "text.tok")
        for model in models():
            check(*model, work)


main()
