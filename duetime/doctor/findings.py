"""What a check found, and what to do about it."""

from collections.abc import Iterable
from enum import StrEnum

from pydantic import BaseModel, Field, computed_field


class Severity(StrEnum):
    """How bad."""

    OK = "ok"
    #: Works now, and will not for long, or not for everybody.
    WARNING = "warning"
    #: Jobs do not run, or are lost sight of.
    ERROR = "error"


#: Exit codes of the doctor, by the worst that it found.
EXIT_CODES = {Severity.OK: 0, Severity.WARNING: 1, Severity.ERROR: 2}


class Finding(BaseModel):
    """One thing that was looked at: `says` what is, `fix` what to do when it is not well."""

    check: str
    severity: Severity
    says: str
    fix: str | None = None


class Report(BaseModel):
    """All that was looked at, the worst first."""

    findings: list[Finding] = Field(default_factory=list)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def severity(self) -> Severity:
        """The worst of all."""
        order = list(Severity)
        return max((finding.severity for finding in self.findings), key=order.index, default=Severity.OK)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def exit_code(self) -> int:
        """0 all well, 1 warnings, 2 errors."""
        return EXIT_CODES[self.severity]

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> "Report":
        order = list(Severity)
        return cls(findings=sorted(findings, key=lambda finding: -order.index(finding.severity)))


def ok(check: str, says: str) -> Finding:
    return Finding(check=check, severity=Severity.OK, says=says)


def warning(check: str, says: str, fix: str) -> Finding:
    return Finding(check=check, severity=Severity.WARNING, says=says, fix=fix)


def error(check: str, says: str, fix: str) -> Finding:
    return Finding(check=check, severity=Severity.ERROR, says=says, fix=fix)
