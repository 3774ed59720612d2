# What we do all day. `just check --all` is what lands.

set positional-arguments

# Tests start many processes: without compiled files each would compile every module again.
export PYTHONDONTWRITEBYTECODE := ""
# With more room for new objects, a sixth of the type checker's time for its garbage is saved.
types := "NODE_OPTIONS=--max-semi-space-size=128 basedpyright --warnings"

# What must hold: format, lint, layers, types beside the tests. `just check --all` runs the long tests, too, models at full length,
# and reads the types of the tests.
check *args:
    just lint && just layers && {{types}} {{ if args =~ "--all" { "" } else { "src sdk examples" } }} & read=$!; just test "$@"; tests=$?; wait $read && exit $tests

# Format and lint.
lint:
    ruff format --check src tests chaos benchmarks sdk examples
    ruff check src tests chaos benchmarks sdk examples

# Types, strictly.
types:
    {{types}}

# Who may import whom.
layers:
    lint-imports --no-cache

# The tests, or the ones named, in three processes, since tests wait for browsers and processes. `--all`: also the long ones.
test *args:
    python -m pytest -n 3 --dist loadgroup "$@"

# The tests, or the ones named, and how much processor time those of each folder take.
cost *args:
    python -m pytest -n 3 --dist loadgroup -p tests.processor_time "$@"

# The tests, or the ones named, with every service behind PgBouncer in transaction mode.
pooler *args:
    THROUGH_POOLER=1 pytest -n 3 --dist loadgroup "$@"

# The tests, or the ones named, as if it were 15 December 2026 and 1 February 2027.
dates *args:
    scripts/dates -n 3 --dist loadgroup "$@"

# Lint, types and the tests that matter most, in a minute.
quick:
    ruff format --check src tests chaos benchmarks sdk examples
    ruff check src tests chaos benchmarks sdk examples
    {{types}} & types=$!; pytest -q -x tests/test_tidy.py tests/test_language.py tests/kernel tests/ledger/books/test_post.py tests/journeys/test_get_paid.py; tests=$?; wait $types && exit $tests

# Put code into our format.
fmt:
    ruff format src tests chaos benchmarks sdk examples
    ruff check --fix src tests chaos benchmarks sdk examples

# Run everything here, on the embedded database.
run *args:
    tollhouse serve "$@"

# Write docs/routes.txt and schema.sql anew.
records:
    python -m tests.records

# Print the SQL statements of a package, ready for psql: `just sql payment_links`.
sql *packages:
    python -m tests.sql "$@"

# Bring the catalogues of texts up to date, and list what is still to be translated.
texts *args:
    python -m tests.texts "$@"

# Record the database of a release for tests/upgrades, before its number is published: `just release-data 0.3.0`.
release-data version:
    python -m tests.upgrades.record "$1"

# Resolve the dependencies anew.
lock:
    scripts/lock

# Make every journey in each theme and width, and take the pictures; `just test` makes each once.
looks *args:
    TOLLHOUSE_EVERY_LOOK=1 pytest -m browser "$@"

# Take the README's pictures from the last run of `just looks`.
pictures:
    cp tests/pictures/consent-light-1280.png docs/pictures/consent.png
    cp tests/pictures/checkout-pending-light-1280.png docs/pictures/checkout.png

# Measure requests beside their floor; `--quick` takes two minutes, `--markdown` prints the tables of docs/performance.md.
bench *args:
    python -m benchmarks "$@"

# Run a chaos experiment, such as `just chaos kills`; `--quick` is a short run.
chaos *args:
    python -m chaos "$@"
