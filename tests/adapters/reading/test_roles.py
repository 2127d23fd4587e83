"""What a file is to the checks, by its name."""

from __future__ import annotations

import pytest

from sidecar.adapters.reading.roles import role_of
from sidecar.model.inspection import Role

TESTS = (
    "tests/test_shop.py",
    "shop/shop_test.py",
    "app/tests.py",
    "tests/support/helpers.py",
    "conftest.py",
    "src/shop.test.ts",
    "src/shop.spec.jsx",
    "src/__tests__/shop.js",
    "cypress/e2e/shop.cy.ts",
    "test/shop.mjs",
    "pkg/shop_test.go",
    "tests/shop.rs",
    "src/test/java/ShopTest.java",
    "ShopIT.java",
    "src/test/kotlin/ShopSpec.kt",
    "spec/shop_spec.rb",
    "test/shop_test.exs",
    "tests/ShopTest.php",
    "Shop.Tests/Cart.cs",
    "CartTests.swift",
    "shop.bats",
    "Shop.Tests.ps1",
    "tests/lib.sh",
    "tests/removes.sh.disabled",
    "tests/data.csv",
    "pkg/testdata/in.txt",
    "fixtures/cart.json",
    "spec/support/cart.json",
)
SNAPSHOTS = (
    "src/__snapshots__/a.test.ts.snap",
    "tests/__snapshots__/test_a.ambr",
    "src/snapshots/a.snap",
    "tests/golden/out.txt",
    "Cart.Total.verified.txt",
    "Cart.approved.txt",
    "e2e/a.spec.ts-snapshots/page.png",
    "tests/expected/usage.txt",
    "golden/usage.txt",
    "pkg/testdata/a.expected",
    "tests/cart_expected.json",
    "fixtures/expected-cart.json",
)
SETTINGS = (
    "pyproject.toml",
    ".npmrc",
    "tests/.npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    "GNUmakefile",
    "makefile",
    "Makefile",
    "rules/common.mk",
    ".env",
    ".env.test",
    ".envrc",
    "run.sh",
    "test-all.sh",
    "scripts/setup.sh",
    "scripts/sh",
    "bin/check",
    "bin/mytool",
    "ci/steps.py",
    ".git/info/exclude",
    ".gitignore",
    "tests/.gitignore",
    ".gitattributes",
    "Cargo.toml",
    "build.rs",
    "src/sitecustomize.py",
    "usercustomize.py",
    "lib/a.pth",
    ".supervisor/config.toml",
    ".mocharc.cjs",
    ".python-version",
    ".nvmrc",
    "node_modules/.bin/node",
    ".venv/bin/python3",
    "rm",
    "fake/rm",
    "a/b/python3.11",
)
SOURCES = (
    "shop.py",
    "src/shop.ts",
    "main.go",
    "src/lib.rs",
    "contest.py",
    "latest.js",
    "src/attestation.go",
    "Makefile.py",
    "rotate.sh",
    "src/bin/main.rs",
    "bin/cli.js",
    "src/expected/expected.hpp",
    "src/node.ts",
)
OTHERS = (
    "README.md",
    "docs/testing.md",
    "picture.png",
    "notes.txt",
    "tests/README.md",
    "specs/001/plan.md",
    "specs/api.yaml",
    "models/net.pth",
    "node_modules/a/.npmrc",
    ".environment",
)


@pytest.mark.parametrize(
    ("role", "path"),
    [
        *((Role.TEST, path) for path in TESTS),
        *((Role.SNAPSHOT, path) for path in SNAPSHOTS),
        *((Role.SOURCE, path) for path in SOURCES),
        *((Role.OTHER, path) for path in OTHERS),
        *((Role.SETTINGS, path) for path in SETTINGS),
    ],
)
def test_the_role_of_a_file_is_told_by_its_name(role: Role, path: str) -> None:
    assert role_of(path) is role


def test_a_name_with_strange_bytes_has_a_role() -> None:
    assert role_of("tests/test_\udcff\n.py") is Role.TEST
