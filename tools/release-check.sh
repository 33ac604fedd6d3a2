#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# usage: release-check.sh VERSION PROGRAM BYTES-MAX
# Checks what a program can check of a release, names every step that fails, and then says what is
# left for a person.
set -eu
version=$1 program=$2 bytes_max=$3
cd "$(dirname "$0")/.."
failed=0
step() { # step WHAT COMMAND...
	what=$1
	shift
	if "$@" >/dev/null 2>&1; then echo "ok      $what"; else echo "FAILED  $what" && failed=1; fi
}
is_clean() { [ -z "$(git status --porcelain)" ]; }
is_not_tagged() { ! git rev-parse -q --verify "refs/tags/v$version"; }
has_entry() { grep -q "^## $version" CHANGELOG.md; }
same_version() { grep -q "^version = \"$version\"" lab/python/Cargo.toml; }
is_small() { [ "$(stat -c %s "$program")" -le "$bytes_max" ]; }
docs_are_current() { cargo test -q -p fovea-report; }

step "the device's program has at most $bytes_max bytes" is_small
step "the work tree is clean" is_clean
step "v$version is not tagged" is_not_tagged
step "CHANGELOG.md has a section for $version" has_entry
step "the Python package has the same version" same_version
step "tables and pictures of the docs are those of docs/results" docs_are_current
cat <<END
left for a person:
  make test, make test-deep and make test-debian, green on this commit
  make bench, and docs/results from it: fovea lab report --docs docs
  git tag -s v$version -m "Fovea $version" && git archive --prefix=fovea-$version/ -o fovea-$version.tar.gz v$version
END
exit $failed
