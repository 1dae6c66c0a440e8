"""The verbs, one plain function each: every one takes the options and gives an exit code.

The whole line reads from top to bottom in ``whole``: each stage takes what the former gave.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from cubake import fetch, files
from cubake.choice import conflict, refuse_conflicts, select, select_some
from cubake.console import Console
from cubake.errors import CubakeError, InputError
from cubake.events import Note
from cubake.matrix import Matrix, load_matrix
from cubake.options import Options
from cubake.plan import Image, Package, Plan, lock_text, make_plan
from cubake.plan.lock import LockInput
from cubake.render import Templates, drift, rendered
from cubake.sources import build_options, lock_sources
from cubake.verify.runner import need_client
from cubake.words import count

if TYPE_CHECKING:  # docker-py and the rooms that need it are slow to import, and most verbs need no engine
    from cubake.build.bases import Bases
    from cubake.build.engine import Engine
    from cubake.build.types import BuildRecord
    from cubake.verify.types import VerifyRecord

LOCKS_AT_ONCE = 8  # the resolver waits for the index, not for us


def whole(options: Options) -> int:
    """Plan, render, build, verify, report."""
    console = Console(options)
    planned = select(load_plan(options), options)
    if options.dry_run:
        return _show_plan(planned, options, console)
    refuse_conflicts(planned, options)
    build_options(planned.matrix, options)  # what is wrong with it is said before anything is done
    engine = _engine()
    if options.verify:
        need_client()
    files.make_folder(options.out)
    _write_rendered(planned, options)
    records = _build_images(planned, options, console, engine)
    verdicts = _verify_images(planned, options, console, engine, records) if options.verify else []
    return _report(options, console, planned, records, verdicts)


def plan(options: Options) -> int:
    planned = select(load_plan(options), options)
    return _show_plan(planned, options, Console(options))


def lock(options: Options) -> int:
    """Lock what has no lock, or another question's. Images with the same question share one answer."""
    console = Console(options)
    whole_plan = load_plan(options, pass_over_broken=True)
    planned = select_some(whole_plan, options)
    # What another image of the matrix is locked to answers the same question here: only --upgrade asks again.
    known = {} if options.upgrade else {i.lock_input: i.lock.packages for i in whole_plan.images if i.lock and i.locked}
    wanted = planned.images if options.upgrade else planned.unlocked
    asked = list(dict.fromkeys(image.lock_input for image in wanted if image.lock_input not in known))
    sources = lock_sources(planned.matrix, options)
    failures: dict[LockInput, CubakeError] = {}

    def answer(question: LockInput) -> None:
        """Written at once: a run that is stopped keeps what it has."""
        try:
            packages = fetch.resolve(question, sources)
        except CubakeError as error:  # one image's refusal must not lose the others' locks
            failures[question] = error
            return
        _write_locks(wanted, question, packages, options)
        console.announce(Note(f"locked {'; '.join(question.requirements)} for Python {question.python}"))

    for question, packages in known.items():
        _write_locks(wanted, question, packages, options)
    with ThreadPoolExecutor(LOCKS_AT_ONCE) as pool:
        list(pool.map(answer, asked))
    return console.locked(planned, [(i, failures[i.lock_input]) for i in wanted if i.lock_input in failures])


def _write_locks(images: Iterable[Image], question: LockInput, packages: tuple[Package, ...], options: Options) -> None:
    for image in images:
        if image.lock_input == question:
            files.write(options.images / image.name / files.LOCK, lock_text(question, packages))


def render(options: Options) -> int:
    console = Console(options)
    planned = select_some(load_plan(options), options)
    if not options.check:
        console.rendered(planned, _write_rendered(planned, options))
        return 0
    found = _found(options)
    if options.only:
        names = {image.name for image in planned.images}
        found = {path: text for path, text in found.items() if path.partition("/")[0] in names}
    drifts = drift(_texts(planned, options), found, options.matrix.name)
    # An image from PyTorch's own index may wait for its lock; one that the package index answers may not.
    unlocked = [image for image in planned.unlocked if image.stale or image.stack.index is None]
    return console.drifted(drifts, unlocked, files.shown(options.images))


def build(options: Options) -> int:
    console = Console(options)
    planned = select(load_plan(options), options)
    if options.dry_run:
        return _show_plan(planned, options, console)
    refuse_conflicts(planned, options)
    _refuse_drift(planned, options)
    build_options(planned.matrix, options)
    engine = _engine()
    files.make_folder(options.out)
    records = _build_images(planned, options, console, engine)
    return console.built(records)


def verify(options: Options) -> int:
    console = Console(options)
    planned = select_some(load_plan(options), options)
    engine = _engine()
    files.make_folder(options.out)
    verdicts = _verify_images(planned, options, console, engine, None)
    return console.verified(verdicts)


def report(options: Options) -> int:
    from cubake.report.records import read_records

    console = Console(options)
    planned = select_some(load_plan(options), options)
    records, verdicts = read_records(options.out, planned)
    return _report(options, console, planned, records, verdicts)


def base(options: Options) -> int:
    console = Console(options)
    planned = select_some(load_plan(options), options)
    bases = _bases(planned.matrix, options, console, _engine())
    found = {}
    for image in planned.images:
        assert image.stack.base is not None
        if image.stack.base.reference not in found:
            found[image.stack.base.reference] = bases.find(image.stack)
    console.bases(found)
    return 0


def clean(options: Options) -> int:
    engine = _engine()
    left = engine.leftovers()
    for container in left:
        engine.remove_container(container)
    freed = engine.prune_build_cache()
    Console(options).result(
        f"removed {count(len(left), 'container')}; freed {freed / 1e9:.1f} GB of build cache",
        {"containers": len(left), "bytes": freed},
    )
    return 0


def load_plan(options: Options, *, pass_over_broken: bool = False) -> Plan:
    matrix = load_matrix(options.matrix)
    again = options.command("lock")
    locks = files.read_locks(options.images, pass_over_broken=pass_over_broken, again=again)
    return make_plan(matrix, matrix.facts, locks)


def _show_plan(planned: Plan, options: Options, console: Console) -> int:
    console.planned(planned)
    found = conflict(planned, options)
    return found.exit_code if found else 0


def _texts(planned: Plan, options: Options) -> dict[str, str]:
    return rendered(planned, planned.matrix.facts, options.matrix.name, Templates())


def _found(options: Options) -> dict[str, str]:
    return {
        **files.read_tree(options.images, "*/Dockerfile"),
        **files.read_tree(options.images, "*/plan.json"),
    }


def _write_rendered(planned: Plan, options: Options) -> list[str]:
    """Write what differs; folders of images that are no longer in the matrix go, unless only a part was asked for."""
    texts, found = _texts(planned, options), _found(options)
    changed = sorted(path for path, text in texts.items() if found.get(path) != text)
    files.write_tree(options.images, {path: texts[path] for path in changed})
    if not options.only:
        names = {image.name for image in planned.images}
        for gone in drift({}, found, options.matrix.name):
            folder = gone.path.rpartition("/")[0]
            if folder not in names:
                files.remove_tree(options.images / folder)
                changed.append(f"{folder} (removed)")
    return changed


def _refuse_drift(planned: Plan, options: Options) -> None:
    texts, found = _texts(planned, options), _found(options)
    for path, text in texts.items():
        if found.get(path) != text:
            where = files.shown(options.images / path)
            raise InputError(f"{where}: does not agree with the matrix and the templates", options.command("render"))


def _engine() -> Engine:
    from cubake.build.engine import Engine

    return Engine()


def _bases(matrix: Matrix, options: Options, console: Console, engine: Engine) -> Bases:
    from cubake.build.bases import Bases

    return Bases(
        engine, build_options(matrix, options), matrix.facts, Templates(), console.announce, str(options.out / "logs")
    )


def _build_images(planned: Plan, options: Options, console: Console, engine: Engine) -> list[BuildRecord]:
    from cubake.build.run import build_images
    from cubake.report.records import write_builds

    bases = _bases(planned.matrix, options, console, engine)
    texts = {
        image.name: {name: files.read(options.images / image.name / name) or "" for name in ("Dockerfile", files.LOCK)}
        for image in planned.images
        if image.locked
    }
    with console.live():
        records = build_images(planned.images, texts, bases, console.announce)
    write_builds(options.out, records)
    return records


def _verify_images(
    planned: Plan, options: Options, console: Console, engine: Engine, records: list[BuildRecord] | None
) -> list[VerifyRecord]:
    from cubake.report.records import write_verdicts
    from cubake.verify.run import verify_images

    with console.live():
        verdicts = verify_images(planned, records, engine, options, console.announce)
    write_verdicts(options.out, verdicts)
    return verdicts


def _report(
    options: Options, console: Console, planned: Plan, records: list[BuildRecord], verdicts: list[VerifyRecord]
) -> int:
    from cubake.report.make import make_report, write_report

    made = make_report(planned, records, verdicts)
    write_report(options.out, made)
    return console.reported(made, options.out)
