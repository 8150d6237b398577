"""Holds Octet's reader and writer against the safetensors package: a file of theirs goes through ours and back.

Usage: safetensors_oracle.py PROGRAM, the built safetensors_roundtrip. Exits 77 (skipped) without the package.
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import safetensors
    import safetensors.numpy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

DTYPES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1, "F8_E4M3": 1, "F8_E5M2": 1}


def sample_tensors():
    random = numpy.random.default_rng(1)
    return {
        "matrix": random.standard_normal((5, 7)).astype(numpy.float32),
        "double": random.standard_normal((2, 3, 4)),
        "scalar": numpy.array(3.5, dtype=numpy.float32),
        "empty": numpy.zeros((0, 4), dtype=numpy.int32),
        "bytes": numpy.arange(13, dtype=numpy.uint8),
        "long": numpy.array([-(2**63), 2**63 - 1], dtype=numpy.int64),
        'quoted "name" \\ é': numpy.array([[1, -2]], dtype=numpy.int32),
    }


def main(program):
    tensors = sample_tensors()
    metadata = {"format": "np", "note": 'line\n"quoted" é'}
    with tempfile.TemporaryDirectory() as directory:
        theirs = pathlib.Path(directory) / "theirs.safetensors"
        ours = pathlib.Path(directory) / "ours.safetensors"
        safetensors.numpy.save_file(tensors, theirs, metadata)
        subprocess.run([program, theirs, ours], check=True)
        # Raw records, since numpy has neither BF16 nor FP8.
        records = dict(safetensors.deserialize(ours.read_bytes()))
        with safetensors.safe_open(ours, "numpy") as file:
            written_metadata = file.metadata()
            for name, expected in tensors.items():
                actual = file.get_tensor(name)
                assert actual.dtype == expected.dtype, name
                assert actual.shape == expected.shape, name
                assert actual.tobytes() == expected.tobytes(), name

    for name, size in DTYPES.items():
        record = records.pop(f"dtype.{name}")
        assert record["dtype"] == name, record
        assert list(record["shape"]) == [2, 3], record
        assert bytes(record["data"]) == bytes(range(6 * size)), record
    assert records.keys() == tensors.keys(), records.keys()

    checksums = {key for key in written_metadata if key.startswith("xxh3.")}
    assert len(checksums) == len(tensors) + len(DTYPES), checksums
    assert {key: written_metadata[key] for key in metadata} == metadata
    print(f"{len(tensors)} tensors and {len(DTYPES)} dtypes agree")


if __name__ == "__main__":
    main(sys.argv[1])
