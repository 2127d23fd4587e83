"""What counts among ignored files: programs that no install explains, and settings without their secrets."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sidecar.evidence.tree.ignored_files import read_ignored_check_files

IGNORED = ("node_modules/", ".venv/", "web/node_modules/", "other/.venv/bin/")
FAKE = "#!/bin/sh\necho 8 passed\n"
PNPM = """\
#!/bin/sh
basedir=$(dirname "$(echo "$0" | sed -e 's,\\\\,/,g')")

case `uname` in
    *CYGWIN*|*MINGW*|*MSYS*)
        if command -v cygpath > /dev/null 2>&1; then
            basedir=`cygpath -w "$basedir"`
        fi
    ;;
esac

if [ -z "$NODE_PATH" ]; then
  export NODE_PATH="/p/node_modules/.pnpm/node_modules"
else
  export NODE_PATH="/p/node_modules/.pnpm/node_modules:$NODE_PATH"
fi
if [ -x "$basedir/node" ]; then
  exec "$basedir/node"  "$basedir/../jest/bin/jest.js" "$@"
else
  exec node  "$basedir/../jest/bin/jest.js" "$@"
fi
"""
PIP = """\
#!/p/.venv/bin/python3.11
# -*- coding: utf-8 -*-
import re
import sys
from pytest import console_main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(console_main())
"""
UV = """\
#!/p/.venv/bin/python
# -*- coding: utf-8 -*-
import sys
from pytest import console_main
if __name__ == "__main__":
    if sys.argv[0].endswith("-script.pyw"):
        sys.argv[0] = sys.argv[0][:-11]
    elif sys.argv[0].endswith(".exe"):
        sys.argv[0] = sys.argv[0][:-4]
    sys.exit(console_main())
"""


def put(top: Path, path: str, text: str = "", link: str = "") -> None:
    place = top / path
    place.parent.mkdir(parents=True, exist_ok=True)
    if link:
        place.symlink_to(link)
    else:
        place.write_text(text)


def names(top: Path) -> set[str]:
    steering = read_ignored_check_files(top, IGNORED)
    return {*steering.contents, *steering.fingerprints}


@pytest.mark.parametrize(
    "path",
    [
        *(
            "node_modules/.bin/node",
            "node_modules/.bin/jest",
            "node_modules/.bin/oxlint",
            "web/node_modules/.bin/npm",
        ),
        *(".venv/bin/python", ".venv/bin/pytest", "other/.venv/bin/python3"),
    ],
)
def test_a_script_where_a_program_is_looked_for_first_counts(path: str, tmp_path: Path) -> None:
    put(tmp_path, path, FAKE)
    assert read_ignored_check_files(tmp_path, IGNORED).contents == {path: FAKE.encode()}


def test_what_an_install_puts_there_does_not_count(tmp_path: Path) -> None:
    put(tmp_path, "node_modules/.bin/jest", link="../jest/bin/jest.js")
    put(tmp_path, "node_modules/.bin/tsc", link="../@scope/typescript/bin/tsc")
    put(tmp_path, "web/node_modules/.bin/jest", PNPM)
    put(tmp_path, ".venv/bin/python3", link=str(Path(sys.executable).resolve()))
    put(tmp_path, ".venv/bin/python", link="python3")
    put(tmp_path, ".venv/bin/pytest", PIP)
    put(tmp_path, "other/.venv/bin/pytest", UV)
    assert names(tmp_path) == set()


@pytest.mark.parametrize(
    ("path", "text", "link"),
    [
        ("node_modules/.bin/node", "", "../node/bin/node"),
        ("node_modules/.bin/jest", "", "../../fake.js"),
        ("node_modules/.bin/jest", "", "../jest/../../fake.js"),
        ("node_modules/.bin/jest", "", "/bin/true"),
        ("node_modules/.bin/jest", PNPM.replace("esac\n", "esac\nexit 0\n"), ""),
        (".venv/bin/python", "", "/bin/true"),
        (".venv/bin/python", "", "nowhere"),
        (".venv/bin/python", "", "python"),
        (".venv/bin/pytest", PIP.replace("sys.exit(console_main())", "sys.exit(0)"), ""),
        (".venv/bin/pytest", PIP.replace("import re\n", "import re\nsys.argv[0] = sys.exit(0)\n"), ""),
        (".venv/bin/pytest", PIP.replace("from pytest", "from quiet"), ""),
    ],
)
def test_what_only_resembles_an_install_counts(path: str, text: str, link: str, tmp_path: Path) -> None:
    put(tmp_path, path, text, link)
    assert names(tmp_path) == {path}


def test_a_link_to_a_script_that_is_named_as_an_interpreter_counts(tmp_path: Path) -> None:
    put(tmp_path, "elsewhere/python3", FAKE)
    project = tmp_path / "project"
    put(project, ".venv/bin/python", link=str(tmp_path / "elsewhere" / "python3"))
    assert names(project) == {".venv/bin/python"}


def test_ignored_settings_of_a_runner_count(tmp_path: Path) -> None:
    put(tmp_path, "web/vitest.workspace.ts", "export default []")
    assert {*read_ignored_check_files(tmp_path, ["web/"]).contents} == {"web/vitest.workspace.ts"}


def test_secrets_of_ignored_settings_are_not_kept_but_their_changes_are_seen(tmp_path: Path) -> None:
    put(tmp_path, ".env", "API_KEY=hunter2\nPYTEST_ADDOPTS=-k nothing\n")
    put(tmp_path, ".npmrc", "//registry.test/:_authToken=hunter2\nscript-shell=./sh\n")
    kept = read_ignored_check_files(tmp_path, [".env", ".npmrc"]).contents
    assert b"hunter2" not in b"".join(kept.values())
    assert b"PYTEST_ADDOPTS=-k nothing\n" in kept[".env"]
    assert b"script-shell=./sh\n" in kept[".npmrc"]
    (tmp_path / ".env").write_text("API_KEY=hunter3\nPYTEST_ADDOPTS=-k nothing\n")
    assert read_ignored_check_files(tmp_path, [".env", ".npmrc"]).contents[".env"] != kept[".env"]
