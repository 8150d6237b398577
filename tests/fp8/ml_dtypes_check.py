"""Compares the tables printed by fp8_tables with ml_dtypes; exits 77, which CTest counts as skipped, without it."""

import subprocess
import sys

try:
    import ml_dtypes
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}; install ml_dtypes and numpy for {sys.executable}, or set OCTET_PYTHON")
    sys.exit(77)

FORMATS = {
    "e4m3fn": ml_dtypes.float8_e4m3fn,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2": ml_dtypes.float8_e5m2,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "e8m0": ml_dtypes.float8_e8m0fnu,
}


def read_sections(program):
    """{(kind, format): array [lines, columns] uint32} of everything the program prints."""
    text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    sections = {}
    for line in text.splitlines():
        words = line.split()
        if words[0] in ("decode", "encode"):
            rows = sections.setdefault((words[0], words[1]), [])
        else:
            rows.append([int(word, 16) for word in words])
    return {key: np.array(rows, dtype=np.uint32) for key, rows in sections.items()}


def differences(ours, theirs):
    """Places that differ in bits, two NaNs of any payload counting as equal."""
    both_nan = np.isnan(ours.astype(np.float32)) & np.isnan(theirs.astype(np.float32))
    width = f"u{ours.itemsize}"
    return np.flatnonzero((ours.view(width) != theirs.view(width)) & ~both_nan)


def check_decoded(rows, dtype):
    ours = rows[:, 0].copy().view(np.float32)
    theirs = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    return len(ours) != 256 or differences(ours, theirs).size


def check_encoded(rows, dtype):
    x = rows[:, 0].copy().view(np.float32)
    largest = np.float32(ml_dtypes.finfo(dtype).max)
    saturated = rows[:, 1].astype(np.uint8).view(dtype)
    escaped = rows[:, 2].astype(np.uint8).view(dtype)
    with np.errstate(all="ignore"):
        wrong = differences(saturated, np.clip(x, -largest, largest).astype(dtype)).size
        wrong += differences(escaped, x.astype(dtype)).size
    return len(x) != 2 * 65536 or wrong


def main():
    sections = read_sections(sys.argv[1])
    expected = {("decode", name) for name in FORMATS} | {("encode", name) for name in FORMATS if name != "e8m0"}
    failures = [f"section {key} is missing" for key in expected - sections.keys()]
    for (kind, name), rows in sections.items():
        check = check_decoded if kind == "decode" else check_encoded
        if wrong := check(rows, FORMATS[name]):
            failures.append(f"{kind} {name}: {wrong} of {len(rows)} rows differ from ml_dtypes {ml_dtypes.__version__}")
    print("\n".join(failures) or f"{len(sections)} tables equal those of ml_dtypes {ml_dtypes.__version__}")
    return 1 if failures else 0


sys.exit(main())
