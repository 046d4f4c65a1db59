"""Addresses of git remotes, and what a remote's refusal means. Passwords never reach a message, a file or a command
line: they go to git through its environment."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from pipelines.errors import RemoteRefused, RemoteUnreachable, VaultError

_HELPER = '!f() { echo "username=$VAULTLINE_GIT_USER"; echo "password=$VAULTLINE_GIT_PASSWORD"; }; f'

# git's own words, in LC_ALL=C, and those of ssh and curl. The first that is found decides.
_REFUSED = (
    (
        r"dubious ownership",
        "the repository belongs to another user; allow it with `git config --global --add safe.directory FOLDER`",
    ),
    (
        r"Authentication failed|could not read Username|could not read Password|terminal prompts disabled"
        r"|Permission denied|error: 40[13]|Access denied|HTTP Basic|Host key verification failed",
        "it does not accept our credentials: give git a credential helper, an ssh key or a token that may read it",
    ),
    (
        r"ot found|does not appear to be a git repository|does not exist|no such file|not a git repository",
        "there is no repository at this address; check VAULT_GIT_URL",
    ),
    (
        r"transport '\w+' not allowed|unable to find remote helper|protocol .* is not supported",
        "git does not speak this kind of address; use https, ssh or a path",
    ),
)
_UNREACHABLE = re.compile(
    r"(?i)could not resolve|couldn't connect|failed to connect|connection (?:refused|reset|closed|timed out)|timed out"
    r"|network is unreachable|no route to host|early EOF|hung up|error: 5\d\d|too slow|operation too slow|recv failure"
    r"|empty reply|unable to access|RPC failed"
)


@dataclass(frozen=True, slots=True)
class Remote:
    """One remote: the address that git is given, the options and environment that go with it, its name for people."""

    address: str
    shown: str
    options: tuple[str, ...] = ()
    secrets: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, url: str) -> "Remote":
        """Take the credentials out of an address. Raises RemoteRefused when it is none, or a command."""
        url = url.strip()
        if not url or url.startswith(("-", "ext::", "fd::")):  # an option, a command to run, an open pipe
            raise RemoteRefused("VAULT_GIT_URL is not an address of a git repository")
        if "://" not in url:
            if _is_scp_like(url):
                return cls(url, url)
            path = str(Path(url).expanduser().absolute())  # git runs in another folder
            return cls(path, path)
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        shown = urlunsplit((parts.scheme, host, parts.path, "", ""))
        if parts.scheme not in ("http", "https") or parts.username is None:
            address = url if parts.password is None else urlunsplit(parts._replace(netloc=f"{parts.username}@{host}"))
            return cls(address, shown)
        return cls(
            urlunsplit(parts._replace(netloc=host)),
            shown,
            ("-c", "credential.helper=", "-c", f"credential.helper={_HELPER}"),
            {
                "VAULTLINE_GIT_USER": unquote(parts.username),
                "VAULTLINE_GIT_PASSWORD": unquote(parts.password or ""),
            },
        )

    def failure(self, message: bytes) -> VaultError:
        """The error for what git wrote when it failed."""
        text = message.decode("utf-8", "replace")
        if "No space left on device" in text:
            return VaultError(f"git remote {self.shown}: the disk that holds the clone is full")
        for pattern, words in _REFUSED:
            if re.search(pattern, text):
                return RemoteRefused(f"git remote {self.shown}: {words}")
        if _UNREACHABLE.search(text):
            return RemoteUnreachable(f"git remote {self.shown}: cannot be reached ({self._quote(text)})")
        return VaultError(f"git remote {self.shown}: {self._quote(text)}")

    def _quote(self, text: str) -> str:
        """git's last line, which says most, without anything that may be a secret."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        fatal = [line for line in lines if line.startswith(("fatal:", "error:", "ssh:"))]
        quoted = (fatal or lines or ["git failed without a word"])[-1].removeprefix("fatal: ")
        secret = self.secrets.get("VAULTLINE_GIT_PASSWORD") or self.secrets.get("VAULTLINE_GIT_USER")
        quoted = quoted.replace(secret, "***") if secret else quoted
        return re.sub(r"//[^/@\s]+@", "//", re.sub(r"\?\S+", "", quoted))[:300]


def _is_scp_like(url: str) -> bool:
    """`git@host:team/notes.git`: a colon before the first slash, as git itself tells it from a path."""
    before, colon, _rest = url.partition(":")
    return bool(colon) and "/" not in before and not Path(url).exists()
