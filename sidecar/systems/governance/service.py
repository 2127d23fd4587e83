"""Carries out governed phases.

    find the lock            held by the caller, not run out
    fold its audit           where the work stands; a phase out of order is refused
    do the work              a worker or the caller, in a copy of the project, with our own evidence
    append to the audit      before anything is answered
    end                      DELIVER and STOP release the lock and drop the kept change

A phase that cannot be carried out changes nothing: it fails closed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from msgspec import Raw, Struct

from sidecar.kernel.governance import FORMS, ContextLock, GovernedPhase, PhaseError
from sidecar.kernel.log import AuditEntry
from sidecar.kernel.masking import SecretMask, mask_texts
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode, PhaseSettings, Settings
from sidecar.kernel.text import encode_json
from sidecar.platform.files import ensure_folder, hold_lock
from sidecar.systems.governance.locks import RELEASED, SHELL, LockHeldError, LockLostError
from sidecar.systems.governance.phases import PhaseCall
from sidecar.systems.governance.policy.table import ACTIONS, Stage
from sidecar.systems.governance.policy.work import (
    ANSWER_TOOL,
    PHASE_TOOL,
    PhaseOutput,
    PhaseRefusedError,
    Question,
    TroubleError,
    Work,
    check_order,
    fold_work,
    next_phase,
)
from sidecar.systems.governance.ports import GovernanceServices, PhaseCaller
from sidecar.work.progress import Tell
from sidecar.workers.ports import CountedWorkers

NEW: Final = "new"
ATTEMPTS: Final = 3
"""Times in a row that a phase is tried that leaves the stage as it is."""
ENDED: Final = frozenset((Stage.DELIVERED, Stage.STOPPED))

log = logging.getLogger(__name__)


class PhaseOutcome(Struct, frozen=True, kw_only=True):
    """What a phase answers. `payload` is None where there is none because of `error`."""

    context_lock_id: str
    section: str
    payload: Struct | None
    error: PhaseError | None = None


class PhaseRequest(Struct, frozen=True, kw_only=True):
    """A call of a phase. `given` is its input; `lock` "new" acquires one; `mode` None is the lock's own."""

    phase: GovernedPhase
    lock: str
    given: Struct
    mode: Mode | None = None


class Governance:
    """Carries out phases, one at a time for each lock."""

    def __init__(self, services: GovernanceServices) -> None:
        """Use these services."""
        self._services = services

    async def run(self, request: PhaseRequest, caller: PhaseCaller, tell: Tell) -> PhaseOutcome:
        """Carry out a phase. Raises ToolRuleError, BadInputError, OSError; then nothing happened."""
        settings, phase = self._settings(), request.phase
        begins = request.lock == NEW and phase is GovernedPhase.ANALYZE
        lock = None if begins else self._held(request.lock, caller)
        offered = {one: settings.governance.phase.get(one.value, PhaseSettings()) for one in GovernedPhase}
        mode = request.mode or (lock.mode if lock else offered[phase].default_mode)
        for one, rules in offered.items():  # the work ends only if all can be called
            if not rules.enabled:
                raise PhaseRefusedError("governance-disabled", phase=one)
            if mode not in rules.modes:
                modes = ", ".join(rules.modes)
                raise PhaseRefusedError("governance-mode-off", mode=mode, phase=one, modes=modes)
        if lock is None:
            seconds = settings.governance.lock_minutes * 60.0
            lock = self._services.locks.acquire(caller.project, caller.holder, mode, seconds)
        elif mode != lock.mode:
            raise PhaseRefusedError("governance-mode", mode=mode, lock=lock.id, held=lock.mode)
        try:
            ensure_folder(self._services.kept)
            with hold_lock(self._services.kept / f"{lock.id}.lock") as alone:
                if not alone:
                    raise PhaseRefusedError("governance-busy", lock=lock.id)  # noqa: TRY301 - below
                return await self._carry_out(lock, request, caller, settings, tell)
        except BaseException:
            if begins:
                self._services.locks.end(lock.id, RELEASED)
            raise

    def work(self, lock: str) -> Work:
        """Return where the work under a lock stands. Raises OSError."""
        held = self._services.locks.find(lock)
        return fold_work(lock, self._services.locks.audit.of(lock, held.project if held else ""))

    def answer(self, lock: str, caller: PhaseCaller, *, yes: bool, text: str = "") -> Work:
        """Write down a person's answer to what a phase asked. Raises ToolRuleError, OSError."""
        held, work = self._held(lock, None), self.work(lock)
        if work.question is None:
            raise PhaseRefusedError("governance-no-question", lock=lock)
        entry = AuditEntry(
            tool=ANSWER_TOOL,
            lock=lock,
            mode=held.mode,
            iteration=work.iteration,
            agent="person",
            input=_masked({"text": text}, self._services.shared.secrets.masker(caller.environment)),
            result="yes" if yes else "no",
            subject=work.question.subject,
        )
        return self._append(entry, held, caller)

    def entries(self, lock: str) -> tuple[AuditEntry, ...]:
        """Return the audit of a lock. Raises OSError."""
        return self._services.locks.audit.of(lock)

    def works(self) -> tuple[Work, ...]:
        """Return where the work under each lock stands. Raises OSError."""
        return tuple(self.work(lock.id) for lock in self._services.locks.held())

    def waiting(self, session: SessionKey) -> str:
        """Return what a person is asked by the work of this session, "" for nothing. Never raises."""
        try:
            for lock in self._services.locks.held():
                if lock.holder == f"{session.host}:{session.id}" and (
                    question := self.work(lock.id).question
                ):
                    return f"{question.message} Answer: supervisor governance answer {lock.id} yes|no"
        except OSError as error:
            log.warning("it is not known what governed phases ask: %s", error)
        return ""

    # --- the lock -----------------------------------------------------------------------------------------

    def _held(self, ident: str, caller: PhaseCaller | None) -> ContextLock:
        """Return a lock that the caller may use. Raises ToolRuleError."""
        if ident == NEW:
            raise PhaseRefusedError("governance-analyze-first")
        lock = self._services.locks.find(ident)
        if lock is None or (caller is not None and lock.project != caller.project):
            raise LockLostError(ident[:40])
        if caller is not None and lock.holder not in (SHELL, caller.holder):
            raise LockHeldError(lock)
        return lock

    def _append(self, entry: AuditEntry, lock: ContextLock, caller: PhaseCaller) -> Work:
        """Append to the audit. Then release the lock where the work is over and no person is asked."""
        locks, key = self._services.locks, caller.session
        locks.audit.append(entry, session=key, project=lock.project, origin=caller.origin)
        work = self.work(lock.id)
        if work.stage in ENDED and work.question is None:
            locks.end(lock.id, RELEASED)
        else:
            locks.renew(lock.id, self._settings().governance.lock_minutes * 60.0)
        return work

    def _settings(self) -> Settings:
        return self._services.shared.configuration.load()[0]

    # --- a phase ------------------------------------------------------------------------------------------

    async def _carry_out(
        self, lock: ContextLock, request: PhaseRequest, caller: PhaseCaller, settings: Settings, tell: Tell
    ) -> PhaseOutcome:
        services, clock = self._services, self._services.shared.clock
        work, started = self.work(lock.id), clock.now()
        check_order(work, request.phase)
        workers = CountedWorkers(services.workers)
        mask = services.shared.secrets.masker(caller.environment)
        call = PhaseCall(
            services, workers, request.phase, work, request.given, caller, lock, settings, mask, tell
        )
        done = await call.run()
        error = self._word(done.trouble)
        output = PhaseOutput(done.payload, error, done.commands, done.tree, workers.tokens, workers.cents)
        entry = AuditEntry(
            tool=f"{PHASE_TOOL}{request.phase}",
            lock=lock.id,
            mode=lock.mode,
            iteration=work.iteration,
            agent=call.agent,
            input=_masked(request.given, mask),
            output=_masked(output, mask),
            result=done.result,
            error=error.type if error else "",
            duration_ms=round((clock.now() - started) * 1000),
            subject=done.subject or work.subject,
        )
        self._append(entry, lock, caller)
        shown = msgspec.json.decode(entry.output, type=PhaseOutput)
        return PhaseOutcome(
            context_lock_id=lock.id,
            section=FORMS[request.phase].section,
            payload=shown.read_payload(request.phase),
            error=shown.error,
        )

    def _word(self, trouble: TroubleError | None) -> PhaseError | None:
        if trouble is None:
            return None
        message = self._services.texts.say(trouble.section, **trouble.values)
        return PhaseError(type=trouble.error, message=message, action=ACTIONS[trouble.error])


def _masked(value: object, mask: SecretMask) -> Raw:
    """Encode a value as JSON with each text masked."""
    return Raw(encode_json(mask_texts(msgspec.to_builtins(value), mask)))


async def conduct(  # noqa: PLR0913 - the work, and whom to tell, to show and to ask
    governance: Governance,
    caller: PhaseCaller,
    given: Mapping[GovernedPhase, Struct],
    lock: str = NEW,
    mode: Mode | None = None,
    *,
    tell: Tell,
    show: Callable[[PhaseOutcome], None],
    ask: Callable[[Question], tuple[bool, str] | None],
) -> Work:
    """Go on until the work is over, a person must answer who is not there, or a phase keeps failing.

    `given`: what phases are given, where results of earlier ones in the audit do not do. `lock` "new" begins;
    `mode` None means the default one, or the lock's.
    `show` is given each outcome. `ask` asks the person: yes or no with a text, None where nobody is there.
    Raises as `Governance.run`.
    """
    failed = 0
    work = governance.work(lock) if lock != NEW else Work(lock=NEW)
    while True:
        if work.question is not None:
            if (answer := ask(work.question)) is None:
                return work
            work = governance.answer(lock, caller, yes=answer[0], text=answer[1])
            continue
        if (phase := next_phase(work)) is None or failed == ATTEMPTS:
            return work
        before = work
        said = given.get(phase) or FORMS[phase].given()
        request = PhaseRequest(phase=phase, lock=lock, given=said, mode=mode)
        outcome = await governance.run(request, caller, tell)
        show(outcome)
        lock = outcome.context_lock_id
        work = governance.work(lock)
        again = work.stage is before.stage and work.question is None
        failed = failed + 1 if again else 0
