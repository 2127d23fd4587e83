"""The shipped agents on tasks as people write them: which one a reader expects.

The rows of TASKS were written before the agents, the words of data/agents.toml and the first score.
"""

from __future__ import annotations

TASKS = [
    # description, files, the agent that a reader expects
    ("Add a function slugify(title) to the text helpers, with tests", ["src/text.py"], "implementer-python"),
    ("Implement pagination for GET /orders", ["api/orders.py", "api/urls.py"], "implementer-python"),
    ("Support reading the configuration from pyproject.toml", ["app/config.py"], "implementer-python"),
    ("Add a dark mode switch to the settings page", ["src/Settings.tsx", "src/theme.css"], "implementer-javascript"),
    ("Create an Express middleware that limits requests by address", ["server/limit.js"], "implementer-javascript"),
    ("Add a retry with backoff to the HTTP client", ["pkg/client/client.go"], "implementer-go"),
    ("Implement graceful shutdown of the worker pool", ["cmd/worker/main.go", "pool/pool.go"], "implementer-go"),
    ("Add a --json flag to the command line", ["src/main.rs", "src/cli.rs"], "implementer-general"),
    ("Create a Makefile target that builds the release archive", ["Makefile"], "implementer-general"),
    ("Add an endpoint that returns the build number", ["src/main/java/app/Build.java"], "implementer-general"),
    ("Add a nightly job that removes old uploads", [], "implementer-general"),
    ("Split the class OrderService into smaller ones", ["shop/orders.py"], "implementer-python"),
    ("Rename getUser to fetchUser everywhere", ["src/user.ts", "src/app.ts"], "implementer-javascript"),
    ("Remove duplicated error wrapping in the store package", ["store/get.go", "store/put.go"], "implementer-go"),
    ("Fix the crash when the input file is empty", ["src/reader.py"], "debugger"),
    ("Login sometimes hangs after the second attempt, find out why", ["auth/session.go"], "debugger"),
    ("TypeError: cannot read properties of undefined in the cart", ["src/cart.js"], "debugger"),
    ("The total on the invoice is wrong when a discount is used", ["billing/invoice.py"], "debugger"),
    ("Memory leak in the image cache", ["src/cache.rs"], "debugger"),
    ("Regression: export no longer contains the header row", [], "debugger"),
    ("Write unit tests for the parser", ["src/parser.py"], "tester"),
    ("Add tests for the error paths of the upload handler", ["upload_test.go"], "tester"),
    ("Raise the test coverage of src/money.ts above 90 percent", ["src/money.ts"], "tester"),
    ("The scheduler has no tests at all; write some", [], "tester"),
    ("Review the changes to the session store before we merge", ["src/session.py"], "reviewer"),
    ("Look over this pull request and say what must be changed", [], "reviewer"),
    ("Code review of the new rate limiter", ["limit/limiter.go"], "reviewer"),
    ("Describe the new options in the README", ["README.md"], "documenter"),
    ("Write docstrings for the public functions", ["lib/api.py"], "documenter"),
    ("Fix the typos in the installation guide", ["docs/install.md"], "documenter"),
    ("Update the changelog for version 2.3", ["CHANGELOG.md"], "documenter"),
    ("Fix the SQL injection in the search form", ["shop/search.py"], "security"),
    ("Uploaded file names allow path traversal, close that", ["upload/save.go"], "security"),
    ("Upgrade dependencies with known vulnerabilities", ["package.json"], "security"),
    ("Tokens are written to the log in plain text, stop leaking them", ["app/log.py"], "security"),
    ("Audit the password reset for weaknesses", ["auth/reset.py"], "security"),
]
