#!/bin/sh
# Measures how many lines of the SDK its tests run; fails below 95 %. The generated modules count, too.
set -eu
cd "$(dirname "$0")/../.."
coverage run --source=tollhouse_sdk -m pytest -q tests/sdk "$@"
coverage report --fail-under=95
