"""One configured cluster: its profile, its reader, and what it says about us."""

from __future__ import annotations

from adapters.base import AdapterError, Capabilities, Identity, InterestCell, Reader, Unreachable
from console.profiles import Profile


class Cluster:
    """One configured cluster as the engine knows it. `error` says why it could not be opened."""

    def __init__(self, name: str, profile: Profile) -> None:
        self.name = name
        self.profile = profile
        self.reader: Reader | None = None
        self.error: AdapterError | None = None
        self.interest = InterestCell()
        self.identity: Identity | None = None
        self.capabilities: Capabilities | None = None

    async def learn(self) -> None:
        """Ask who we are and what can be done, unless that is known. Raises AdapterError."""
        if self.reader is None:
            raise self.error or Unreachable(f"{self.name} is not open.", "The engine was not started.")
        if self.capabilities is None:
            self.capabilities = await self.reader.capabilities()
        if self.identity is None:
            self.identity = await self.reader.whoami()
