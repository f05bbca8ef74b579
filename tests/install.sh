#!/usr/bin/env bash
# install.sh PYTHON ARGUMENT...: do what `PYTHON -m pip install ARGUMENT...` does, with uv, which takes
# half of pip's time, its own installation included. uv does not read pip's configuration: where packages come from is passed on.
# Where uv is not to be had, or fails, pip installs.
set -euo pipefail
python=$1
shift

pip() { "$1" -P -m pip "${@:2}" -q --disable-pip-version-check --no-input; }

# Print a setting of pip, from its files or its environment; several values are parted by spaces.
setting() {
    "$python" -P -m pip config list | sed -nE "s/^(global|install|:env:)\.$1='(.*)'$/\2/p" | sed 's/\\n/ /g' | xargs
}

with_uv() {
    [ -x .venv/bin/uv ] || pip .venv/bin/python install --no-compile -c constraints.txt uv || return
    local index more folders certificate
    index=$(setting index-url) more=$(setting extra-index-url)
    folders=$(setting find-links) certificate=$(setting cert)
    # As pip does, uv is to take the best version of all indexes.
    env ${index:+UV_DEFAULT_INDEX="$index"} ${more:+UV_INDEX="$more"} \
        ${folders:+UV_FIND_LINKS="${folders// /,}"} ${certificate:+SSL_CERT_FILE="${certificate%% *}"} \
        UV_INDEX_STRATEGY=unsafe-best-match UV_LINK_MODE=copy \
        .venv/bin/uv pip install -q --python "$python" "$@"
}

with_uv "$@" || {
    echo "uv did not install, pip does" >&2
    pip "$python" install --no-compile "$@"
}
