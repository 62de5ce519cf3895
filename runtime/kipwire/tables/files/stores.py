"""Objects of stores such as S3, by their URLs, through fsspec.

A store is reached through fsspec, whose classes raise whatever they like: each call is in `_report_errors`, which makes
an error of it that names the URL. Options and URLs may have secrets, so no error, `repr` or log shows an option's value
unless `_SHOWN_OPTIONS` has its name. `access` chooses between a store and this machine.
"""

from __future__ import annotations

import errno
import io
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from kipwire.model.errors import KipwireError
from kipwire.model.extras import install, missing_extra
from kipwire.tables.errors import ListingError, SourceError
from kipwire.tools.text import printable_line

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

EXTRA = "object-stores"

_URL = re.compile(r"(?!file://)[a-zA-Z][a-zA-Z0-9+.-]+://")
_PASSWORD = re.compile(r"//[^/@]*:[^/@]*@")
BLOCK = 4 * 1024 * 1024
"""Bytes of an object to request at once: the latency of a request is the time in which some MiB arrive."""
_BUFFER = 64 * 1024
_HIDDEN = "***"
_SHORTEST_SECRET = 4
_SHOWN_OPTIONS = ("endpoint_url", "anon", "account_name", "project", "host", "port", "user")
"""Options whose values an error may show; any other value might be a secret."""


def is_url(path: str) -> bool:
    """True if a path is the URL of an object or folder in a store, not a local file."""
    return _URL.match(path) is not None


@dataclass(frozen=True, slots=True)
class Storage:
    """Options to reach a store, such as `key` and `secret`, for fsspec's class of it. `repr` hides them."""

    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def values(self) -> dict[str, Any]:
        """Return the options for fsspec: `true`, `false`, JSON objects and JSON lists are parsed, others stay text."""
        return {name: _value(text) for name, text in self.options}

    def without_secrets(self, text: str) -> str:
        """Return the text of an error with all values that may be secrets replaced by `***`."""
        for name, value in self.values().items():
            for secret in () if name in _SHOWN_OPTIONS else _texts(value):
                text = text.replace(secret, _HIDDEN)
        return text


HERE = Storage()
"""No options: for local files, and for stores that the environment configures."""


def storage_of(options: Mapping[str, str]) -> Storage:
    """Return the options of a store in a fixed order, so that equal ones are equal and hashable."""
    return Storage(tuple(sorted(options.items())))


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An object of a store, or a folder of objects, which need not exist; a `ReadableFile`."""

    url: str
    storage: Storage = HERE

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """Part of the URL after the last slash."""
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> StoredFile:
        """Object or folder whose URL is the part before the last slash."""
        return StoredFile(self.url.rpartition("/")[0], self.storage)

    def __truediv__(self, name: str, /) -> StoredFile:
        return StoredFile(f"{self.url}/{name}", self.storage)

    def exists(self) -> bool:
        """True if there is an object, or a folder, with this URL."""
        with self._report_errors():
            file_system, path = self._at()
            return bool(file_system.exists(path))

    def is_file(self) -> bool:
        """True if there is an object with this URL."""
        with self._report_errors():
            file_system, path = self._at()
            return bool(file_system.isfile(path))

    def open(self, mode: Literal["rb"] = "rb", /, block: int = BLOCK) -> io.BufferedReader:
        """Open an object, which is read and cached in blocks of `block` bytes.

        Raises:
            OSError: it cannot be opened; reading it raises such an error, too.
        """
        with self._report_errors():
            file_system, path = self._at()
            opened = file_system.open(path, mode, block_size=block)
        return io.BufferedReader(_Raw(self, opened), _BUFFER)

    def below(self) -> list[tuple[str, int]]:
        """Return the URLs and sizes of all objects in a folder and all folders below it, or of the object itself.

        Raises:
            ListingError: the store cannot be reached, or does not let this user list it.
        """
        try:
            with self._report_errors():
                file_system, path = self._at()
                file_system.invalidate_cache()  # of an earlier listing in this process
                found = file_system.find(path, detail=True)
                sizes = {name: (facts or file_system.info(name)) for name, facts in found.items()}
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ListingError(f"{self.url}: cannot be listed: {error.strerror or error}") from None
        base, root = self.url.rstrip("/"), path.rstrip("/")
        return [
            (base + name.removeprefix(root), int(facts["size"]))
            for name, facts in sizes.items()
            if facts["type"] == "file"
        ]

    def names(self) -> list[str]:
        """Return the names in a folder.

        Raises:
            OSError: it cannot be listed.
        """
        with self._report_errors():
            file_system, path = self._at()
            return [name.rstrip("/").rpartition("/")[2] for name in file_system.ls(path, detail=False)]

    def _at(self) -> tuple[Any, str]:
        """Return the file system of the store, and the path in it."""
        if _PASSWORD.search(self.url):
            shown = _PASSWORD.sub(f"//{_HIDDEN}@", self.url)
            raise SourceError(f"{shown}: a URL must not have a password; give it with an option storage.NAME")
        try:
            from fsspec.core import url_to_fs
        except ModuleNotFoundError:
            raise missing_extra(f"{self.url}: reading from a store needs", "fsspec", EXTRA) from None
        try:
            return cast(tuple[Any, str], url_to_fs(self.url, **self.storage.values()))
        except ImportError as error:  # of the library for that kind of store
            raise SourceError(f"{self.url}: {error}; for s3:// that is {install(EXTRA)}") from None
        except (ValueError, TypeError) as error:
            raise SourceError(f"{self.url}: {self.storage.without_secrets(printable_line(str(error)))}") from None

    @contextmanager
    def _report_errors(self) -> Iterator[None]:
        """Turn every exception of a store's library into an `OSError` without secrets."""
        try:
            yield
        except KipwireError:
            raise
        except Exception as error:
            if isinstance(error, FileNotFoundError):
                raise FileNotFoundError(errno.ENOENT, "there is no such object", self.url) from None
            text = self.storage.without_secrets(printable_line(str(error) or type(error).__name__))
            raise OSError(errno.EIO, text, self.url) from None


class _Raw(io.RawIOBase):
    """An object as a raw file. Needed since fsspec's files have no common base, and raise errors of their libraries."""

    def __init__(self, of: StoredFile, file: Any) -> None:
        self._of = of
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, position: int, whence: int = io.SEEK_SET, /) -> int:
        with self._of._report_errors():
            return int(self._file.seek(position, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        target = memoryview(buffer)
        with self._of._report_errors():
            data = self._file.read(len(target))
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _value(text: str) -> Any:
    if text in ("true", "false") or text.startswith(("{", "[")):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value of JSON that are long enough to be secrets."""
    if isinstance(value, str):
        if len(value) >= _SHORTEST_SECRET:
            yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
