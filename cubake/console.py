"""The only printer. Results go to stdout; progress and notes to stderr: live on a terminal, plain lines on a pipe."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console as Terminal
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cubake.errors import CubakeError
from cubake.events import Began, Ended, Event, Line, Note, Progress, Step, step_title
from cubake.plan import Image, Plan
from cubake.plan.document import plan_document
from cubake.plan.make import covered, served
from cubake.resolve import RefusedCell
from cubake.resolve.explain import change_text, sentence, short
from cubake.words import count

if TYPE_CHECKING:
    from cubake.build.bases import FoundBase
    from cubake.build.types import BuildRecord
    from cubake.options import Options
    from cubake.render import Drift
    from cubake.report.make import Report
    from cubake.verify.types import VerifyRecord

COLORS = {"BUILT": "green", "REUSED": "cyan", "PASS": "green", "FAILED": "red", "FAIL": "red", "BLOCKED": "yellow"}


@dataclass
class _Work:
    """What the board shows of one image: its steps that run, the last started last, and bytes moved."""

    stage: str
    start: float = field(default_factory=time.monotonic)
    steps: list[str] = field(default_factory=list)
    moved: str = ""


class Console:
    """Prints for one run. ``announce`` may be called from any thread."""

    def __init__(self, options: Options) -> None:
        self._json, self._verbose, self._quiet = options.json, options.verbose, options.quiet
        self._command = options.command
        # A pipe has no width: tables must not be cut to 80 columns there.
        self._out = Terminal(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 240)
        self._err = Terminal(stderr=True, highlight=False, soft_wrap=True)
        self._lock = threading.Lock()
        self._running: dict[str, _Work] = {}
        self._live: Live | None = None

    @contextmanager
    def live(self) -> Iterator[None]:
        """A board of what runs, while it runs; on a pipe nothing but the lines."""
        if not self._err.is_terminal or self._quiet:
            yield
            return
        with Live(get_renderable=self._board, console=self._err, refresh_per_second=4, transient=True) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def announce(self, event: Event) -> None:
        with self._lock:
            self._announce(event)

    def _announce(self, event: Event) -> None:
        match event:
            case Note(text):
                self._note(Text(text, "dim"))
            case Began(image, stage):
                self._running[image] = _Work(stage)
                self._note(Text(f"{stage:<6} {image} ...", "dim"), live=False)
            case Step(image, name, state, seconds):
                self._step(image, name, state, seconds)
            case Progress(image, current, total):
                work = self._running.setdefault(image, _Work("build"))
                work.moved = f"{current / 1e6:,.0f}" + (f" of {total / 1e6:,.0f}" if total else "") + " MB"
            case Line(image, text):
                if self._verbose:
                    self._note(Text(f"       {image} | {text}", "dim"))
            case Ended(image, stage, result, seconds, detail):
                self._running.pop(image, None)
                line = Text.assemble(f"{stage:<6} {image} ", (result, COLORS.get(result, "")), f" in {seconds:.1f} s")
                if detail and (self._verbose or result not in ("BUILT", "REUSED", "PASS")):
                    line.append(f"\n       {detail}")
                self._note(line)

    def _step(self, image: str, name: str, state: str, seconds: float) -> None:
        work, called = self._running.setdefault(image, _Work("build")), step_title(name)
        work.moved = ""
        if called in work.steps:
            work.steps.remove(called)
        if state == "started":
            work.steps.append(called)
        if self._verbose or (self._live is None and state in ("done", "failed") and seconds >= 1):
            short = name if self._verbose else step_title(name)
            self._note(Text(f"       {image} | {short} {state}" + (f" {seconds:.1f} s" if seconds else ""), "dim"))

    def _board(self) -> Table:
        table = Table.grid(padding=(0, 2))
        with self._lock:
            rows = list(self._running.items())
        width = max(30, self._err.width - 20)
        for image, work in rows:
            now = f"{image} {work.steps[-1] if work.steps else ''}"
            table.add_row(work.stage, f"{time.monotonic() - work.start:5.0f} s", Text(now[:width]), work.moved)
        return table

    def _note(self, text: Text, *, live: bool = True) -> None:
        if self._quiet or (self._live is not None and not live):
            return
        self._err.print(text)

    def result(self, text: str, document: Any) -> None:
        """One result: text for people, the document with --json."""
        if self._json:
            sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        elif not self._quiet or text:
            self._out.print(text, markup=False)

    def planned(self, plan: Plan) -> None:
        if self._json:
            self.result("", plan_document(plan))
            return
        if plan.images:
            titles = ("image", "base", "driver", "GPU code", "wheels", "lock")
            rows = [titles, *map(_plan_row, plan.images)]
            self._out.print(_columns(rows, right=titles.index("wheels")), markup=False)
        self._refusals(plan.refused)
        for cell, exclusion in plan.matrix.excluded:
            self._out.print(Text(f"excluded {short(cell)}: {exclusion.reason}", "dim"))
        for exclusion in plan.matrix.idle:
            self._out.print(
                Text(f"{exclusion.position}: this exclusion matches no cell ({exclusion.reason})", "yellow")
            )
        self._counts(plan)

    def _refusals(self, refused: Sequence[RefusedCell]) -> None:
        """Cells refused for the same reasons stand together."""
        groups: dict[tuple[str, tuple[str, ...]], list[RefusedCell]] = {}
        for one in refused:
            reasons = tuple(f"{evidence.rule} {sentence(evidence)} [{evidence.source}]" for evidence in one.because)
            groups.setdefault((str(one.cell.position), reasons), []).append(one)
        for (position, reasons), cells in groups.items():
            instead = "; ".join(change_text(near) for near in cells[0].near)
            told = [Text.assemble(("\nrefused ", "yellow"), f"{position}: {short(one.cell)}") for one in cells]
            told += [Text(f"\n  because {reason}") for reason in reasons]
            told += [Text(f"\n  instead {instead or 'nothing near it works'}", "dim")]
            self._out.print(Text().join(told))

    def _counts(self, plan: Plan) -> None:
        parts = [
            count(len(plan.images), "image"),
            f"{count(len(plan.refused), 'cell')} refused",
            f"{len(plan.matrix.excluded)} excluded",
        ]
        if plan.unlocked:
            parts.append(f"{len(plan.unlocked)} unlocked (to lock: {self._command('lock')})")
        self._out.print("\n" + ", ".join(parts), markup=False)
        for driver, number in served(plan.images, plan.matrix.drivers).items():
            self._out.print(f"  driver {driver}: new enough for the CUDA libraries of {number}", markup=False)
        for gpu, number in covered(plan.images, plan.matrix.gpus).items():
            self._out.print(f"  GPU {gpu}: code for it in {count(number, 'framework image')}", markup=False)

    def locked(self, plan: Plan, failures: Sequence[tuple[Image, CubakeError]]) -> int:
        """What `lock` did; the exit code of the worst failure."""
        for image, error in failures:
            self._err.print(Text(f"{image.name}: {error}" + (f"\n  -> {error.hint}" if error.hint else "")))
        document = {
            "images": [image.name for image in plan.images],
            "failed": [{"name": image.name, "error": str(error)} for image, error in failures],
        }
        bad = f"; {len(failures)} could not be locked" if failures else ""
        self.result(f"{count(len(plan.images) - len(failures), 'image')} locked{bad}", document)
        return min((error.exit_code for _, error in failures), default=0)

    def rendered(self, plan: Plan, changed: Sequence[str]) -> None:
        for image in plan.unlocked:
            self._err.print(
                Text(f"{image.name}: not rendered, it has no lock that answers ({self._command('lock')})", "yellow")
            )
        lines = [*changed, f"{count(len(changed), 'file')} written" if changed else "everything is in step"]
        self.result("\n".join(lines), {"changed": list(changed), "unlocked": [image.name for image in plan.unlocked]})

    def drifted(self, drifts: Sequence[Drift], unlocked: Sequence[Image], folder: str) -> int:
        lines = [f"{folder}/{one.path}: {one.why}" for one in drifts]
        for image in unlocked:
            why = "answers another question than the matrix asks" if image.stale else "is missing"
            lines.append(f"{folder}/{image.name}/requirements.lock: {why}")
        text = "\n".join([*lines, f"render again: {self._command('render')} (locks: {self._command('lock')})"])
        document = {"drift": [{"path": f"{folder}/{one.path}", "why": one.why} for one in drifts]}
        names = {"unlocked": [image.name for image in unlocked]}
        self.result(text if lines else "everything is in step", document | names)
        return 1 if lines else 0

    def bases(self, found: Mapping[str, FoundBase]) -> None:
        lines = [f"{wanted}: {base.reference} ({base.how})" for wanted, base in found.items()]
        document = [{"wanted": w, "reference": b.reference, "id": b.image.id, "how": b.how} for w, b in found.items()]
        self.result("\n".join(lines), document)

    def built(self, records: Sequence[BuildRecord]) -> int:
        from cubake.report.make import Report, Row, document

        made = Report(tuple(Row(record.name, record.tag, record, None) for record in records), ())
        self._table(made)
        if self._json:
            self.result("", document(made))
        return made.code

    def verified(self, verdicts: Sequence[VerifyRecord]) -> int:
        from cubake.report.make import Report, Row
        from cubake.report.records import verdict_document

        made = Report(tuple(Row(verdict.name, verdict.tag, None, verdict) for verdict in verdicts), ())
        self._table(made)
        if self._json:
            self.result("", [verdict_document(verdict) for verdict in verdicts])
        return made.code

    def reported(self, report: Report, out: Path) -> int:
        from cubake.report.make import document

        if self._json:
            self.result("", document(report))
            return report.code
        self._table(report)
        good = sum(row.ok for row in report.rows)
        self._out.print(f"\n{good} of {count(len(report.rows), 'image')} good; report in {out}/", markup=False)
        return report.code

    def _table(self, report: Report) -> None:
        from cubake.report.make import cells, troubles

        if self._json:
            return
        table = Table(box=None, pad_edge=False)
        for title in ("image", "build", "contents", "GPU", "size", "time"):
            table.add_column(title, justify="right" if title in ("size", "time") else "left", no_wrap=True)
        for row in report.rows:
            built, *rest = cells(row)
            color = COLORS.get(built, "")
            table.add_row(Text(row.name, "" if row.ok else "red"), Text(built, color), *rest)
        self._out.print(table)
        self._reasons(report)
        for row in report.rows:
            for problem in troubles(row):
                self._out.print(Text.assemble((f"{row.name}: ", "red"), problem))

    def _reasons(self, report: Report) -> None:
        """Why GPU checks did not run, once."""
        reasons = {
            check.reason
            for row in report.rows
            for check in (row.verdict.checks if row.verdict else ())
            if check.id.startswith("gpu.") and check.status == "NOT_RUN"
        }
        for reason in sorted(reasons):
            self._out.print(Text(f"GPU checks NOT_RUN: {reason}", "yellow"))


def _columns(rows: Sequence[Sequence[str]], right: int) -> str:
    """Rows as aligned columns, one of them to the right; a table of rich takes seconds for thousands of rows."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [
        [cell.rjust(width) if index == right else cell.ljust(width) for index, (cell, width) in enumerate(pairs)]
        for pairs in (zip(row, widths, strict=True) for row in rows)
    ]
    return "\n".join("  ".join(row).rstrip() for row in aligned)


def _plan_row(image: Image) -> tuple[str, ...]:
    stack = image.stack
    floors = f">= {image.floors.library}" + (f", PTX {image.floors.ptx}" if image.floors.ptx else "")
    code = " ".join(arch.partition("_")[2] for arch in image.sass) + (" +PTX" if image.ptx else "")
    size = f"{sum(layer.bytes for layer in image.layers) / 1e9:.2f} GB" if image.layers else ""
    lock = "locked" if image.locked else ("stale" if image.stale else "unlocked")
    return image.name, stack.base.reference if stack.base else "", floors, code, size, lock
