"""What a registry knows of a message before its class is imported."""

from __future__ import annotations

from kipwire.errors import UnsupportedVersionError


class Entry:
    """What is known of a message before its class is imported."""

    __slots__ = ("api_key", "first_flexible", "headers", "highest", "lowest", "module", "name", "served", "type")

    def __init__(
        self,
        name: str,
        module: str,
        type: str,  # the spec language's own word
        api_key: int | None,
        lowest: int,
        highest: int,
        first_flexible: int,
        headers: tuple[int, ...] | None,
        served: tuple[int, int] | None = None,
    ) -> None:
        self.name = name
        self.module = module
        self.type = type
        self.api_key = api_key
        self.lowest = lowest
        self.highest = highest
        """Below `lowest` for a retired message, which has no version left."""
        self.first_flexible = first_flexible
        """The lowest flexible version; one above `highest` where there is none."""
        self.headers = headers
        """Of requests and responses: the header's version before inflexible and before flexible versions.

        One more comes first where version 0 has a header of its own.
        """
        lowest_served, highest_served = served or (lowest, highest)
        self.served = range(lowest_served, highest_served + 1)
        """The versions that the current release of the protocol speaks; the others are for what earlier ones wrote."""

    @property
    def versions(self) -> range:
        return range(self.lowest, self.highest + 1)

    def existing(self, version: int, package: str) -> int:
        """The version.

        Raises:
            UnsupportedVersionError: the message has no such version.
        """
        if version in self.versions:
            return version
        if not self.versions:
            raise UnsupportedVersionError(f"{self.name} is retired: {package} has no version of it")
        known = f"{self.lowest} to {self.highest}" if self.lowest < self.highest else f"only {self.lowest}"
        raise UnsupportedVersionError(f"{package} has no version {version} of {self.name}; it has {known}")

    def header_version(self, version: int, package: str) -> int:
        """The version of the header before the message in that version.

        Raises:
            UnsupportedVersionError: the message has no such version.
        """
        *first, inflexible, flexible = self.headers or (0, 0)
        if self.existing(version, package) >= self.first_flexible:
            return flexible
        return first[0] if first and version == 0 else inflexible
