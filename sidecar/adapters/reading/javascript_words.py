"""The matchers of JavaScript's libraries, in our words."""

from __future__ import annotations

from typing import Final, NamedTuple

from sidecar.adapters.reading.found import Form


class Word(NamedTuple):
    """A matcher: its form, and the value it stands for where it takes none."""

    form: str
    value: str = ""


MATCHERS: Final = {
    "toBe": Word("=="),
    "toEqual": Word("=="),
    "toStrictEqual": Word("=="),
    "toBeNull": Word("==", "null"),
    "toBeUndefined": Word("==", "undefined"),
    "toBeNaN": Word("==", "NaN"),
    "toHaveLength": Word("==", "length"),
    "toHaveTextContent": Word("matches"),
    "toBeDefined": Word("is not None"),
    "toBeTruthy": Word("truthy"),
    "toBeTrue": Word("truthy"),
    "toBeFalsy": Word("falsy"),
    "toBeFalse": Word("falsy"),
    "toContain": Word("in"),
    "toContainEqual": Word("in"),
    "toMatch": Word("matches"),
    "toMatchObject": Word("matches"),
    "toHaveProperty": Word("matches"),
    "toBeInstanceOf": Word("isinstance"),
    "toBeTypeOf": Word("isinstance"),
    "toBeGreaterThan": Word(">"),
    "toBeGreaterThanOrEqual": Word(">="),
    "toBeLessThan": Word("<"),
    "toBeLessThanOrEqual": Word("<="),
    "toBeCloseTo": Word("~="),
    "toThrow": Word("raises"),
    "toThrowError": Word("raises"),
    "toHaveBeenCalled": Word("called"),
    "toBeCalled": Word("called"),
    "toHaveBeenCalledOnce": Word("called once"),
    "toHaveBeenCalledTimes": Word("called once"),
    "toHaveBeenCalledWith": Word("called with"),
    "toBeCalledWith": Word("called with"),
    "toHaveBeenLastCalledWith": Word("called with"),
    "toHaveBeenNthCalledWith": Word("called with"),
    "toMatchSnapshot": Word("snapshot"),
    "toMatchInlineSnapshot": Word("snapshot"),
    "toThrowErrorMatchingSnapshot": Word("snapshot"),
    "toThrowErrorMatchingInlineSnapshot": Word("snapshot"),
}
"""jest, vitest, jasmine."""
CHAINS: Final = {
    "equal": "==",
    "equals": "==",
    "eq": "==",
    "eql": "==",
    "eqls": "==",
    "deepEqual": "==",
    "lengthOf": "==",
    "include": "in",
    "includes": "in",
    "contain": "in",
    "contains": "in",
    "members": "in",
    "keys": "in",
    "oneOf": "in",
    "match": "matches",
    "property": "matches",
    "string": "matches",
    "a": "isinstance",
    "an": "isinstance",
    "instanceof": "isinstance",
    "instanceOf": "isinstance",
    "above": ">",
    "greaterThan": ">",
    "gt": ">",
    "least": ">=",
    "gte": ">=",
    "below": "<",
    "lessThan": "<",
    "lt": "<",
    "most": "<=",
    "lte": "<=",
    "closeTo": "~=",
    "approximately": "~=",
    "throw": "raises",
    "throws": "raises",
    "rejectedWith": "raises",
    "satisfy": "matches",
    "calledWith": "called with",
    "calledOnceWith": "called with",
    "callCount": "called once",
}
"""chai and should, where they are called."""
PROPERTIES: Final = {
    "true": Form("truthy"),
    "ok": Form("truthy"),
    "false": Form("falsy"),
    "null": Form("==", "", "None"),
    "undefined": Form("==", "", "None"),
    "exist": Form("is not None"),
    "empty": Form("==", "", "empty"),
    "NaN": Form("==", "", "NaN"),
    "called": Form("called"),
    "calledOnce": Form("called once"),
    "rejected": Form("raises"),
    "fulfilled": Form("not raises"),
}
"""chai, where a property is enough."""
ASSERTS: Final = {
    **dict.fromkeys(("equal", "strictEqual", "deepEqual", "deepStrictEqual", "is", "same", "equals"), "=="),
    **dict.fromkeys(("strictSame", "deepEquals", "propEqual", "isNull", "isUndefined", "lengthOf"), "=="),
    **dict.fromkeys(("notEqual", "notStrictEqual", "notDeepEqual", "notDeepStrictEqual", "not"), "!="),
    **dict.fromkeys(("ok", "isTrue", "true", "isOk", "truthy", "assert"), "truthy"),
    **dict.fromkeys(("isFalse", "false", "notOk", "isNotOk", "falsy", "ifError"), "falsy"),
    **dict.fromkeys(("exists", "isDefined", "isNotNull", "notNull"), "is not None"),
    **dict.fromkeys(("throws", "rejects", "throwsAsync", "isRejected"), "raises"),
    **dict.fromkeys(("doesNotThrow", "doesNotReject", "notThrows", "notThrowsAsync"), "not raises"),
    **dict.fromkeys(("match", "regex", "partialDeepStrictEqual", "like", "property"), "matches"),
    **dict.fromkeys(("include", "includes", "deepInclude", "sameMembers"), "in"),
    **dict.fromkeys(("instanceOf", "typeOf", "isString", "isNumber", "isArray", "isObject"), "isinstance"),
    **dict.fromkeys(("closeTo", "approximately"), "~="),
    **dict.fromkeys(("calledWith", "calledOnceWith"), "called with"),
    "isAbove": ">",
    "isAtLeast": ">=",
    "isBelow": "<",
    "isAtMost": "<=",
    "called": "called",
    "calledOnce": "called once",
    "snapshot": "snapshot",
    "fail": "fails",
}
"""assert of node and chai, ava, tap, QUnit, sinon."""
