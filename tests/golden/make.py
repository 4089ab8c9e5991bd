"""Write the golden files anew: `python -m tests.golden.make`. What changes needs a reason."""

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.golden import test_block, test_slice_hash, test_text_hash


def main() -> None:
    """All expected hashes, and all block files."""
    cases = [{**case, "hash": test_slice_hash.product_hash(case)} for case in test_slice_hash.CASES]
    _write(test_slice_hash.FILE, cases)
    texts = [(case, test_text_hash.product_text(case)) for case in test_text_hash.CASES]
    _write(
        test_text_hash.FILE,
        [
            {**case, "text": text, "hash": "1620" + hashlib.sha3_256(text.encode()).hexdigest()}
            for case, text in texts
        ],
    )
    for name, (file, _) in test_block.files().items():
        (test_block.FOLDER / f"{name}.block").write_bytes(file)


def _write(file: Path, cases: list[dict[str, Any]]) -> None:
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    file.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
