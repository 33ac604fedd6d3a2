#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Builds the wheel, installs it into a fresh virtual environment, and runs the tests there, the notebooks' included. What cannot be had
# here is named and skipped. FOVEA_PYTHON is the interpreter; FOVEA_PYTHON_RAY=1 adds the tests on a Ray cluster of this machine.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
python=${FOVEA_PYTHON:-python3}
made=$here/../../target/python
skip() { echo "python: skipped, $1" >&2; exit 0; }

command -v "$python" >/dev/null 2>&1 || skip "no $python here"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "$("$python" --version) is older than 3.11"
rm -rf "$made/venv" "$made/wheels"
mkdir -p "$made"
"$python" -m venv "$made/venv" >"$made/venv.log" 2>&1 || skip "no virtual environments here; apt-get install python3-venv"
pip() { "$made/venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
# ray is 70 MB, and taken only if asked for.
# shellcheck disable=SC2086 # one word, or none
pip install "maturin>=1.7,<2" pytest pyarrow pandas polars fsspec nbclient ipykernel ${FOVEA_PYTHON_RAY:+ray} >"$made/pip.log" 2>&1 ||
	skip "packages cannot be had ($(tail -n 1 "$made/pip.log"))"
# A server and a client of S3, without which those tests name what they lack.
pip install "moto[server]" s3fs >>"$made/pip.log" 2>&1 || echo "python: no tests of S3, packages cannot be had ($(tail -n 1 "$made/pip.log"))" >&2

# Unoptimised, as the other tests; what users install is a release.
(cd "$here" && PATH=$made/venv/bin:$PATH MATURIN_PEP517_ARGS="--profile dev --locked" pip wheel --no-deps --no-build-isolation --wheel-dir "$made/wheels" .)
pip install --no-index --no-deps "$made"/wheels/fovea_lab-*.whl
# Results are compared with the command line's, if it is built, of these sources.
for built in "$here"/../../target/*/debug/fovea "$here"/../../target/*/release/fovea; do
	if [ -x "$built" ] && [ -z "$(find "$here/../../crates" "$here/../../proof" "$here/../src" -name '*.[rc]' -newer "$built" -print -quit)" ]; then
		export FOVEA_CLI="${FOVEA_CLI:-$built}"
	fi
done
# Not from here, where the package lies as sources without its library.
cd "$made"
exec "$made/venv/bin/python" -m pytest -q -rs -p no:cacheprovider "$here/tests" "$@"
