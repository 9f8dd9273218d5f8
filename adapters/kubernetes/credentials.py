"""Who we are to the API server: the Authorization header and the client certificate of a context, always fresh.

Token files are read again for every request (a kubelet renews them in place) and stripped; exec plugins are asked when
their credential expires; a kubeconfig that a person renewed is read again after a 401. Nothing here reaches a plan or
a log line.
"""

from __future__ import annotations

import base64
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from adapters.base import AdapterError, Invalid, Unauthenticated
from adapters.kubernetes.execplugin import ExecCredential, ExecPlugin
from adapters.kubernetes.kubeconfig import ClusterConfig
from adapters.text import clean

ConfigSource = Callable[[], ClusterConfig]
LARGEST_TOKEN = 64 * 1024


@dataclass(frozen=True, slots=True)
class Credential:
    """What one request carries. `identity` tells one client certificate from another."""

    authorization: str | None = field(default=None, repr=False)
    cert: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)

    @property
    def identity(self) -> tuple[bytes | None, bytes | None]:
        return (self.cert, self.key)


class Credentials:
    """The credential of one context and how to renew it."""

    def __init__(self, config: ClusterConfig) -> None:
        self.config = config
        self._plugin = ExecPlugin(config.exec, config) if config.exec else None

    async def current(self, *, refresh: bool = False) -> Credential:
        """The credential to send now. `refresh` has an exec plugin run anew. Raises Unauthenticated, Invalid."""
        given = await self._plugin.credential(refresh=refresh) if self._plugin and not self._static() else None
        return Credential(self._authorization(given), *self._certificate(given))

    def _static(self) -> bool:
        """Static credentials of the same user win over a plugin, as in client-go."""
        return bool(self.config.token or self.config.token_file or self.config.basic)

    def _authorization(self, given: ExecCredential | None) -> str | None:
        config = self.config
        if config.token_file:
            return f"Bearer {_header_value(_read_token(config.token_file))}"
        if config.token:
            return f"Bearer {_header_value(config.token.strip())}"
        if config.basic:
            return "Basic " + base64.b64encode(":".join(config.basic).encode()).decode()
        if given is not None and given.token:
            return f"Bearer {_header_value(given.token)}"
        if config.unsupported_auth and not self._any_certificate():
            raise Unauthenticated(
                f"The kubeconfig signs in by auth-provider {clean(config.unsupported_auth)}, which no longer works.",
                "Renew the kubeconfig entry with your cluster's tool: it should use an exec plugin.",
            )
        return None

    def _any_certificate(self) -> bool:
        return bool(self.config.client_cert_data or self.config.client_cert_file)

    def _certificate(self, given: ExecCredential | None) -> tuple[bytes | None, bytes | None]:
        if given is not None and given.cert and given.key:
            return given.cert, given.key
        config = self.config
        cert = config.client_cert_data or _read_pem(config.client_cert_file, "client-certificate")
        key = config.client_key_data or _read_pem(config.client_key_file, "client-key")
        return (cert, key) if cert and key else (None, None)

    def hint(self) -> str:
        """What a person can do when the server does not accept this credential."""
        config = self.config
        if config.exec:
            return f"Sign in again with {clean(config.exec.argv[0], 200)} in a shell; it is tried again by itself."
        if config.token_file:
            return f"The token in {clean(config.token_file, 300)} has expired or is wrong; it is read again by itself."
        if self._any_certificate() and not config.token:
            return "The client certificate has probably expired: renew the kubeconfig; it is read again by itself."
        return "The token has expired or is wrong: renew the kubeconfig; it is read again by itself."


def _header_value(token: str) -> str:
    if not token or not token.isascii() or not token.isprintable():
        raise Unauthenticated(
            "The token holds characters that no token has.", "Renew the kubeconfig or the token file."
        )
    return token


def _read_token(path: str) -> str:
    try:
        raw = Path(path).read_bytes()[:LARGEST_TOKEN]
    except OSError as error:
        raise Unauthenticated(
            f"The token file {clean(path, 300)} cannot be read: {error.strerror}.", "It is tried again by itself."
        ) from None
    return raw.decode("utf-8", "replace").strip()


def _read_pem(path: str | None, name: str) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Unauthenticated(
            f"The {name} {clean(path, 300)} cannot be read: {error.strerror}.", "Renew the kubeconfig."
        ) from None


def ssl_context(config: ClusterConfig, credential: Credential) -> ssl.SSLContext:
    """The TLS settings of a cluster. Raises Invalid where a certificate cannot be used."""
    try:
        if config.ca_data:
            context = ssl.create_default_context(cadata=config.ca_data.decode("ascii", "ignore"))
        else:
            context = ssl.create_default_context(cafile=config.ca_file)
        if config.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if credential.cert and credential.key:
            _load_pair(context, credential.cert, credential.key)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or "not in PEM form"
        raise Invalid(
            f"A certificate of the kubeconfig context {clean(config.context)} cannot be used: {reason}.",
            "Renew the kubeconfig.",
        ) from None
    return context


def _load_pair(context: ssl.SSLContext, cert: bytes, key: bytes) -> None:
    """The ssl module reads files only: a 0600 one, gone at once."""
    with tempfile.NamedTemporaryFile(prefix="pilothouse-") as pair:
        pair.write(cert.rstrip() + b"\n" + key.rstrip() + b"\n")
        pair.flush()
        context.load_cert_chain(pair.name)


def warnings_of(config: ClusterConfig) -> tuple[str, ...]:
    """What a person should know about the way this context connects."""
    found = []
    if config.insecure:
        found.append("The server's certificate is not verified (insecure-skip-tls-verify).")
    if config.server.startswith("http://") and urlsplit(config.server).hostname not in (
        "127.0.0.1",
        "localhost",
        "::1",
    ):
        found.append("The connection is not encrypted (http://).")
    if config.impersonate:
        found.append(f"Acting as {clean(config.impersonate, 200)} (impersonation in the kubeconfig).")
    return tuple(found)


def reread(source: ConfigSource, held: ClusterConfig) -> ClusterConfig:
    """The configuration as it is on disk now, or the one held where it cannot be read at this moment."""
    try:
        return source()
    except AdapterError:
        return held
