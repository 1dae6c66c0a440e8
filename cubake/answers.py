"""The verbs about the facts, which build nothing: explain, which and refresh. As in ``verbs``, each takes the options
and gives an exit code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import product

from cubake import hostinfo
from cubake.console import Console
from cubake.errors import CubakeError, InputError
from cubake.events import Note, Step
from cubake.facts import FOLDER, Facts
from cubake.facts import load as load_facts
from cubake.matrix.problems import shown
from cubake.options import Options
from cubake.plan import Image
from cubake.plan import which as fitting
from cubake.plan.document import image_document
from cubake.resolve import RefusedCell, Solved, solve
from cubake.resolve.cells import parse_cell
from cubake.resolve.explain import answer_document, change_text, reasons, rule_document, rule_text, why, why_not
from cubake.resolve.host import Gpu, Host, check_driver, find_gpu
from cubake.resolve.rules import RULES
from cubake.resolve.verdicts import of as verdicts_of


def explain(options: Options, words: tuple[str, ...]) -> int:
    """A cell: why this stack, or why not and what instead. A rule: what it says. An image: why it is what it is."""
    console, facts = Console(options), _facts(options)
    if len(words) == 1 and "=" not in words[0]:
        return _named(words[0], options, console, facts)
    cell = parse_cell(words, facts)
    outcome = solve(cell, facts)
    document, lines = answer_document(outcome), list(why(outcome) if isinstance(outcome, Solved) else why_not(outcome))
    if cell.get("driver") or cell.get("gpu"):
        evidence = outcome.because if isinstance(outcome, Solved) else outcome.findings
        found = verdicts_of(evidence)
        document["verdicts"] = {name: verdict.document for name, verdict in found.items()}
        lines += ["", f"on this host: {', '.join(f'{name} {verdict.word}' for name, verdict in found.items())}"]
    console.result("\n".join(lines), document)
    return _exit_code(outcome)


def _facts(options: Options) -> Facts:
    """Those of the matrix where there is one: it may add rows of its own."""
    if options.matrix.is_file():
        from cubake.matrix import load_matrix

        return load_matrix(options.matrix).facts
    return load_facts()


def _exit_code(outcome: Solved | RefusedCell) -> int:
    """0 it works; 2 it names what does not exist; 3 it cannot work."""
    if isinstance(outcome, Solved):
        return 0
    return 2 if any(one.absent for one in outcome.because) else 3


def _named(name: str, options: Options, console: Console, facts: Facts) -> int:
    """A rule by its id, or an image of the matrix by its name."""
    rule = RULES.get(name.upper())
    if rule:
        outcomes = [(one.cell, solve(parse_cell([one.cell], facts), facts)) for one in rule.examples]
        console.result(rule_text(rule, outcomes), rule_document(rule, outcomes))
        return 0
    if name.upper().startswith("R-"):
        raise InputError(f"there is no rule {shown(name)}", f"rules are {min(RULES)} to {max(RULES)}")
    from cubake.verbs import load_plan  # it and all that it needs takes as long as the answer to a cell

    images = {image.name: image for image in load_plan(options).images}
    if name not in images:
        near = difflib.get_close_matches(name, images, n=3, cutoff=0.5)
        hint = f"near it: {', '.join(near)}" if near else f"{options.command('plan')} lists the images"
        raise InputError(f"'{shown(name)}' is no cell (axis=value …), no rule (R-004) and no image of the matrix", hint)
    image = images[name]
    console.result("\n".join([image.name, "", *reasons(image.because)]), image_document(image))
    return 0


def which(options: Options, wants: dict[str, str], drivers: tuple[str, ...], gpus: tuple[str, ...]) -> int:
    """The images of the matrix that fit a host, best first; of several hosts also the fewest images that serve all."""
    from cubake.verbs import load_plan

    console, planned = Console(options), load_plan(options)
    facts = planned.matrix.facts
    hosts = _hosts(drivers, gpus, facts)
    images = fitting.wanted(planned.images, wants)
    if not images:
        asked = " ".join(f"{axis}={value}" for axis, value in wants.items())
        raise InputError(
            f"{planned.matrix.file} has no image with {asked}", "`plan` lists the images; `explain` tells why"
        )
    environments = _environments(images)
    choices = [fitting.choose(images, host, facts, environments) for host in hosts]
    if len(choices) == 1:
        document = fitting.choice_document(choices[0], facts)
    else:
        document = {
            "hosts": [fitting.choice_document(choice, facts) for choice in choices],
            "cover": [image.name for image, _ in fitting.cover(choices)],
        }
    console.result("\n".join(_told(choices, wants, facts)), document)
    return 0 if all(choice.best for choice in choices) else 3


def _environments(images: Iterable[Image]) -> dict[str, dict[str, str]]:
    """The environment of each image that the engine here has: its start gate is read, not assumed. Without an engine
    there is none, and the facts about the bases decide."""
    from cubake.build.engine import Engine

    found = {}
    with suppress(CubakeError):
        engine = Engine()
        for image in images:
            if info := engine.image(image.tag):
                found[image.name] = dict(pair.split("=", 1) for pair in info.env if "=" in pair)
    return found


def _hosts(drivers: tuple[str, ...], gpus: tuple[str, ...], facts: Facts) -> list[Host]:
    """Those given, each driver with each GPU; else the one that CUBAKE_HOST or NVML tells of. A listing of
    `nvidia-smi -L` names no driver: it takes the one given."""
    listed = hostinfo.told(facts) if drivers and not gpus else None
    if listed:
        return [replace(listed, driver=check_driver(driver)) for driver in drivers]
    if drivers or gpus:
        named: list[str | None] = [check_driver(driver) for driver in drivers]
        cards: list[tuple[Gpu, ...]] = [(find_gpu(gpu, facts),) for gpu in gpus]
        return [Host(driver, card, "given") for driver, card in product(named or [None], cards or [()])]
    detected = hostinfo.detect(facts)
    if detected is None:
        raise InputError(
            "no NVIDIA driver answers here, so there is no host to judge by",
            f"name one: --driver 550.54 --gpu 'RTX 4090', or set {hostinfo.VARIABLE} (JSON, or a file with it)",
        )
    return [detected]


def _told(choices: list[fitting.Choice], wants: dict[str, str], facts: Facts) -> Iterable[str]:
    for choice in choices:
        yield from _one(choice, wants, facts, short=len(choices) > 1)
        yield from [""] if len(choices) > 1 else []
    if len(choices) > 1:
        found = fitting.cover(choices)
        yield f"{len(found)} image{'s' if len(found) != 1 else ''} for all hosts that any serves:"
        for image, hosts in found:
            yield f"  {image.name}"
            yield from (f"    {fitting.host_line(host, facts)}" for host in hosts)


def _one(choice: fitting.Choice, wants: dict[str, str], facts: Facts, *, short: bool) -> Iterable[str]:
    yield f"host: {fitting.host_line(choice.host, facts)}"
    if not short:
        width = max(len(fit.image.name) for fit in choice.fits)
        yield f"\n{'image':<{width}}  starts  runs  jits  kernels"
        for name, starts, runs, jits, kernels in fitting.rows(choice):
            yield f"{name:<{width}}  {starts:<6}  {runs:<4}  {jits:<4}  {kernels}"
        yield ""
    best = choice.best
    if best is None:
        yield "no image fits. The nearest is:"
        yield f"  {choice.fits[0].image.name}"
        yield from (f"    {line}" for line in fitting.against(choice.fits[0]))
        yield from _instead(choice.host, wants, facts)
    else:
        yield f"best: {best.image.name}"
        yield from (f"  {line}" for line in fitting.against(best))
        yield f"  {fitting.run_line(best.image, choice.host)}"
        if not short:
            yield from _passed(choice, best)


def _passed(choice: fitting.Choice, best: fitting.Fit) -> Iterable[str]:
    """Why the newest image is not the best one."""
    newest = min((fit for fit in choice.fits if not fit.good), key=lambda fit: fitting.age(fit.image), default=None)
    if newest and fitting.age(newest.image) < fitting.age(best.image):
        yield f"not {newest.image.name}:"
        yield from (f"  {line}" for line in fitting.against(newest))


def _instead(host: Host, wants: dict[str, str], facts: Facts) -> Iterable[str]:
    """What the matrix could be given: the stack that answers the same wants on this host."""
    if not {"pytorch", "tensorflow", "cuda"} & wants.keys():
        wants = {"pytorch": "any", **wants}
    words = [f"{axis}={value}" for axis, value in wants.items()]
    words += [f"driver={host.driver}"] if host.driver else []
    words += [f"gpu={gpu.sm}" for gpu in host.gpus[:1]]
    outcome = solve(parse_cell(words, facts), facts)
    if isinstance(outcome, Solved):
        stack = outcome.stack
        parts = [f"{name}={version}" for name, version in stack.frameworks]
        parts += [f"cuda={stack.cuda}", f"python={stack.python}"]
        yield f"this would work, added to the matrix: {' '.join(parts)}"
        return
    for near in outcome.near:
        yield f"this would work: {change_text(near)}"


def refresh(options: Options, registry: str | None) -> int:
    """Rebuild the facts files from their sources, or (--check) say whether they lack a release."""
    from cubake import refresh as room  # it needs what no other verb here needs: requests, remotezip

    console = Console(options)
    sources = room.Sources(index_url=options.index_url, ca_bundle=options.ca_bundle, registry=registry)

    def announce(text: str) -> None:
        """Hundreds of wheels are read: on a terminal the board shows which, elsewhere -v does."""
        console.announce(Step("facts", text, "started", 0.0) if text.startswith("reading ") else Note(text))

    with console.live():
        done = room.refresh(FOLDER, sources, announce, only=options.only, check=options.check)
    console.result(room.text(done).rstrip(), room.document(done))
    return done.exit_code
