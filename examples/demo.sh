#!/usr/bin/env bash
# One dataset from a file, one derived from it in a container, proof, and a proof that fails.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
odf() { command "$here/../.venv/bin/odf" "$@"; }
folder=$(mktemp -d)
cd "$folder"
clean_up() {
  odf engine stop --force >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap clean_up EXIT

say() { printf '\n# %s\n' "$*"; }
run() {
  printf '$'
  for word in "$@"; do
    case $word in *[!A-Za-z0-9._/=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  printf '\n'
  "$@"
}

cp "$here"/air/* .
say "Three days of hourly air measurements, and two manifests"
run head -n 3 measurements-2024-01-15.csv
run odf init
run odf add exceedances.yaml measurements.yaml

say "Ingest the file, then derive from it: Spark, in a container without network"
run odf pull -r org.example.air.exceedances
run odf tail org.example.air.exceedances -n 4 -o table
run odf sql -o table -c 'select station, count(*) as hours, max(pm10) as worst from "org.example.air.exceedances" group by all order by hours desc'

say "A new file arrives: only what is new is read and derived"
{
  head -n 1 measurements-2024-01-15.csv
  echo '2024-01-18T00:00:00Z,ring road,40.2,71.5,true'
  echo '2024-01-18T00:00:00Z,hill park,8.1,14.9,true'
} > measurements-2024-01-18.csv
run odf pull --all
run odf pull --all

say "What happened is in the metadata chain"
run odf log org.example.air.exceedances -n 1

say "Anyone can prove it: every hash, every signature, every step run again"
run odf verify -r org.example.air.exceedances

say "Flip one bit of the stored rows, and verify again"
part=$(ls .odf/datasets/*/data/* | head -n 1)
python3 - "$part" <<'PYTHON'
import sys
from pathlib import Path

path = Path(sys.argv[1])
content = bytearray(path.read_bytes())
content[len(content) // 2] ^= 1
path.chmod(0o644)
path.write_bytes(content)
PYTHON
status=0
run odf verify -r org.example.air.exceedances || status=$?
if [ "$status" != 5 ]; then
  echo "verify left with exit code $status, not 5: the damage was not found"
  exit 1
fi
say "Found, with exit code 5. That was the demo."
