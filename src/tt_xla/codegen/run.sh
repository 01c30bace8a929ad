#!/usr/bin/env bash
# Runs main.py with an interpreter that has ttnn: TTXLA_TTNN_PYTHON if it is set, otherwise python3. Where tt_xla is
# installed and ttnn is not, the program runs on an emulated card.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
python=${TTXLA_TTNN_PYTHON:-python3}
if ! "$python" -c 'import sys, importlib.util as u; sys.exit(not any(map(u.find_spec, ["ttnn", "tt_xla"])))'; then
  echo "run: $python has no ttnn and no tt_xla. Set TTXLA_TTNN_PYTHON to an interpreter that has one of them." >&2
  exit 1
fi
echo "Running main.py..."
exec "$python" main.py "$@"
