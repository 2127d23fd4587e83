"""Holds what a message claims of files against the files themselves and the calls that wrote them."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from sidecar.evidence.claims.assessment import (
    ClaimAssessment,
    ClaimContext,
    FactAssessor,
    claim_confirmed,
    claim_contradicted,
    claim_unknown,
    pattern_matcher,
)
from sidecar.evidence.claims.edits import (
    cannot_have_written,
    edit_places,
    is_turn_fully_known,
    writes_into_project,
)
from sidecar.evidence.claims.utterances import Utterance
from sidecar.evidence.claims.wording import command_pattern, names_last_commit, read_number
from sidecar.evidence.commands.kinds import command
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import ClaimKind, ClaimStatus
from sidecar.kernel.text import counted
from sidecar.kernel.turn import CallOutcome, CommandRun, FailureHandling, ToolAction, ToolCall, Turn
from sidecar.platform.shell.commands import known_commands


def _assess_file_created(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    """Assess by the files themselves first, then by the calls that could have written the file."""
    path, state = said.path, seen.project_state
    if idle := idle_edit(path, seen):
        return claim_contradicted(f"`{idle}` changed nothing in {path}")
    astray = state.since_prompt and any(map(partial(_has_same_name, path), state.changed or ()))
    worked = astray or bool(edit_places(seen.turn)) or _failed_to_copy(path, seen.turn)
    named = said.loose and not said.ordered
    if named and (path not in state.absent or _is_changed(path, state) or not worked):
        return claim_unknown(f"{path} may only be named")
    if path in state.absent:
        removed = any(_removes_path(run, path) for call in seen.turn.calls for run in call.runs)
        return (
            claim_unknown(f"{path} was removed again")
            if removed
            else claim_contradicted(f"there is no {path}")
        )
    if _is_changed(path, state):
        return claim_confirmed(f"{path} is there, and changed since the work began")
    found = _assess_file_written(path, seen.turn)
    if path in state.present and found.status is ClaimStatus.CONTRADICTED and not found.calls:
        return claim_unknown(f"{path} is there, and no call of this turn is seen to write it")
    return found


def _failed_to_copy(path: str, turn: Turn) -> bool:
    """Whether a command that was to copy or move something to this path failed."""
    failed = (run for call in turn.calls if call.outcome is CallOutcome.FAILED for run in call.runs)
    programs = known_commands().writing_last_word
    return any(run.argv[-1:] == (path,) and programs & {*command(run)[:1]} for run in failed)


def idle_edit(path: str, seen: ClaimContext) -> str:
    """Return the command that was to edit this file in place and changed nothing; "" if there is none."""
    programs = known_commands().editing_in_place
    runs = (run for call in seen.turn.calls for run in call.runs if programs & {*command(run)[:1]})
    idle = (run.text[:200] for run in runs if writes_into_project(run, run.text) and path in run.argv)
    return next(idle, "") if _is_as_it_was(path, seen) else ""


def _is_as_it_was(path: str, seen: ClaimContext) -> bool:
    """Whether a file is surely as it was at the prompt, and none of its name was edited in another folder."""
    state, turn = seen.project_state, seen.turn
    edits = (call for call in turn.calls if call.doing is ToolAction.EDIT and call.outcome is CallOutcome.OK)
    edited = any(_is_same_path(path, each) for call in edits for each in call.paths)
    leaves = any(command_pattern("leaves").search(call.command) for call in turn.calls)
    known = state.since_prompt and is_turn_fully_known(turn)
    return known and path in state.unchanged and not (edited or leaves)


def _assess_file_deleted(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    path, state = said.path, seen.project_state
    if not path:
        return _assess_unnamed_deletion(seen.turn)
    if path in state.present and not _is_deleted_elsewhere(path, state):
        return claim_contradicted(f"{path} is still there")
    if path in state.absent or _is_changed(path, state):
        return claim_confirmed(f"{path} is gone")
    return claim_unknown(f"nothing is known of {path}")


def _assess_unnamed_deletion(turn: Turn) -> ClaimAssessment:
    """Assess "the file is gone": what git alone forgot, and no command deleted, is still there."""
    runs = [run for call in turn.calls if call.exit_code == 0 for run in call.runs]
    forgot = [run for run in runs if command(run)[:2] == ("git", "rm") and "--cached" in run.argv]
    if (
        not forgot
        or any(command_pattern("may_delete").match(run.text) for run in runs)
        or not is_turn_fully_known(turn)
    ):
        return claim_unknown("nothing is known of what was deleted")
    return claim_contradicted(f"`{forgot[-1].text}` leaves the file where it is")


def _assess_file_unchanged(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    """What changed since an older goal may be the work of another turn."""
    state = seen.project_state
    if state.since_prompt and said.path in (state.changed or ()):
        return claim_contradicted(f"{said.path} has changed since the prompt")
    return claim_unknown()


def _assess_file_renamed(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    state = seen.project_state
    if said.to in state.absent:
        return claim_contradicted(f"there is no {said.to}")
    if said.path in state.present and not _is_deleted_elsewhere(said.path, state):
        return claim_contradicted(f"{said.path} is still there")
    return claim_unknown()


def _assess_file_reverted(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    """A file that differs from the last prompt and from the last commit was not put back to either."""
    state, git = seen.project_state, seen.repository
    dirty = git is not None and any(_is_same_path(said.path, each) for each in git.uncommitted)
    if dirty and names_last_commit(said.text):
        return claim_contradicted(f"{said.path} differs from the last commit")
    if dirty and state.since_prompt and _is_changed(said.path, state):
        return claim_contradicted(
            f"{said.path} differs from the last commit and from what it was at your prompt"
        )
    return claim_unknown()


def _assess_file_listed(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    """Assess a file of a list of which the turn changed others."""
    path, state = said.path, seen.project_state
    if not _is_changed(path, state) and any(_is_changed(each, state) for each in said.beside):
        if path in state.absent:
            return claim_contradicted(f"there is no {path}")
        if said.whole:
            return _assess_file_edited(said, seen)
    return claim_unknown(f"{path} may only be named")


def _assess_file_edited(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    if _is_as_it_was(said.path, seen):
        return claim_contradicted(f"{said.path} has not changed since the prompt")
    return claim_unknown()


def _assess_number_of_edits(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    state = seen.project_state
    if _deleted_unseen(seen):
        return claim_unknown("files that git ignores may have been deleted")
    if state.since_prompt and state.changed and len(state.changed) < read_number(said.count):
        return claim_contradicted(f"{counted(len(state.changed), 'file')} changed since the prompt")
    return claim_unknown()


def _deleted_unseen(seen: ClaimContext) -> bool:
    """Whether a command may have deleted files, and every changed file is one that another call names."""
    deletes = [any(map(pattern_matcher("may_delete"), call.runs)) for call in seen.turn.calls]
    others = (call for call, deleting in zip(seen.turn.calls, deletes, strict=True) if not deleting)
    named = "\n".join(text for call in others for text in (call.command, *call.paths))
    changed = seen.project_state.changed or ()
    return any(deletes) and all(path.rpartition("/")[2] in named for path in changed)


def _assess_nothing_changed(said: Utterance, seen: ClaimContext) -> ClaimAssessment:  # noqa: ARG001 - as all
    """Files that nobody touched but a tool, such as caches, are ignored by git, and are none of these."""
    state = seen.project_state
    if state.changed is None or (state.changed and not state.since_prompt):
        return claim_unknown("nobody knows what changed in this turn")
    if not state.changed:
        return claim_confirmed("no file changed")
    more = f", and {len(state.changed) - 1} more" if state.changed[1:] else ""
    return claim_contradicted(f"{state.changed[0]} has changed since the prompt{more}")


def _assess_dependency_added(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    state = seen.project_state
    if said.path in state.absent:
        return claim_contradicted(f"there is no {said.path}")
    if said.path in state.unchanged:
        return claim_contradicted(f"{said.path} has not changed since the prompt")
    return claim_unknown()


def _is_changed(path: str, state: ProjectState) -> bool:
    return any(_is_same_path(path, each) for each in state.changed or ())


def _is_deleted_elsewhere(path: str, state: ProjectState) -> bool:
    """Whether another file of that name may be meant: one in a folder changed, and may be gone."""
    return any(each != path and each.endswith(f"/{path}") for each in state.changed or ())


def _assess_file_written(path: str, turn: Turn) -> ClaimAssessment:
    touching = [
        call
        for call in turn.calls
        if call.doing is ToolAction.EDIT and any(_is_same_path(path, each) for each in call.paths)
    ]
    written = [call for call in touching if call.outcome is CallOutcome.OK]
    if written:
        return ClaimAssessment(ClaimStatus.CONFIRMED, f"a tool wrote {path}", (written[-1].id,))
    if touching and touching[-1].outcome is CallOutcome.FAILED:
        return ClaimAssessment(
            ClaimStatus.CONTRADICTED, f"the tool that should write {path} failed", (touching[-1].id,)
        )
    for call in turn.calls:
        if call.doing is ToolAction.RUN and call.exit_code == 0 and _surely_writes_path(call, path):
            return ClaimAssessment(ClaimStatus.CONFIRMED, f"`{call.command[:200]}` wrote {path}", (call.id,))
    if cannot_have_written(turn, path):
        return claim_contradicted(f"no call of this turn wrote {path} or names it")
    return claim_unknown(f"no call of this turn is seen to write {path}")


def _has_same_name(path: str, other: str) -> bool:
    """Whether two paths end in the same file name: it may have been written into another folder."""
    return path.rpartition("/")[2] == other.rpartition("/")[2]


def _is_same_path(claimed: str, path: str) -> bool:
    claimed = claimed.removeprefix("./")
    return path == claimed or path.endswith(f"/{claimed}")


def _removes_path(run: CommandRun, path: str) -> bool:
    argv = command(run)
    named = (word for word in argv[1:] if _is_same_path(path, word) or _is_same_path(word, path))
    return argv[:1] == ("rm",) and any(named)


def _surely_writes_path(call: ToolCall, path: str) -> bool:
    """Whether a line surely wrote the file at a path."""
    for run in call.runs:
        sure = run.fate is FailureHandling.DECIDES and run.implied
        if sure and command(run)[:1] in {("touch",), ("cp",), ("mv",), ("tee",)} and path in run.argv[1:]:
            return True
        if sure and run.silenced and re.search(rf">>?\s*[\"']?{re.escape(path)}[\"']?(?:\s|$)", call.command):
            return True
    return False


FILE_ASSESSORS: Final[dict[ClaimKind, FactAssessor]] = {
    ClaimKind.FILE_CREATED: _assess_file_created,
    ClaimKind.FILE_DELETED: _assess_file_deleted,
    ClaimKind.FILE_UNCHANGED: _assess_file_unchanged,
    ClaimKind.FILE_RENAMED: _assess_file_renamed,
    ClaimKind.FILE_REVERTED: _assess_file_reverted,
    ClaimKind.FILE_LISTED: _assess_file_listed,
    ClaimKind.FILE_EDITED: _assess_file_edited,
    ClaimKind.FILES_EDITED: _assess_number_of_edits,
    ClaimKind.NOTHING_CHANGED: _assess_nothing_changed,
    ClaimKind.DEPENDENCY_ADDED: _assess_dependency_added,
}
