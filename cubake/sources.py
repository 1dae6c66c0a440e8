"""Where the parts of a build come from: the command line before the matrix file, the matrix file before defaults."""

from __future__ import annotations

import os
from collections.abc import Iterable

from cubake import files
from cubake.build.types import BuildOptions
from cubake.errors import InputError
from cubake.fetch import Sources
from cubake.matrix import Matrix
from cubake.options import Options
from cubake.words import masked

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY")


def lock_sources(matrix: Matrix, options: Options) -> Sources:
    said = matrix.build
    ca_bundle = options.ca_bundle or said.ca_bundle
    if ca_bundle:
        files.read_bundle(ca_bundle)  # the resolver would only say that the index does not answer
    return Sources(
        index_url=options.index_url or said.index_url,
        extra_index_urls=tuple(options.extra_index_urls or said.extra_index_urls),
        find_links=options.find_links or said.find_links,
        ca_bundle=ca_bundle,
    )


def build_options(matrix: Matrix, options: Options) -> BuildOptions:
    """InputError where an address holds a password: it would end in the image or its history."""
    said = matrix.build
    index = options.index_url or said.index_url
    extra = tuple(options.extra_index_urls or said.extra_index_urls)
    _refuse_credentials([index, *extra, said.python_mirror, *dict(said.mirrors).values()])
    return BuildOptions(
        jobs=options.jobs,
        fail_fast=options.fail_fast,
        no_cache=options.no_cache,
        base=options.base,
        network=options.network or said.network,
        index_url=index,
        extra_index_urls=extra,
        python_mirror=said.python_mirror,
        registry_mirror=said.registry_mirror,
        archive_mirrors=said.mirrors,
        ca_bundle=files.bundle_from_environment(options.ca_bundle or said.ca_bundle),
        proxies=tuple(_proxies()),
    )


def _proxies() -> Iterable[tuple[str, str]]:
    """The caller's proxies, in both spellings: tools inside the build look for either."""
    for name in _PROXIES:
        value = os.environ.get(name) or os.environ.get(name.lower())
        if value:
            yield from ((name, value), (name.lower(), value))


def _refuse_credentials(urls: Iterable[str | None]) -> None:
    for url in urls:
        if url and masked(url) != url:
            raise InputError(f"{url}: a password in an address would end in the image's history", "use a netrc file")
