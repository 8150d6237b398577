"""What the peers read of Octet's: a resolved configuration, token shards in the order of training, checkpoints.

Python's own library alone, so that a test can hold the order of the tokens against Octet's loader anywhere. The formats
are described in docs/files.md, the shuffle in src/data/permutation.cpp.
"""

import json
import mmap
import struct
from pathlib import Path

SHARD_HEADER = struct.Struct("<8sIIQQQ12xIQ")
TOKEN_FORMATS = {1: "B", 2: "H", 4: "I"}
MASK = 0xFFFFFFFFFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15
ROUNDS = 6


class Mistake(Exception):
    """Something that the user can mend: one line says what is wrong and what to do."""


def read_config(path):
    """What `octet config show CONFIG --json` printed: every key, defaults included."""
    try:
        return json.loads(Path(path).read_text())["config"]
    except (OSError, ValueError, KeyError) as error:
        raise Mistake(f"{path} is not what 'octet config show CONFIG --json' prints: {error!r}") from None


class Shard:
    """Tokens of one file. Checksums are left to Octet, which reads the same file."""

    def __init__(self, path):
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise Mistake(f"{path} cannot be read: {error.strerror}") from None
        if len(data) < SHARD_HEADER.size:
            raise Mistake(f"{path} is no token shard: make one with octet tokenize")
        magic, version, width, _, self.token_count, _, flags, _ = SHARD_HEADER.unpack_from(data)
        if magic != b"OCTETTOK" or version not in (1, 2) or len(data) != SHARD_HEADER.size + width * self.token_count:
            raise Mistake(f"{path} is no token shard of version 1 or 2, or is cut short: make one with octet tokenize")
        if flags != 0:
            raise Mistake(f"{path} marks its tokens, as octet chat does: the peers read shards of octet tokenize alone")
        self.tokens = memoryview(data)[SHARD_HEADER.size :].cast(TOKEN_FORMATS[width])


class Windows:
    """The non-overlapping windows of seq_len + 1 tokens of some shards; none spans two."""

    def __init__(self, paths, seq_len):
        self.length = seq_len + 1
        self.shards = [Shard(path) for path in paths]
        self.counts = [shard.token_count // self.length for shard in self.shards]
        if 0 in self.counts:
            raise Mistake(f"{paths[self.counts.index(0)]} is shorter than one sequence of {seq_len} tokens")

    def __len__(self):
        return sum(self.counts)

    def __getitem__(self, index):
        for shard, count in zip(self.shards, self.counts):
            if index < count:
                return shard.tokens[index * self.length : (index + 1) * self.length].tolist()
            index -= count
        raise IndexError(index)


def mix(x):
    """SplitMix64's finalizer."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Permutation:
    """A Feistel network over an even number of bits; values outside [0, size) go through it again."""

    def __init__(self, size, seed, epoch):
        self.size = size
        self.half_bits = max(1, ((size - 1).bit_length() + 1) // 2)
        key = mix(mix((seed + GOLDEN) & MASK) ^ epoch)
        self.keys = []
        for _ in range(ROUNDS):
            key = (key + GOLDEN) & MASK
            self.keys.append(mix(key))

    def __call__(self, place):
        value = self.encrypt(place)
        while value >= self.size:
            value = self.encrypt(value)
        return value

    def encrypt(self, value):
        mask = (1 << self.half_bits) - 1
        left, right = value >> self.half_bits, value & mask
        for key in self.keys:
            left, right = right, left ^ (mix(right ^ key) & mask)
        return left << self.half_bits | right


def check_order(config):
    """Refuses what training_windows() does not do: sources in shares, and attention within documents."""
    data = config["data"]
    if data.get("mix"):
        raise Mistake("the peers know no data.mix: leave it empty and name one source in data.train")
    if data.get("boundaries", "ignored") != "ignored":
        raise Mistake("the peers attend across documents: set data.boundaries = \"ignored\"")


def training_windows(windows, seed, shuffle):
    """Every window once an epoch, epoch after epoch without end, in the order in which Octet trains on them."""
    epoch = 0
    while True:
        order = Permutation(len(windows), seed, epoch)
        for place in range(len(windows)):
            yield windows[order(place) if shuffle else place]
        epoch += 1


def read_checkpoint(path):
    """The tensors of a model.safetensors: name to (shape, memory of fp32), which a private mapping may change."""
    with open(path, "rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(bytes(data[8:begin]))
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        if entry["dtype"] != "F32":
            raise Mistake(f"{path}: {name} is {entry['dtype']}, not the F32 of Octet's checkpoints")
        tensors[name] = (entry["shape"], data[begin + first : begin + last])
    return tensors
