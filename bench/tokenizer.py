"""Times Octet's tokenizer and PyPI's tokenizers on the same documents, each with one thread, in alternation.

Usage: tokenizer.py OCTET TOKENIZER_JSON [--rounds N] FILE...

Each file is a document; those that are not UTF-8 are left out, since the package takes text only. A round times Octet
once (`octet tokenizer bench --repeats 1`, which leaves out loading), then the package's encode_batch_fast, the fastest
way it has, on the tokenizer without added tokens, as Octet reads text. Medians of rounds, and of the ratio within each
round: load on the machine then meets both alike. The numbers of tokens must agree.
"""

import argparse
import json
import os
import statistics
import subprocess
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers


def readable(path):
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read() or None
    except UnicodeDecodeError:
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("octet")
    parser.add_argument("tokenizer")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    texts = {path: text for path in arguments.files if (text := readable(path)) is not None}
    documents = list(texts.values())
    with open(arguments.tokenizer, encoding="utf-8") as file:
        definition = json.load(file)
    definition["added_tokens"], definition["post_processor"] = [], None
    source = json.dumps(definition)
    ours, theirs = [], []
    for _ in range(arguments.rounds):
        command = [arguments.octet, "tokenizer", "bench", arguments.tokenizer, "--json", "--repeats", "1", *texts]
        record = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        ours.append(record["bytes"] / record["seconds"][0] / 1e6)
        package = tokenizers.Tokenizer.from_str(source)  # anew, as Octet's: no round knows the words of another
        start = time.perf_counter()
        encodings = package.encode_batch_fast(documents, add_special_tokens=False)
        theirs.append(record["bytes"] / (time.perf_counter() - start) / 1e6)
        assert sum(len(encoding.ids) for encoding in encodings) == record["tokens"], "the numbers of tokens differ"
    ratio = statistics.median(a / b for a, b in zip(ours, theirs))
    print(
        f"{arguments.tokenizer.split('/')[-2]}: {record['bytes'] / 1e6:.1f} MB in {len(documents)} documents, "
        f"{record['tokens']} tokens, {arguments.rounds} rounds\n"
        f"  octet                {statistics.median(ours):6.1f} MB/s\n"
        f"  tokenizers {tokenizers.__version__:9} {statistics.median(theirs):6.1f} MB/s\n"
        f"  ratio                {ratio:6.2f}   of each round: {' '.join(f'{a / b:.2f}' for a, b in zip(ours, theirs))}"
    )


if __name__ == "__main__":
    main()
