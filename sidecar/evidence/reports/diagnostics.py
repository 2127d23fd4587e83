"""Reads JSON reports of linters, type checkers and scanners, and builds the text that a person would see.

Formats: eslint, mypy, pyright, bandit and pip-audit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.reports.report import (
    GateOutput,
    ReportedFailure,
    RunReport,
    build_report,
    decode_json_report,
    diagnostic_failure,
    number_equal_failures,
    read_report_bytes,
)

SHOWN_LIMIT = 1_000
"""Maximum number of diagnostics that are shown as text."""


def report_diagnostics(faults: Sequence[ReportedFailure], written: GateOutput, rest: str = "") -> RunReport:
    """Build a report of these faults whose text lists them after the `rest` of the output."""
    lines = (fault.said or fault.name for fault in faults[:SHOWN_LIMIT])
    text = "\n".join(line.replace(f"{written.folder}/", "") for line in lines)
    report = build_report(number_equal_failures(faults), written.folder)
    return replace(report, text="\n".join(filter(None, (rest.strip("\n"), text))))


class _EslintMessage(Struct, frozen=True, rename="camel"):
    message: str
    severity: int = 2
    rule_id: str | None = None
    line: int | None = None


class _EslintFile(Struct, frozen=True, rename="camel"):
    file_path: str
    messages: tuple[_EslintMessage, ...] = ()


def read_eslint_report(written: GateOutput) -> RunReport | None:
    """Read `eslint -f json`. Warnings count only if there are no errors: --max-warnings makes them fail."""
    files = decode_json_report(read_report_bytes(written.report()), tuple[_EslintFile, ...])
    if files is None:
        return None
    both = [(file.file_path, one) for file in files for one in file.messages]
    worst = max((one.severity for _, one in both), default=0)
    shown = ((path, one) for path, one in both if one.severity == worst)
    faults = [diagnostic_failure(path, one.line, one.rule_id, one.message) for path, one in shown]
    report = report_diagnostics(faults, written, written.text)
    return replace(report, warnings=sum(one.severity < worst for _, one in both))


class _Mypy(Struct, frozen=True):
    file: str
    message: str
    severity: str
    line: int | None = None
    code: str | None = None


def read_mypy_report(written: GateOutput) -> RunReport | None:
    """Read `mypy --output json`: one object per line, mixed with plain text lines."""
    faults, rest, known = list[ReportedFailure](), list[str](), False
    for line in written.text.split("\n"):
        one = decode_json_report(line, _Mypy) if line.startswith("{") else None
        if one is None:
            rest.append(line)
        else:
            known = True
            if one.severity == "error":
                faults.append(diagnostic_failure(one.file, one.line, one.code, one.message))
    return report_diagnostics(faults, written, "\n".join(rest)) if known else None


class _PyrightDiagnostic(Struct, frozen=True):
    message: str
    severity: str = "error"
    file: str = ""
    rule: str | None = None
    range: dict[str, dict[str, int]] | None = None


class _Pyright(Struct, frozen=True, rename="camel"):
    general_diagnostics: tuple[_PyrightDiagnostic, ...]


def read_pyright_report(written: GateOutput) -> RunReport | None:
    """Read `pyright --outputjson`: one document, whose line numbers start at 0."""
    begin = written.text.find("{")
    end = written.text.rfind("}")
    found = decode_json_report(written.text[begin : end + 1], _Pyright) if begin >= 0 else None
    if found is None:
        return None
    rest = written.text[:begin] + written.text[end + 1 :]
    report = report_diagnostics(list(_pyright_failures(found.general_diagnostics)), written, rest)
    return replace(report, warnings=sum(one.severity == "warning" for one in found.general_diagnostics))


def _pyright_failures(found: Iterable[_PyrightDiagnostic]) -> Iterable[ReportedFailure]:
    for one in found:
        if one.severity == "error":
            start = (one.range or {}).get("start", {}).get("line")
            yield diagnostic_failure(one.file, None if start is None else start + 1, one.rule, one.message)


# --- scanners: bandit and pip-audit -------------------------------------------------------------------------


class _BanditResult(Struct, frozen=True):
    filename: str
    issue_text: str
    issue_severity: str = "undefined"
    test_id: str = ""
    line_number: int | None = None


class _Bandit(Struct, frozen=True):
    results: tuple[_BanditResult, ...]
    errors: tuple[dict[str, object], ...] = ()


def read_bandit_report(written: GateOutput) -> RunReport | None:
    """Read `bandit -f json`. A file that it could not read is shown but is not a finding, nor a failure."""
    bandit = decode_json_report(read_report_bytes(written.report()), _Bandit)
    if bandit is None:
        return None
    found = list[ReportedFailure]()
    for one in bandit.results:
        name = one.filename.removeprefix("./")
        fault = diagnostic_failure(name, one.line_number, one.test_id, one.issue_text)
        found.append(replace(fault, said=f"{fault.said} (severity: {one.issue_severity.lower()})"))
    unread = "\n".join(f"{one.get('filename')}: {one.get('reason')}" for one in bandit.errors[:20])
    return report_diagnostics(found, written, f"{written.text}\n{unread}")


class _AuditFinding(Struct, frozen=True):
    id: str
    fix_versions: tuple[str, ...] = ()


class _AuditPackage(Struct, frozen=True):
    name: str
    version: str = ""
    vulns: tuple[_AuditFinding, ...] | None = None


class _Audit(Struct, frozen=True):
    dependencies: tuple[_AuditPackage, ...]


def read_pip_audit_report(written: GateOutput) -> RunReport | None:
    """Read `pip-audit -f json`. The packages that it could look up count as executed."""
    audit = decode_json_report(read_report_bytes(written.report()), _Audit)
    if audit is None:
        return None
    looked_up = [package for package in audit.dependencies if package.vulns is not None]
    found = [_vulnerability_failure(package, one) for package in looked_up for one in package.vulns or ()]
    report = report_diagnostics(found, written, written.text)
    return replace(report, executed=len(looked_up), skipped=len(audit.dependencies) - len(looked_up))


def _vulnerability_failure(package: _AuditPackage, one: _AuditFinding) -> ReportedFailure:
    repaired = f", repaired in {', '.join(one.fix_versions[:3])}" if one.fix_versions else ""
    said = f"{package.name} {package.version}: {one.id}{repaired}"
    return ReportedFailure(f"{package.name}: {one.id}", said)
