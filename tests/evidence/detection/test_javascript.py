"""Which checks a JavaScript package offers: none of them waits for changes, and none makes any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.evidence.detection.detect import detect_gates
from support.projects import lay, offered


def package(**fields: Any) -> str:
    return json.dumps(fields)


def scripts(**texts: str) -> str:
    return package(scripts={name.replace("__", ":"): text for name, text in texts.items()})


BOTH = {"tests": "npm test", "tests:npm": "npm run test:unit"}


@pytest.mark.parametrize(
    "text",
    [
        *("true", ":", "exit 0", "echo TODO", 'echo "Error: no test specified" && exit 1', "npm run"),
        *("jest --help", "cat TESTING.md", "tsc -p .", "npm run build"),
    ],
)
def test_a_script_that_prints_or_compiles_is_no_test(text: str, tmp_path: Path) -> None:
    texts = scripts(test=text, test__unit="jest", build="tsc")
    assert offered(tmp_path, {"package.json": texts})["tests"] == "npm run test:unit"
    alone = offered(tmp_path, {"package.json": scripts(test=text, build="tsc")})
    assert alone.get("tests", "jest --ci") == "jest --ci"  # a tool that the script names


@pytest.mark.parametrize(
    "text",
    [
        *(
            "nyc mocha",
            "c8 node --test",
            "turbo run test",
            "nx run-many -t test",
            "lerna run test",
            "deno task test",
        ),
        *(
            "npm run verify -w a",
            "npm test --workspaces",
            "make -C sub verify",
            "gulp test",
            "bundle exec rspec",
        ),
        *(
            "docker compose run app",
            "ng test --watch=false",
            "npm-run-all test:*",
            "node all.js",
            "./all",
            "sh all.sh",
        ),
        *(
            "eslint . && $RUNNER",
            "if [ -f x ]; then jest; fi",
            "cross-env A=1 npx tsx all.ts",
            "python3 all.py",
        ),
        *("cd packages/a && npm test", "npm run build && npm run verify", "(jest)", "f() { jest; }; f"),
    ],
)
def test_a_script_that_may_test_is_the_tests(text: str, tmp_path: Path) -> None:
    texts = scripts(test=text, build="tsc", verify="gulp verify")
    assert offered(tmp_path, {"package.json": texts})["tests"] == "npm test"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"package.json": scripts(test="jest", build="vite build", lint="eslint .", typecheck="tsc")},
            {
                "tests": "npm test",
                "build": "npm run build",
                "lint": "npm run lint",
                "types": "npm run typecheck",
            },
        ),
        ({"package.json": scripts(coverage="c8 x")}, {"coverage": "npm run coverage"}),
        ({"package.json": scripts(test="node test.js")}, {"tests": "npm test"}),
        ({"package.json": scripts(test="bun test", lint="x")}, {"tests": "npm test", "lint": "npm run lint"}),
        ({"package.json": scripts(test="node test.js", test__unit="jest")}, BOTH),
        ({"package.json": scripts(test="mocha", test__unit="jest")}, {"tests": "npm test"}),
        ({"package.json": scripts(test="npm run test:unit", test__unit="jest")}, {"tests": "npm test"}),
        (
            {"package.json": scripts(test="jest", tsc="tsc"), "pnpm-lock.yaml": ""},
            {"tests": "pnpm test", "types": "pnpm run tsc"},
        ),
        (
            {"package.json": scripts(test="jest", build="x"), "yarn.lock": ""},
            {"tests": "yarn test", "build": "yarn run build"},
        ),
        ({"package.json": scripts(test="jest"), "bun.lockb": ""}, {"tests": "bun run test"}),
        (
            {"package.json": package(packageManager="pnpm@9.1.0", scripts={"test": "x"}), "yarn.lock": ""},
            {"tests": "pnpm test"},
        ),
        (
            {"package.json": package(packageManager="; rm -rf ~", scripts={"test": "x"})},
            {"tests": "npm test"},
        ),
        ({"package.json": scripts(test="vitest")}, {"tests": "CI=1 npm test"}),
        ({"package.json": scripts(test="vitest --coverage")}, {"tests": "CI=1 npm test"}),
        ({"package.json": scripts(test="npm run unit", unit="vitest")}, {"tests": "CI=1 npm test"}),
        ({"package.json": scripts(test="vitest run")}, {"tests": "npm test"}),
        ({"package.json": scripts(test="vitest --run")}, {"tests": "npm test"}),
        ({"package.json": scripts(test="react-scripts test")}, {"tests": "CI=true npm test"}),
        ({"package.json": scripts(test="ng test")}, {"tests": "npm test -- --watch=false"}),
        ({"package.json": scripts(test="ng test"), "yarn.lock": ""}, {"tests": "yarn test --watch=false"}),
        ({"package.json": scripts(test="karma start")}, {"tests": "npm test -- --single-run"}),
        ({"package.json": scripts(test="jest --watch")}, {"tests": "jest --ci"}),
        ({"package.json": scripts(test="vitest watch")}, {"tests": "vitest run"}),
        ({"package.json": scripts(test="x --watch", test__ci="x")}, {"tests": "npm run test:ci"}),
        ({"package.json": scripts(test="nodemon --exec x")}, {}),
        ({"package.json": scripts(test="x --watch=false")}, {"tests": "npm test"}),
        ({"package.json": scripts(test="npm test -w packages/a")}, {"tests": "npm test"}),
        ({"package.json": scripts(build="tsc -p . -w")}, {}),
        ({"package.json": scripts(lint="eslint . --fix")}, {}),
        ({"package.json": scripts(lint="eslint . --fix"), "eslint.config.mjs": ""}, {"lint": "eslint ."}),
        ({"package.json": scripts(lint="x"), "eslint.config.mjs": ""}, {"lint": "npm run lint"}),
        ({"package.json": package(devDependencies={"vitest": "1"})}, {"tests": "vitest run"}),
        ({"package.json": "{}", "vitest.config.ts": ""}, {"tests": "vitest run"}),
        ({"package.json": package(jest={})}, {"tests": "jest --ci"}),
        ({"package.json": package(devDependencies={"mocha": "1"})}, {"tests": "mocha"}),
        ({"package.json": "{}", "test/a.test.js": "import test from 'node:test'"}, {"tests": "node --test"}),
        ({"package.json": "{}", "src/a.test.ts": 'import {t} from "bun:test"'}, {"tests": "bun test"}),
        ({"package.json": "{}", "a.test.js": ""}, {}),
        ({"package.json": package(devDependencies={"eslint": "9"})}, {"lint": "eslint ."}),
        ({"package.json": package(eslintConfig={})}, {"lint": "eslint ."}),
        (
            {"package.json": "{}", "biome.jsonc": "", ".eslintrc.json": ""},
            {"lint": "eslint .", "lint:biome": "biome lint ."},
        ),
        (
            {"package.json": package(devDependencies={"jest": "1"}), ".pnp.cjs": ""},
            {"tests": "yarn run jest --ci"},
        ),
        ({"package.json": package(devDependencies={"typescript": "5"})}, {}),
        ({"package.json": "{}", "tsconfig.json": "{}"}, {}),
        (
            {"package.json": package(devDependencies={"typescript": "5"}), "tsconfig.json": "{}"},
            {"types": "tsc --noEmit -p ."},
        ),
        (
            {"package.json": package(devDependencies={"vue-tsc": "2"}), "tsconfig.json": "{}"},
            {"types": "vue-tsc --noEmit -p ."},
        ),
    ],
)
def test_scripts_come_first_then_tools(
    files: dict[str, str], expected: dict[str, str], tmp_path: Path
) -> None:
    assert offered(tmp_path, files) == expected


def test_a_tsconfig_that_names_no_files_means_those_beside_it(tmp_path: Path) -> None:
    config = """{ // of a vite project
        "files": [], /* nothing here */
        "references": [{"path": "./tsconfig.app.json"}, {"path": "tsconfig.a b.json",},
                       {"path": "./packages/a"},],
    }"""
    files = {
        "package.json": package(devDependencies={"typescript": "5"}),
        "tsconfig.json": config,
        "tsconfig.app.json": "{}",
        "tsconfig.a b.json": "{}",
    }
    line = "tsc --noEmit -p ./tsconfig.app.json && tsc --noEmit -p './tsconfig.a b.json'"
    assert offered(tmp_path, files) == {"types": line}


def test_a_tsconfig_that_only_refers_to_folders_is_built_and_not_checked(tmp_path: Path) -> None:
    config = '{"files": [], "references": [{"path": "./packages/a"}, 1, {"path": 2}]}'
    files = {"package.json": package(devDependencies={"typescript": "5"}), "tsconfig.json": config}
    assert offered(tmp_path, files) == {}


def test_the_scripts_that_a_script_runs_stand_behind_it(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "package.json": scripts(
                test="npm run unit && x", unit="jest", pretest="build-it", other="rm -rf /"
            )
        },
    )
    (gate,) = detect_gates(tmp_path, {})
    assert gate.behind == "npm run unit && x\nbuild-it\njest"
    assert gate.why == "package.json has the script test: `npm run unit && x`"


def test_a_long_script_shows_its_beginning_and_a_digest_of_all(tmp_path: Path) -> None:
    behind = []
    for end in ("a", "b"):
        lay(tmp_path, {"package.json": scripts(test="x" * 9000 + end)})
        behind.append(detect_gates(tmp_path, {})[0].behind)
    assert behind[0] != behind[1]
    assert all(len(text) < 4200 for text in behind)


def test_the_reason_is_one_short_line_whatever_the_script_holds(tmp_path: Path) -> None:
    lay(tmp_path, {"package.json": scripts(test="a\n\x1b[31m" + "b" * 500)})
    (gate,) = detect_gates(tmp_path, {})
    assert gate.why.isprintable()
    assert len(gate.why) < 160
