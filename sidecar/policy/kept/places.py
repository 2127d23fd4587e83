"""Places where a project keeps neither tests nor code of its own, by the customs of the tools."""

from __future__ import annotations

import re

OF_NO_CODE = re.compile(
    r"(?i)(?:^|[/*\\\"'.])_*(?:tests?|specs?|conftest|setup|setup\.py|__main__|version|_version"
    r"|noxfile)_*(?:[/*.\\$\"']|$)|^tests?_"
)
"""What nobody measures."""
NO_TESTS_THERE = re.compile(
    r"(?:^|[/.*^(|\\\"'>])[._]*(?:node_modules|build|dist|out|target|vendor|v?env|virtualenv|site-packages"
    r"|pycache|eggs?|egg-info|tox|nox|git|hg|svn|idea|vscode|cache|\w+_cache|coverage|htmlcov|next|nuxt|turbo"
    r"|fixtures?|docs?|\{arch\}|CVS|darcs|bzr|storybook|migrations|generated|mocks|testdata)_*(?:$|[/.*\\\"'$)])"
    r"|^\.\*$|^/?\.[\w*]+/?$|^conftest\.py$"
)
A_TEST = re.compile(r"(?:test_|_test|\.test|\.spec|_spec|Test)\w*(?:\.\w+)*\W*$|::")
MADE = re.compile(
    r"(?:^|[/.*^(|])(?:gen|public|third_party|storybook-static)(?:$|[/.*])|_pb2|\.min\.|\.d\.ts$|\.gen\."
)
NEVER_RUN = re.compile(
    r"TYPE_CHECKING|NotImplementedError|__name__|abstractmethod|overload|assert_never|no\s?cover|Protocol"
    r"|__repr__|\bpass\b|^\\?\.|^(?:if|class|def|raise|pragma)|^[@:\\(]"
)
"""A pattern, or a word of one, for lines that never run by nature."""


def holds_no_tests(word: str) -> bool:
    """Whether no project keeps tests or code of its own there."""
    return bool(NO_TESTS_THERE.search(word)) and not A_TEST.search(word)


def is_never_measured(word: str) -> bool:
    """Whether nobody measures the coverage of a place, or of a line that a pattern names."""
    return bool(OF_NO_CODE.search(word) or NEVER_RUN.search(word))


def is_not_linted(word: str) -> bool:
    """Whether what stands there was written by others, or by a machine."""
    return bool(NO_TESTS_THERE.search(word) or MADE.search(word))
