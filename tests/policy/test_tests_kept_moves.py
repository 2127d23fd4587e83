"""Tests over a whole change: moved, renamed and deleted files, code that went with its tests, snapshots."""

from __future__ import annotations

import ast
from textwrap import dedent

from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.adapters.reading.changes import read
from sidecar.model.finding import Change, Weight
from sidecar.model.inspection import Changes, FileChange
from sidecar.policy.kept.tests import findings
from support.kept import found, said

SHOP = """
from shop import total, tax


def test_total(cart):
    assert total(cart) == 5
    assert total(cart).currency == "EUR"


def test_tax(cart):
    rate = tax(cart)
    assert rate == 0.5
"""
OLD_CODE = "def discount(cart):\n    return 1\n\ndef total(cart):\n    return 5\n"
DISCOUNT = "from shop import discount\n\ndef test_discount(cart):\n    assert discount(cart) == 1\n"


def test_a_moved_file_changes_nothing() -> None:
    assert not found({"tests/test_a.py": SHOP}, {"tests/unit/test_b.py": SHOP})


def test_a_moved_file_that_is_known_as_moved_changes_nothing() -> None:
    change = FileChange(path="tests/unit/test_b.py", old_path="tests/test_a.py", before=SHOP, after=SHOP)

    assert not findings(read(Changes(files=(change,))))


def test_tests_spread_over_two_files_change_nothing() -> None:
    first, second = SHOP.split("def test_tax")

    assert not found(
        {"tests/test_a.py": SHOP}, {"tests/test_a.py": first, "tests/test_tax.py": f"def test_tax{second}"}
    )


def test_a_helper_that_moves_to_another_file_with_its_expectations_changes_nothing() -> None:
    after = {
        "tests/test_a.py": "from helpers import assert_total\n"
        "def test_total(cart):\n    assert_total(cart)\n",
        "tests/helpers.py": "def assert_total(cart):\n"
        "    assert total(cart) == 5\n    assert total(cart).open\n",
    }
    before = {
        "tests/test_a.py": "def test_total(cart):\n    assert total(cart) == 5\n    assert total(cart).open\n"
    }

    assert not found(before, after)


def test_a_helper_of_another_file_that_expects_less_is_told() -> None:
    before = {
        "tests/helpers.py": "def assert_total(cart):\n    assert total(cart) == 5\n    assert cart.open\n"
    }
    after = {"tests/helpers.py": "def assert_total(cart):\n    assert cart.open\n"}

    assert said(found(before, after)) == {"assertion-removed grave"}


def test_a_file_renamed_out_of_collection_deletes_its_tests() -> None:
    for new in ("tests/x_test_disabled.py", "tests/shop.py", "tests/test_shop.py.bak", "tests/_test_shop.py"):
        assert said(found({"tests/test_shop.py": SHOP}, {new: SHOP})) == {"test-deleted grave"}


def test_a_javascript_file_renamed_out_of_collection_deletes_its_tests() -> None:
    text = "test('a', () => { expect(f()).toBe(1); });\n"

    for new in ("src/x.test.ts.bak", "src/x.disabled.ts", "src/x.ts"):
        assert said(found({"src/x.test.ts": text}, {new: text})) == {"test-deleted grave"}


def test_a_deleted_file_is_told_in_few_lines() -> None:
    many = "\n".join(f"def test_{n}():\n    assert f({n}) == {n}\n" for n in range(50))

    (one,) = found({"tests/test_many.py": many}, {})

    assert (one.change, one.weight, one.file) == (Change.TEST_DELETED, Weight.GRAVE, "tests/test_many.py")
    assert one.before == "test_0, test_1 and 48 more"


def test_a_skipped_class_is_told_once() -> None:
    many = "import pytest\n\nclass TestMany:\n" + "\n".join(
        f"    def test_{n}(self):\n        assert f({n}) == {n}\n" for n in range(9)
    )

    (one,) = found({"test_a.py": many}, {"test_a.py": many.replace("class", "@pytest.mark.skip\nclass")})

    assert (one.change, one.after) == (Change.TEST_SKIPPED, "pytest.mark.skip")


def test_a_test_that_went_with_its_code_is_shown() -> None:
    before = {"shop.py": OLD_CODE, "tests/test_discount.py": DISCOUNT}
    after = {"shop.py": "def total(cart):\n    return 5\n"}

    assert said(found(before, after)) == {"test-deleted shown"}


def test_a_test_whose_code_is_still_there_is_grave() -> None:
    before = {"shop.py": OLD_CODE, "tests/test_discount.py": DISCOUNT}
    after = {"shop.py": OLD_CODE.replace("return 1", "return 2")}

    assert said(found(before, after)) == {"test-deleted grave"}


def test_a_test_whose_code_is_used_by_another_test_is_grave() -> None:
    before = {
        "shop.py": OLD_CODE,
        "test_a.py": DISCOUNT,
        "test_b.py": "def test_all():\n    assert discount(other) == 2\n",
    }
    after = {"shop.py": "def total(cart):\n    return 5\n", "test_b.py": before["test_b.py"] + "# still\n"}

    assert said(found(before, after)) == {"test-deleted grave"}


def test_a_duplicate_may_go() -> None:
    double = SHOP + "\ndef test_tax_again(cart):\n    rate = tax(cart)\n    assert rate == 0.5\n"

    assert not found({"test_a.py": double}, {"test_a.py": SHOP})


def test_another_test_in_place_of_a_deleted_one_does_not_hide_that() -> None:
    after = SHOP[: SHOP.index("def test_tax")] + "def test_other():\n    assert colour() == 'red'\n"

    assert said(found({"test_a.py": SHOP}, {"test_a.py": after})) == {"test-deleted grave"}


def test_a_new_test_with_a_common_expectation_does_not_hide_a_deleted_one() -> None:
    before = (
        "def test_login(client):\n"
        "    answer = client.post('/login', data={'user': 'a'})\n    assert answer.status_code == 200\n"
    )
    after = "def test_ping(api):\n    reply = api.get('/ping')\n    assert reply.status_code == 200\n"

    assert said(found({"test_a.py": before}, {"test_a.py": after})) == {"test-deleted grave"}


def test_a_test_without_expectations_may_move_under_another_name() -> None:
    before = "def test_runs(shop):\n    shop.open()\n    shop.close()\n"

    assert not found({"test_a.py": before}, {"test_b.py": before.replace("test_runs", "test_opens")})


def test_a_moved_test_that_expects_another_value_is_shown() -> None:
    moved = SHOP.replace("== 5", "== 6").replace("total(cart) ==", "total(cart, 1) ==")

    assert said(found({"test_a.py": SHOP}, {"test_b.py": moved})) == {"expectation-changed shown"}


def test_a_moved_test_whose_only_expectation_changed_is_shown() -> None:
    before = "def test_tax(cart):\n    rate = tax(cart)\n    assert rate == 0.5\n"

    told = found({"test_a.py": before}, {"test_b.py": before.replace("0.5", "0.6")})

    assert said(told) == {"expectation-changed shown"}


def test_a_test_that_is_moved_renamed_edited_and_skipped_is_grave() -> None:
    new = SHOP.replace("def test_", "def test_the_").replace("    rate =", "    open(cart)\n    rate =")
    skipped = new.replace("def test_the_tax", "@pytest.mark.skip\ndef test_the_tax")

    assert said(found({"test_a.py": SHOP}, {"test_b.py": skipped})) == {"test-skipped grave"}


def test_a_common_expectation_of_a_fixture_does_not_hide_a_deleted_test() -> None:
    before = "def test_login(answer):\n    log_in(user, password)\n    assert answer.status_code == 200\n"
    after = "def test_ping(answer):\n    ping(host, port, timeout)\n    assert answer.status_code == 200\n"

    assert said(found({"test_a.py": before}, {"test_b.py": after})) == {"test-deleted grave"}


def test_a_skipped_copy_does_not_stand_for_a_deleted_test() -> None:
    after = "@pytest.mark.skip\ndef test_all(cart, more, names):\n    assert tax(cart, more, names) == 0.5\n"
    left = SHOP[: SHOP.index("def test_tax")]

    assert "test-deleted grave" in said(found({"test_a.py": SHOP}, {"test_a.py": left, "test_b.py": after}))


def test_snapshots_written_anew_are_shown() -> None:
    path = "src/__snapshots__/a.test.ts.snap"

    assert said(found({path: "a"}, {path: "b"})) == {"snapshot-regenerated shown"}
    assert said(found({path: "a"}, {})) == {"snapshot-regenerated shown"}
    assert not found({}, {path: "a"})


def test_a_finding_names_file_line_before_and_after() -> None:
    (one,) = found({"tests/test_a.py": SHOP}, {"tests/test_a.py": SHOP.replace("rate == 0.5", "rate")})

    assert (one.file, one.line, one.before, one.after) == (
        "tests/test_a.py",
        11,
        "assert rate == 0.5",
        "assert rate",
    )


def test_a_deleted_test_is_told_where_it_was() -> None:
    (one,) = found({"tests/test_a.py": SHOP}, {"tests/test_a.py": SHOP[: SHOP.index("def test_tax")]})

    assert (one.file, one.line, one.before) == ("tests/test_a.py", 9, "test_tax")


# --- properties ---------------------------------------------------------------------------------------------

VALUES = st.one_of(st.integers(-9, 9), st.booleans(), st.none(), st.text(alphabet="ab' \"\\", max_size=5))
SUBJECTS = st.sampled_from(["f(1)", "cart.total", "g(x)['a']", "len(items)", "await_(h())", "(a + b)"])


@st.composite
def suites(draw: st.DrawFn) -> list[str]:
    """Tests with one to three expectations each."""
    found = list[str]()
    for number in range(draw(st.integers(1, 5))):
        lines = [f"def test_{number}(cart):", f"    x = make({number})"]
        for _ in range(draw(st.integers(1, 3))):
            subject, value = draw(SUBJECTS), draw(VALUES)
            lines.append(
                draw(
                    st.sampled_from(
                        [
                            f"    assert {subject} == {value!r}",
                            f"    assert {value!r} in {subject}",
                            f"    assert {subject} is not None, 'text'",
                            f"    with pytest.raises(ValueError, match={str(value)!r}):\n        {subject}",
                            f"    for one in [{value!r}, 2]:\n        assert {subject} != one",
                        ]
                    )
                )
            )
        found.append("\n".join(lines))
    return found


@given(suites())
@settings(max_examples=60, deadline=None)
def test_writing_tests_anew_from_their_tree_finds_nothing(parts: list[str]) -> None:
    text = "\n\n# a comment\n".join(parts)

    assert not found({"test_a.py": text}, {"test_a.py": ast.unparse(ast.parse(dedent(text)))})


@given(suites(), st.data())
@settings(max_examples=60, deadline=None)
def test_the_order_and_the_file_of_tests_do_not_count(parts: list[str], data: st.DataObject) -> None:
    moved = data.draw(st.permutations(parts))
    half = data.draw(st.integers(0, len(parts)))
    before = {"test_a.py": "\n".join(parts)}

    assert not found(before, {"test_a.py": "\n".join(moved)})
    assert not found(before, {"test_a.py": "\n".join(moved[half:]), "test_b.py": "\n".join(moved[:half])})


@given(suites(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_test_that_goes_is_always_told(parts: list[str], data: st.DataObject) -> None:
    gone = data.draw(st.integers(0, len(parts) - 1))
    left = parts[:gone] + parts[gone + 1 :]

    assert found({"test_a.py": "\n".join(parts)}, {"test_a.py": "\n".join(left)})


@given(suites(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_skip_is_always_told(parts: list[str], data: st.DataObject) -> None:
    which = data.draw(st.integers(0, len(parts) - 1))
    skipped = [*parts]
    skipped[which] = f"@pytest.mark.skip(reason='x')\n{parts[which]}"

    told = found({"test_a.py": "\n".join(parts)}, {"test_a.py": "\n".join(skipped)})

    assert said(told) == {"test-skipped grave"}


@given(suites(), suites())
@settings(max_examples=60, deadline=None)
def test_new_tests_find_nothing(parts: list[str], more: list[str]) -> None:
    new = [one.replace("def test_", "def test_new_") for one in more]
    expecting = [one for one in new if "'text'" in one or "raises" in one or "==" in one]

    told = found({"test_a.py": "\n".join(parts)}, {"test_a.py": "\n".join([*parts, *expecting])})

    assert said(told) <= {"assertion-cannot-fail grave"}
