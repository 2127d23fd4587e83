"""The words by which tests, skips and expectations are known where no parser is at hand."""

from __future__ import annotations

import re
from typing import Final

DECLARED: Final = (
    re.compile(r"\s*(?:async )?def (?P<name>test\w*)\b"),  # Python, Ruby's minitest
    re.compile(
        r"\s*(?P<head>[xf]?(?:it|specify|test|scenario|example)|its?|(?:pending|skip)(?=.{1,300}(?:do|\{)\s*$))"
        r"[ (]\s*(?P<q>[\"'])(?P<name>.+?)(?P=q)"
    ),
    re.compile(
        r"\s*(?:(?:public|private|internal|open|suspend|final|static) ){0,5}"
        r"(?:fun|func|function) `?(?P<name>test\w*)"
    ),
    re.compile(r"\s*(?P<head>test|property|feature) (?P<q>\")(?P<name>.+?)(?P=q)"),  # Elixir
    re.compile(r"\s*@test (?P<q>[\"'])(?P<name>.+?)(?P=q)"),  # bats
    re.compile(r"\s*(?P<head>TEST(?:_[FP])?|TEST_CASE|BOOST_AUTO_TEST_CASE)\((?P<name>[^)]{1,200})"),  # C++
    re.compile(r"(?P<name>test_\w+)\(\)"),  # shell
    re.compile(r"\s*\(deftest (?P<name>\S+)"),  # Clojure
    re.compile(r"\s*It (?P<q>[\"'])(?P<name>.+?)(?P=q)"),  # Pester
)
"""Lines that declare a test by themselves."""
MARK: Final = re.compile(
    r"\s*(?:@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest)\b"
    r"|\[(?:\w+[.:])*(?:Fact|Theory|Test|TestMethod|TestCase|DataTestMethod)\b"
    r"|#\[(?:\w+\\)*(?:Test|DataProvider)\b|/?\*+ @test\b)"
)
"""Lines that make the next function a test."""
FUNCTION: Final = re.compile(
    r"[^=;]{0,100}?\b(?:fun|func|function|void|Task|def)\b[^=(]{0,60}?[ `](?P<name>[^\s(`][^(`]{0,150})`? ?\("
)
SKIP: Final = re.compile(
    r"\s*(?:@(?:\w+\.)*(?:Disabled|Ignore|Enabled)\w*|@tag :?(?:skip|pending)|@moduletag :?skip|@skip"
    r"|\[(?:Ignore|Explicit)|#\[(?:Ignore|RequiresP)|(?:skip|pending|omit)(?:[ (]|$)"
    r"|\$this->markTest(?:Skipped|Incomplete)|self\.skipTest|pytest\.(?:skip|xfail)"
    r"|@(?:pytest\.mark|unittest)\.(?:skip|xfail|expected)|Assert\.(?:Ignore|Inconclusive|Skip)\("
    r"|throw XCTSkip|XCTSkip|XCTExpectFailure|GTEST_SKIP|Set-ItResult -Skipped)"
)
"""Lines that skip the test that they stand above or in."""
SKIP_INSIDE: Final = re.compile(
    r"\b(?:Fact|Theory|Test|TestMethod)\([^)]*(?:Skip|Ignore) ?=|, ?(?:skip|pending): ?(?!false|nil)"
    r"|(?<![\w:]):(?:skip|pending)\b|-Skip\b"
)
"""The same, as a part of the declaration."""
FOCUS: Final = re.compile(
    r"\s*(?:f(?:it|describe|context|specify|test|scenario)|it\.only|describe\.only)\b"
    r"|.*(?:, ?focus: ?true|(?<![\w:]):focus\b)"
)
OFF: Final = re.compile(r"x(?:it|describe|context|specify|test|scenario)|pending|skip")
"""Words that declare a test and skip it."""
ASSERTS: Final = re.compile(
    r"\b(?:[aA]ssert\w*|expect\w*|EXPECT_\w+|ASSERT_\w+|refute\w*|[sS]hould\w*|must_\w+|wont_\w+|verify\w*"
    r"|flunk|fail|CHECK\w*|REQUIRE\w*|XCTAssert\w*|XCTFail|raise_error|throw_error)\b"
)
VOID: Final = re.compile(
    r"\b(?:assert\w*[ (]+true\b|expect\((?:true|1)\)\.to[ (.](?:be|eq)[ (_]*(?:true|1|truthy)?"
    r"|assertTrue\(true\)|Assert\.(?:True|IsTrue)\(true\)"
    r"|(?:assert\w*|Assert\.\w+)[ (]+(?P<a>\w+), ?(?P=a)\)?;?$|assert (?P<b>[\w.]+) == (?P=b)$)",
    re.IGNORECASE,
)
"""Expectations that cannot fail."""
COMMENT: Final = re.compile(r"\s*(?:#(?!\[)|//|\*(?! @test)|--|;;)")
GROUP: Final = re.compile(r"\s*(?P<skip>[xf]?)(?:describe|context|feature)\b")
CLASS: Final = re.compile(
    r"\s*(?:(?:public|internal|open|sealed|abstract|final|partial|data) ){0,5}"
    r"(?:class|object|struct|defmodule) \w"
)
