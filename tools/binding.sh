#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Checks the device-tree binding with dt-schema: the schema itself, its example, and that a carve-out with no-map is refused.
# Needs python3-venv, dtc (apt-get install device-tree-compiler) and PyPI.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
schemas=$here/packaging/devicetree
schema=$schemas/reserved-memory/fovea,carveout.yaml
tools=$here/target/dtschema
command -v dtc >/dev/null || { echo "dtc is not installed; apt-get install device-tree-compiler" >&2; exit 3; }
[ -x "$tools/bin/dt-validate" ] || { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet dtschema; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

validate() { # validate SOURCE: what is wrong with it, of our schema
	dtc -q -I dts -O dtb -o "$work/tree.dtb" "$1"
	"$tools/bin/dt-validate" -s "$work/schema.json" "$work/tree.dtb" 2>&1 | grep 'fovea,carveout' || true
}

"$tools/bin/dt-doc-validate" "$schema"
"$tools/bin/dt-mk-schema" -o "$work/schema.json" "$schemas"
"$tools/bin/dt-extract-example" "$schema" >"$work/example.dts"
wrong=$(validate "$work/example.dts")
[ -z "$wrong" ] || { echo "the binding's example is refused: $wrong" >&2; exit 1; }
sed 's/compatible = "fovea,carveout";/& no-map;/' "$work/example.dts" >"$work/unmapped.dts"
[ -n "$(validate "$work/unmapped.dts")" ] || { echo "the binding takes a carve-out with no-map" >&2; exit 1; }
echo "the binding holds"
