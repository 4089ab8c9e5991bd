"""Write the golden files anew: `python -m tests.golden.make`. What changes needs a reason."""

import json

from tests.golden import test_block, test_slice_hash


def main() -> None:
    """All expected hashes, and all block files."""
    cases = [{**case, "hash": test_slice_hash.product_hash(case)} for case in test_slice_hash.CASES]
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    test_slice_hash.FILE.write_text(f"[\n{lines}\n]\n")
    for name, (file, _) in test_block.files().items():
        (test_block.FOLDER / f"{name}.block").write_bytes(file)


if __name__ == "__main__":
    main()
