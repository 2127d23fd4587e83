"""Reports of scanners: bandit, pip-audit, and SARIF, in which many speak."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters.reports.diagnostics import shown
from sidecar.adapters.reports.report import Fault, Report, Written, data, decoded, diagnosed


class _BanditResult(Struct, frozen=True):
    filename: str
    issue_text: str
    test_id: str = ""
    line_number: int | None = None


class _BanditError(Struct, frozen=True):
    filename: str = ""
    reason: str = ""


class _Bandit(Struct, frozen=True):
    results: tuple[_BanditResult, ...]
    errors: tuple[_BanditError, ...] = ()


def read_bandit(written: Written) -> Report | None:
    """`bandit -f json`. A file that it could not read is shown, and is no finding: it did not fail for it."""
    bandit = decoded(data(written.report()), _Bandit)
    if bandit is None:
        return None
    found = [
        diagnosed(one.filename.removeprefix("./"), one.line_number, one.test_id, one.issue_text)
        for one in bandit.results
    ]
    unread = "\n".join(f"{one.filename}: {one.reason}" for one in bandit.errors[:20])
    return shown(found, written, f"{written.text}\n{unread}")


class _AuditFinding(Struct, frozen=True):
    id: str
    fix_versions: tuple[str, ...] = ()


class _AuditPackage(Struct, frozen=True):
    name: str
    version: str = ""
    vulns: tuple[_AuditFinding, ...] | None = None
    skip_reason: str = ""


class _Audit(Struct, frozen=True):
    dependencies: tuple[_AuditPackage, ...]


def read_pip_audit(written: Written) -> Report | None:
    """`pip-audit -f json`. What it executed are the packages it could look up."""
    audit = decoded(data(written.report()), _Audit)
    if audit is None:
        return None
    looked_up = [package for package in audit.dependencies if package.vulns is not None]
    found = [_vulnerable(package, one) for package in looked_up for one in package.vulns or ()]
    report = shown(found, written, written.text)
    return replace(report, executed=len(looked_up), skipped=len(audit.dependencies) - len(looked_up))


def _vulnerable(package: _AuditPackage, one: _AuditFinding) -> Fault:
    repaired = f", repaired in {', '.join(one.fix_versions[:3])}" if one.fix_versions else ""
    return Fault(f"{package.name}: {one.id}", f"{package.name} {package.version}: {one.id}{repaired}")


# --- SARIF --------------------------------------------------------------------------------------------------


class _Text(Struct, frozen=True):
    text: str = ""


class _Artifact(Struct, frozen=True):
    uri: str = ""


class _Region(Struct, frozen=True, rename="camel"):
    start_line: int | None = None


class _Physical(Struct, frozen=True, rename="camel"):
    artifact_location: _Artifact = _Artifact()
    region: _Region = _Region()


class _Location(Struct, frozen=True, rename="camel"):
    physical_location: _Physical = _Physical()


class _Result(Struct, frozen=True, rename="camel"):
    message: _Text = _Text()
    rule_id: str | None = None
    level: str = "warning"
    kind: str = "fail"
    locations: tuple[_Location, ...] = ()
    suppressions: tuple[object, ...] | None = None


class _Run(Struct, frozen=True):
    results: tuple[_Result, ...] | None = None


class _Sarif(Struct, frozen=True):
    runs: tuple[_Run, ...]


def read_sarif(written: Written) -> Report | None:
    """SARIF 2.1.0 of any tool. Notes, suppressed results and such as are no failure are left out."""
    sarif = decoded(data(written.report()), _Sarif)
    if sarif is None:
        return None
    return shown(list(_results(sarif)), written, written.text)


def _results(sarif: _Sarif) -> Iterator[Fault]:
    for run in sarif.runs:
        for one in run.results or ():
            if one.kind == "fail" and one.level in ("warning", "error") and not one.suppressions:
                place = one.locations[0].physical_location if one.locations else _Physical()
                file = place.artifact_location.uri.removeprefix("file://")
                yield diagnosed(file, place.region.start_line, one.rule_id, one.message.text)
