#!/usr/bin/env bash
# Build source archive and wheel of the last commit: build_dist.sh FOLDER ENVIRONMENT.
# The same commit gives the same bytes. setuptools leaves the time of building in a source archive,
# so that is packed anew; the wheel is made from it.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
python=$(cd "$2/bin" && pwd)/python
export SOURCE_DATE_EPOCH LC_ALL=C
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

mkdir "$tmp"/{tree,raw,packed}
git archive HEAD | tar -xC "$tmp/tree"
"$python" -P -m build --no-isolation --sdist --outdir "$tmp/raw" "$tmp/tree" > "$tmp/log" 2>&1 \
    || { cat "$tmp/log" >&2; exit 1; }
tar -xzf "$tmp"/raw/*.tar.gz -C "$tmp/packed"
name=$(ls "$tmp/packed")
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --format=gnu -C "$tmp/packed" -c "$name" | gzip -9n > "$out/$name.tar.gz"
"$python" -P -m build --no-isolation --wheel --outdir "$out" "$tmp/packed/$name" > "$tmp/log" 2>&1 \
    || { cat "$tmp/log" >&2; exit 1; }
