#!/usr/bin/env bash
# Generate code from protos/ and fbs/: WIRE gets odf_wire/_gen, COORDINATOR gets odf_coordinator/codec/_gen.
# Usage, from the repository's root: bash protos/generate.sh WIRE COORDINATOR   (`make gen` does it)
set -euo pipefail
wire=$1 coordinator=$2
python=${PYTHON:-.venv/bin/python}
mkdir -p "$wire/odf_wire/_gen" "$coordinator/odf_coordinator/codec/_gen"
"$python" -m grpc_tools.protoc -Iodf_wire/_gen=protos \
  --python_out="$wire" --pyi_out="$wire" --grpc_python_out="$wire" odf_wire/_gen/engine.proto
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flatc --python --gen-object-api --gen-onefile -o "$scratch" fbs/engine.fbs fbs/block.fbs
cp "$scratch/engine_generated.py" "$wire/odf_wire/_gen/"
cp "$scratch/block_generated.py" "$coordinator/odf_coordinator/codec/_gen/"
