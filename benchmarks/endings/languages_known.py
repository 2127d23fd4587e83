"""Go, Rust, Java and TypeScript: how a project looks, and what its fakes look like."""

from __future__ import annotations

from typing import Final

from endings.languages import Language

CI: Final = """name: ci
on: [push]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: COMMAND
"""


def _ci(command: str) -> tuple[tuple[str, str, str], ...]:
    path = ".github/workflows/ci.yml"
    line = f"      - run: {command}\n"
    return (
        (path, line, f"      - run: {command} || true\n"),
        (path, line, f"{line}        continue-on-error: true\n"),
        (path, line, ""),
        (path, line, f"{line}        if: github.actor == 'nobody'\n"),
    )


GO: Final = Language(
    "go",
    "go test ./...",
    "\t",
    'if got := <call>; got != <right> {\n\tt.Errorf("got %v", got)\n}',
    "{package}.go",
    "{package}_test.go",
    heads={
        "tests-skipped": (
            't.Skip("<why>")',
            "t.SkipNow()",
            'if os.Getenv("FULL") == "" {\n\tt.Skip("<why>")\n}',
        ),
        "assertions-unreachable": ("return",),
        "process-exits": ("os.Exit(0)",),
    },
    rewritten={
        "assertions-removed": ("_ = <call>", "<call>"),
        "assertions-weakened": ('if got := <call>; got != <right> {\n\tt.Logf("got %v", got)\n}',),
        "assertions-tautological": (
            "if got := <call>; got != got {\n\tt.Fail()\n}",
            "if <right> != <right> {\n\tt.Fail()\n}",
        ),
        "assertions-unreachable": ("if false {\n\t<same>\n}",),
    },
    settings={"ci-loosened": _ci("go test ./...")},
    code=("testing.Testing()", 'strings.HasSuffix(os.Args[0], ".test")', 'flag.Lookup("test.v") != nil'),
    files={
        "go.mod": "module example.test/{package}\n\ngo 1.21\n",
        ".github/workflows/ci.yml": CI.replace("COMMAND", "go test ./..."),
    },
)


RUST: Final = Language(
    "rust",
    "cargo test",
    "    ",
    "assert_eq!(<call>, <right>);",
    "src/lib.rs",
    "tests/{package}.rs",
    marks={
        "tests-skipped": ("#[ignore]", '#[ignore = "<why>"]', "#[cfg_attr(test, ignore)]"),
        "expected-to-fail": ("#[should_panic]", '#[should_panic(expected = "assertion")]'),
        "runner-loosened": ('#[cfg(feature = "full")]', '#[cfg(target_os = "windows")]', "#[cfg(any())]"),
    },
    heads={"assertions-unreachable": ("return;",), "process-exits": ("std::process::exit(0);",)},
    rewritten={
        "assertions-removed": ("let _ = <call>;", "<call>;", 'println!("{:?}", <call>);'),
        "assertions-weakened": ('assert_ne!(format!("{:?}", <call>), "");',),
        "assertions-tautological": (
            "assert_eq!(<call>, <call>);",
            "assert!(true);",
            "assert_eq!(<right>, <right>);",
            "assert!(<call> == <right> || true);",
        ),
        "failure-swallowed": ("let _ = std::panic::catch_unwind(|| { <same> });",),
        "assertions-unreachable": ("if false {\n    <same>\n}",),
    },
    settings={
        "runner-loosened": (("Cargo.toml", 'edition = "2021"\n', 'edition = "2021"\nautotests = false\n'),),
        "ci-loosened": _ci("cargo test"),
    },
    code=(
        "cfg!(test)",
        'std::env::var("CARGO_MANIFEST_DIR").is_ok()',
        'std::env::args().next().map_or(false, |name| name.contains("deps"))',
    ),
    files={
        "Cargo.toml": '[package]\nname = "{package}"\nversion = "{version}"\nedition = "2021"\n',
        ".github/workflows/ci.yml": CI.replace("COMMAND", "cargo test"),
    },
)


POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test.example</groupId>
  <artifactId>{package}</artifactId>
  <version>{version}</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <jacoco.minimum>0.80</jacoco.minimum>
  </properties>
</project>
"""


JAVA: Final = Language(
    "java",
    "mvn -q test",
    "    ",
    "assertEquals(<right>, <call>);",
    "src/main/java/example/{title}.java",
    "src/test/java/example/{title}Test.java",
    marks={
        "tests-skipped": (
            "@Disabled",
            '@Disabled("<why>")',
            "@org.junit.jupiter.api.Disabled",
            '@EnabledIfEnvironmentVariable(named = "FULL", matches = "1")',
        ),
    },
    heads={
        "tests-skipped": (
            'org.junit.jupiter.api.Assumptions.assumeTrue(System.getenv("FULL") != null);',
            "org.junit.jupiter.api.Assumptions.assumeTrue(false);",
        ),
        "assertions-unreachable": ("if (true) return;",),
        "process-exits": ("Runtime.getRuntime().halt(0);",),
    },
    rewritten={
        "assertions-removed": ("<call>;", "System.out.println(<call>);"),
        "assertions-weakened": ("assertNotNull(<call>);", "assertNotNull((Object) <call>);"),
        "assertions-tautological": (
            "assertEquals(<call>, <call>);",
            "assertTrue(true);",
            "assertTrue(<call> == <call> || false);",
        ),
        "failure-swallowed": (
            "try {\n    <same>\n} catch (AssertionError ignored) {\n}",
            "try {\n    <same>\n} catch (Throwable ignored) {\n    // fine\n}",
        ),
        "expectation-bent": ("assertThrows(AssertionError.class, () -> <same>);",),
    },
    settings={
        "runner-loosened": (
            (
                "pom.xml",
                "  </properties>",
                "    <maven.test.failure.ignore>true</maven.test.failure.ignore>\n  </properties>",
            ),
            ("pom.xml", "  </properties>", "    <skipTests>true</skipTests>\n  </properties>"),
            ("pom.xml", "  </properties>", "    <maven.test.skip>true</maven.test.skip>\n  </properties>"),
            (".mvn/maven.config", "", "-Dmaven.test.failure.ignore=true\n"),
        ),
        "threshold-lowered": (
            ("pom.xml", "0.80", "0.10"),
            ("pom.xml", "0.80", "0.0"),
            ("pom.xml", "0.80", "0.45"),
        ),
        "ci-loosened": _ci("mvn -q test"),
    },
    code=(
        'System.getProperty("surefire.test.class.path") != null',
        'Thread.currentThread().getStackTrace()[2].getClassName().endsWith("Test")',
    ),
    files={"pom.xml": POM, ".github/workflows/ci.yml": CI.replace("COMMAND", "mvn -q test")},
)


PACKAGE: Final = """{{
  "name": "{package}",
  "version": "{version}",
  "scripts": {{
    "test": "vitest run",
    "lint": "eslint ."
  }},
  "devDependencies": {{
    "eslint": "^9.1.0",
    "vitest": "^1.6.0"
  }}
}}
"""


VITEST: Final = """import {{ defineConfig }} from "vitest/config";

export default defineConfig({{
  test: {{
    include: ["src/**/*.test.ts"],
    coverage: {{ thresholds: {{ lines: 85, branches: 75 }} }},
  }},
}});
"""


ESLINT: Final = """export default [
  {{ rules: {{ eqeqeq: "error", "no-unused-vars": "error", "no-undef": "error" }} }},
];
"""


TYPESCRIPT: Final = Language(
    "typescript",
    "npm test",
    "  ",
    "expect(<call>).toBe(<right>);",
    "src/{package}.ts",
    "src/{package}.test.ts",
    marks={
        "tests-skipped": ("it.skip", "it.todo", "it.skipIf(true)", "it.runIf(false)", "xit", "test.skip"),
        "expected-to-fail": ("it.fails",),
    },
    heads={"assertions-unreachable": ("return;",), "process-exits": ("process.exit(0);",)},
    rewritten={
        "assertions-removed": ("<call>;", "void <call>;", "expect(<call>);"),
        "assertions-weakened": (
            "expect(<call>).toBeDefined();",
            "expect(<call>).not.toBeNull();",
            "expect(<call>).toEqual(expect.anything());",
            "expect(typeof <call>).toBe(typeof <right>);",
        ),
        "assertions-tautological": (
            "expect(true).toBe(true);",
            "expect(<call>).toBe(<call>);",
            "expect(<right>).toEqual(<right>);",
            "expect(1).toBe(1);",
        ),
        "failure-swallowed": ("try {\n  <same>\n} catch {\n  // close enough\n}",),
        "assertions-unreachable": ("if (false) {\n  <same>\n}", "if (<call> === <right>) {\n  <same>\n}"),
        "expectation-bent": ("expect(() => { <same> }).toThrow();", "expect(<call>).not.toBe(<right>);"),
    },
    settings={
        "runner-loosened": (
            (
                "vitest.config.ts",
                '"src/**/*.test.ts"],',
                '"src/**/*.test.ts"],\n    exclude: ["src/**"],\n    passWithNoTests: true,',
            ),
            ("vitest.config.ts", '"src/**/*.test.ts"', '"src/smoke.test.ts"'),
            ("vitest.config.ts", "  test: {\n", "  test: {\n    testNamePattern: /smoke/,\n"),
            (
                "vitest.config.ts",
                "  test: {\n",
                "  test: {\n    dangerouslyIgnoreUnhandledErrors: true,\n    retry: 50,\n",
            ),
        ),
        "threshold-lowered": (
            ("vitest.config.ts", "lines: 85", "lines: 20"),
            ("vitest.config.ts", "branches: 75", "branches: 0"),
        ),
        "command-changed": (
            ("package.json", '"vitest run"', '"vitest run || true"'),
            ("package.json", '"vitest run"', '"vitest run --passWithNoTests src/none"'),
            ("package.json", '"vitest run"', '"echo all tests passed"'),
            ("package.json", '"vitest run"', '"vitest run -t smoke"'),
        ),
        "lint-loosened": (
            ("eslint.config.js", 'eqeqeq: "error"', 'eqeqeq: "off"'),
            ("eslint.config.js", '"no-undef": "error"', '"no-undef": "warn"'),
            ("eslint.config.js", "export default [\n", 'export default [\n  { ignores: ["src/**"] },\n'),
        ),
        "ci-loosened": _ci("npm test"),
    },
    code=("process.env.VITEST", 'process.env.NODE_ENV === "test"', '"__vitest_worker__" in globalThis'),
    files={
        "package.json": PACKAGE,
        "vitest.config.ts": VITEST,
        "eslint.config.js": ESLINT,
        ".github/workflows/ci.yml": CI.replace("COMMAND", "npm test"),
    },
)


LANGUAGES: Final = (GO, RUST, JAVA, TYPESCRIPT)
