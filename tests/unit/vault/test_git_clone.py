"""The clone that Vaultline keeps: every kind of push, from real remotes by path and by HTTP (B34)."""

import base64
import contextlib
import functools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import rmtree

import pytest

from pipelines.errors import RemoteRefused, RemoteUnreachable, Transient, VaultError, VaultUnavailable
from pipelines.vault.content import is_lfs_pointer
from pipelines.vault.git_clone import Change, GitUpdate, changes_between, update
from pipelines.vault.git_history import git_dates, head_commit
from pipelines.vault.rules import ScanRules, media_types
from pipelines.vault.scan import scan
from tests.unit.vault.conftest import Repository


class Remote:
    """A bare repository, the work tree that is pushed from, and our clone of it."""

    def __init__(self, work: Repository, folder: Path) -> None:
        self.work = work
        self.bare = folder / "remote.git"
        self.clone = folder / "home" / "clone"
        work.git("init", "--quiet", "--bare", "--initial-branch", "main", str(self.bare))

    def push(
        self, *, at: int = 1_000_000_000, message: str = "a push", branch: str = "main", force: bool = False
    ) -> str:
        commit = self.work.commit(at=at, message=message)
        self.work.git("push", "--quiet", *(["--force"] if force else []), str(self.bare), f"HEAD:refs/heads/{branch}")
        return commit

    def update(self, branch: str | None = None, *, url: str | None = None) -> GitUpdate:
        return update(url or str(self.bare), branch, self.clone, timeout=30)

    def files(self) -> dict[str, bytes]:
        return {
            os.fsencode(path.relative_to(self.clone)).decode("utf-8", "backslashreplace"): path.read_bytes()
            for path in sorted(self.clone.rglob("*"))
            if path.is_file() and not path.is_symlink() and ".git" not in path.relative_to(self.clone).parts
        }


@pytest.fixture
def remote(repository: Repository, tmp_path: Path) -> Remote:
    return Remote(repository, tmp_path)


def change(kind: str, name: str) -> Change:
    return Change(kind, name, name.encode())  # type: ignore[arg-type]


# -- pushes


def test_the_first_update_makes_the_clone(remote: Remote) -> None:
    remote.work.write("Año/a.md", "texto")
    commit = remote.push(message="Añade la nota")
    assert remote.update() == GitUpdate(None, commit, "Ana", "Añade la nota", (change("added", "Año/a.md"),))
    assert remote.files() == {"Año/a.md": b"texto"}
    assert head_commit(remote.clone) == commit


def test_nothing_new_changes_nothing(remote: Remote) -> None:
    remote.work.write("a.md")
    commit = remote.push()
    remote.update()
    before = (remote.clone / "a.md").stat()
    assert remote.update() == GitUpdate(commit, commit, "Ana", "a push")
    after = (remote.clone / "a.md").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


def test_a_push_of_every_kind_of_change(remote: Remote) -> None:
    for name in ["Reunión año.md", "a.md", "vieja nota.md", "same.md"]:
        remote.work.write(name, name * 20)
    first = remote.push()
    remote.update()
    untouched = (remote.clone / "same.md").stat().st_mtime_ns
    remote.work.write("Reunión año.md", "otra")
    remote.work.git("mv", "a.md", 'Árbol "b".md')
    remote.work.write('Árbol "b".md', "a.md" * 20 + "!")
    remote.work.git("rm", "--quiet", "vieja nota.md")
    remote.work.write("two\nlines.md", "x")
    remote.work.write(b"canci\xf3n.md", "x")
    remote.work.link("link.md", "same.md")
    second = remote.push(message="todo\n\nbody")
    done = remote.update()
    assert (done.before, done.after, done.subject) == (first, second, "todo")
    assert sorted(done.changed, key=lambda item: item.source) == [
        change("changed", "Reunión año.md"),
        change("deleted", "a.md"),
        Change("added", r"canci\363n.md", b"canci\xf3n.md"),
        change("added", "two\nlines.md"),
        change("deleted", "vieja nota.md"),
        change("added", 'Árbol "b".md'),
    ]
    assert set(remote.files()) == {"Reunión año.md", r"canci\xf3n.md", "same.md", "two\nlines.md", 'Árbol "b".md'}
    assert (remote.clone / "same.md").stat().st_mtime_ns == untouched


def test_many_commits_in_one_push_are_one_update(remote: Remote) -> None:
    remote.work.write("a.md", "1")
    first = remote.push()
    remote.update()
    for number in range(5):
        remote.work.write(f"{number}.md")
        remote.work.commit(at=1_000_000_000 + number)
    last = remote.push(message="the last")
    done = remote.update()
    assert (done.before, done.after, done.subject, len(done.changed)) == (first, last, "the last", 5)


def test_a_forced_push_replaces_what_was_there(remote: Remote) -> None:
    remote.work.write("a.md", "1")
    base = remote.push()
    remote.work.write("b.md", "secret")
    bad = remote.push()
    remote.update()
    remote.work.git("reset", "--quiet", "--hard", base)
    remote.work.write("c.md")
    good = remote.push(force=True)
    done = remote.update()
    assert (done.before, done.after) == (bad, good)
    assert done.changed == (change("deleted", "b.md"), change("added", "c.md"))
    assert set(remote.files()) == {"a.md", "c.md"}


def test_a_rebase_that_changes_no_file_is_an_update_without_changes(remote: Remote) -> None:
    remote.work.write("a.md")
    first = remote.push()
    remote.update()
    remote.work.git("commit", "--quiet", "--amend", "--message", "better words", at=1_000_000_009)
    second = remote.push(force=True)
    done = remote.update()
    assert (done.before, done.after, done.changed) == (first, second, ())


def test_a_history_that_was_replaced_altogether(remote: Remote) -> None:
    remote.work.write("a.md")
    remote.push()
    remote.update()
    remote.work.git("checkout", "--quiet", "--orphan", "new")
    remote.work.git("rm", "--quiet", "-rf", ".")
    remote.work.write("b.md")
    remote.push(force=True)
    assert remote.update().changed == (change("deleted", "a.md"), change("added", "b.md"))


def test_another_branch_and_back(remote: Remote) -> None:
    remote.work.write("a.md", "main")
    main = remote.push()
    remote.work.write("a.md", "draft")
    draft = remote.push(branch="wip/año")
    assert remote.update("main").after == main
    done = remote.update("wip/año")
    assert (done.before, done.after, done.changed) == (main, draft, (change("changed", "a.md"),))
    assert remote.files() == {"a.md": b"draft"}
    assert remote.update("main").after == main
    assert remote.files() == {"a.md": b"main"}


def test_another_remote_takes_the_clone_over(remote: Remote, tmp_path: Path) -> None:
    remote.work.write("a.md")
    remote.push()
    remote.update()
    (tmp_path / "other").mkdir()
    other = Remote(remote.work, tmp_path / "other")
    other.work.write("b.md")
    other.push()
    assert remote.update(url=str(other.bare)).changed == (change("added", "b.md"),)


def test_the_default_branch_may_change(remote: Remote) -> None:
    remote.work.write("a.md")
    remote.push()
    remote.update()
    remote.work.write("b.md")
    commit = remote.push(branch="trunk")
    remote.work.git("symbolic-ref", "HEAD", "refs/heads/trunk", folder=remote.bare)
    assert remote.update().after == commit


def test_the_first_push_is_awaited(remote: Remote) -> None:
    for branch in (None, "main"):
        with pytest.raises(RemoteRefused, match="has no commit yet"):
            remote.update(branch)
    assert not remote.clone.exists()
    remote.work.write("a.md")
    remote.push()
    assert remote.update().changed == (change("added", "a.md"),)


def test_an_emptied_repository_is_a_commit_like_any_other(remote: Remote) -> None:
    remote.work.write("a.md")
    remote.push()
    remote.update()
    remote.work.git("rm", "--quiet", "a.md")
    remote.work.root.mkdir(exist_ok=True)
    remote.push()
    assert remote.update().changed == (change("deleted", "a.md"),)
    assert remote.files() == {}
    assert remote.clone.is_dir()


def test_a_remote_that_is_shallow_itself(remote: Remote, tmp_path: Path) -> None:
    for number in range(3):
        remote.work.write("a.md", str(number))
        commit = remote.push(at=1_000_000_000 + number)
    shallow = tmp_path / "shallow"
    remote.work.git("clone", "--quiet", "--depth", "1", remote.bare.as_uri(), str(shallow))
    assert remote.update(url=str(shallow)).after == commit
    assert remote.files() == {"a.md": b"2"}


def test_a_repository_of_sha256(tmp_path: Path, repository: Repository) -> None:
    rmtree(repository.root / ".git")
    repository.git("init", "--quiet", "--object-format=sha256", "--initial-branch", "main")
    repository.write("a.md")
    commit = repository.commit(at=1_000_000_000)
    assert update(str(repository.root), None, tmp_path / "clone").after == commit
    assert list(git_dates(tmp_path / "clone")) == ["a.md"]


def test_the_clone_has_the_whole_history_for_its_dates(remote: Remote) -> None:
    remote.work.write("old.md")
    remote.push(at=1_000_000_000)
    remote.work.git("mv", "old.md", "moved.md")
    remote.work.write("new.md")
    remote.push(at=1_100_000_000)
    remote.update()
    dates = git_dates(remote.clone)
    assert dates.warnings == ()
    assert {source: int(date.at.timestamp()) for source, date in dates.items()} == {
        "moved.md": 1_000_000_000,
        "new.md": 1_100_000_000,
    }


# -- what is not brought along


def test_submodules_are_skipped(remote: Remote, tmp_path: Path) -> None:
    other = Repository(tmp_path / "other")
    other.root.mkdir()
    other.git("init", "--quiet")
    other.write("inside.md")
    other.commit(at=1_000_000_000)
    remote.work.write("a.md")
    remote.work.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.root), "sub")
    remote.push()
    changed = {item.source for item in remote.update().changed}
    assert changed == {".gitmodules", "a.md"}
    assert set(remote.files()) == {".gitmodules", "a.md"}


def test_pointers_of_git_lfs_stay_pointers(remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where Git LFS is set up for all of the user's repositories: nothing behind a pointer is fetched."""
    config = tmp_path / "gitconfig"
    config.write_text('[filter "lfs"]\nsmudge = echo smudged\nprocess = false\nclean = false\nrequired = true\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1\n"
    remote.work.write("scan.pdf", pointer)
    remote.work.write(".gitattributes", "")
    remote.push()
    remote.work.write(".gitattributes", "*.pdf filter=lfs diff=lfs merge=lfs -text\n")
    remote.push()
    remote.update()
    assert remote.files()["scan.pdf"].decode() == pointer
    assert is_lfs_pointer(remote.files()["scan.pdf"])


def test_links_out_of_the_clone_are_not_followed(remote: Remote) -> None:
    remote.work.link("hostname.md", "/etc/hostname")
    remote.work.write("a.md")
    assert remote.push()
    assert remote.update().changed == (change("added", "a.md"),)
    found = scan(remote.clone, rules=ScanRules(media_types((".md",)))).files
    assert found["hostname.md"].excluded == "a link to a file outside the vault"


def test_no_hook_of_the_user_runs(remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hooks = tmp_path / "template" / "hooks"
    hooks.mkdir(parents=True)
    for name in ["post-checkout", "post-merge", "reference-transaction", "post-index-change"]:
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\n")
        (hooks / name).chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(f"[init]\ntemplateDir = {hooks.parent}\n[core]\nhooksPath = {hooks}\nautocrlf = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    remote.work.write("a.md", "one\ntwo\n")
    remote.push()
    remote.update()
    assert remote.files() == {"a.md": b"one\ntwo\n"}
    assert not (tmp_path / "sprung").exists()


# -- our clone is ours


def test_local_changes_are_thrown_away(remote: Remote) -> None:
    remote.work.write("a.md", "theirs")
    remote.work.write("b.md")
    remote.push()
    remote.update()
    (remote.clone / "a.md").write_text("mine")
    (remote.clone / "b.md").unlink()
    assert remote.update().changed == ()
    assert remote.files() == {"a.md": b"theirs", "b.md": b"text"}
    (remote.clone / "c.md").write_text("mine")
    remote.work.write("d.md")
    remote.push()
    remote.update()
    assert set(remote.files()) == {"a.md", "b.md", "d.md"}


def test_a_folder_that_is_not_ours_is_not_touched(remote: Remote) -> None:
    remote.work.write("a.md")
    remote.push()
    remote.clone.mkdir(parents=True)
    remote.update()
    rmtree(remote.clone)
    remote.work.git("clone", "--quiet", str(remote.bare), str(remote.clone))
    (remote.clone / "mine.md").write_text("x")
    with pytest.raises(VaultUnavailable, match="not Vaultline's clone"):
        remote.update()
    assert (remote.clone / "mine.md").exists()


@pytest.mark.parametrize("lock", ["index", "HEAD", "refs/vaultline/wanted", "refs/vaultline/applied", "packed-refs"])
def test_locks_of_a_killed_update_are_removed(remote: Remote, lock: str) -> None:
    remote.work.write("a.md")
    remote.push()
    remote.update()
    (remote.clone / ".git" / f"{lock}.lock").write_text("")
    remote.work.write("b.md")
    remote.push()
    assert remote.update().changed == (change("added", "b.md"),)


@pytest.mark.parametrize("damage", ["HEAD", "objects", "index", "refs", ".git"])
def test_a_damaged_clone_is_made_anew(remote: Remote, damage: str) -> None:
    remote.work.write("a.md")
    remote.push()
    remote.update()
    path = remote.clone / ".git" if damage == ".git" else remote.clone / ".git" / damage
    if damage == ".git":
        rmtree(remote.clone)
    elif path.is_dir():
        rmtree(path)
    else:
        path.write_text("nonsense")
    remote.work.write("b.md")
    commit = remote.push()
    assert remote.update().after == commit
    assert set(remote.files()) == {"a.md", "b.md"}
    assert sorted(path.name for path in remote.clone.parent.iterdir()) == ["clone", "clone.lock"]


def test_an_update_that_is_killed_is_completed_by_the_next(remote: Remote) -> None:
    for number in range(300):
        remote.work.write(f"{number % 7}/{number}.md", "x" * 500)
    remote.push()
    code = "import sys; from pathlib import Path; from pipelines.vault.git_clone import update; "
    code += "print('go', flush=True); update(sys.argv[1], None, Path(sys.argv[2]))"
    for delay in (0.0, 0.02, 0.04, 0.06, 0.08):
        for number in range(300):
            remote.work.write(f"{number % 7}/{number}.md", f"{delay} {number}")
        commit = remote.push()
        command = [sys.executable, "-c", code, str(remote.bare), str(remote.clone)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            with contextlib.suppress(subprocess.TimeoutExpired):  # on a fast machine it may be done
                process.wait(delay)
            process.kill()
        assert remote.update().after == commit
        assert len(remote.files()) == 300
        assert remote.files()["5/5.md"].decode() == f"{delay} 5"


def test_the_git_of_a_killed_update_is_waited_for(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lives on for a moment; two at work on one clone would fight over its locks and refs."""
    remote.work.write("a.md")
    commit = remote.push()
    ssh = tmp_path / "ssh"
    ssh.write_text(  # the second conversation, which is the first update's fetch, takes its time
        f"#!/bin/sh\ncd '{tmp_path}'\necho >> calls\nshift\n"
        '[ "$(wc -l < calls)" -eq 2 ] && { touch fetching; sleep 2; touch finished; }\nexec sh -c "$*"\n'
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("GIT_SSH", str(ssh))
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")
    url = f"localhost:{remote.bare}"
    code = "import sys; from pathlib import Path; from pipelines.vault.git_clone import update; "
    code += "update(sys.argv[1], None, Path(sys.argv[2]))"
    with subprocess.Popen([sys.executable, "-c", code, url, str(remote.clone)]) as process:
        while not (tmp_path / "fetching").exists():
            assert process.poll() is None
            threading.Event().wait(0.01)
        process.kill()
    assert remote.update(url=url).after == commit
    assert (tmp_path / "finished").exists()


def test_two_updates_at_once_take_turns(remote: Remote) -> None:
    for number in range(100):
        remote.work.write(f"{number}.md")
    commit = remote.push()
    done: list[GitUpdate] = []
    threads = [threading.Thread(target=lambda: done.append(remote.update())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((update.before or "") for update in done) == ["", commit, commit, commit]
    assert {update.after for update in done} == {commit}


# -- since the last run that succeeded


def test_changes_since_any_commit(remote: Remote) -> None:
    remote.work.write("a.md", "1")
    first = remote.push()
    remote.update()
    remote.work.write("b.md")
    remote.push()
    remote.update()
    remote.work.write("a.md", "2")
    third = remote.push()
    remote.update()
    assert changes_between(remote.clone, first, third) == (change("changed", "a.md"), change("added", "b.md"))
    assert changes_between(remote.clone, third, third) == ()
    everything = (change("added", "a.md"), change("added", "b.md"))
    for unknown in (None, "0" * 40, "deadbeef", "not a commit", "--output=x"):
        assert changes_between(remote.clone, unknown, third) == everything


def test_changes_of_a_clone_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="cannot be read"):
        changes_between(tmp_path, None, "HEAD")


def test_a_file_that_becomes_a_link_is_deleted(remote: Remote) -> None:
    remote.work.write("a.md")
    remote.push()
    remote.update()
    (remote.work.root / "a.md").unlink()
    remote.work.link("a.md", "b")
    remote.push()
    assert remote.update().changed == (change("deleted", "a.md"),)


@pytest.mark.parametrize("subject", ["tab\tand \x1b[31mred", "x" * 5000, "  spaces  "])
def test_what_becomes_a_tag_is_short_and_printable(remote: Remote, subject: str) -> None:
    remote.work.write("a.md")
    remote.push(message=subject)
    told = remote.update().subject
    assert told.isprintable()
    assert 0 < len(told) <= 200
    assert told == told.strip()


# -- what goes wrong


def test_a_branch_that_is_not_there(remote: Remote) -> None:
    remote.work.write("a.md")
    remote.push()
    remote.update()
    with pytest.raises(RemoteRefused, match="has no branch 'mian'; check VAULT_GIT_BRANCH"):
        remote.update("mian")
    assert remote.files() == {"a.md": b"text"}


def test_a_remote_that_is_not_there(remote: Remote, tmp_path: Path) -> None:
    with pytest.raises(RemoteRefused, match=r"there is no repository at this address; check VAULT_GIT_URL"):
        remote.update(url=str(tmp_path / "gone"))
    assert not remote.clone.exists()


@pytest.mark.parametrize("url", ["", "  ", "--upload-pack=touch sprung", "-u", "ext::sh -c 'touch sprung'", "fd::3"])
def test_addresses_that_are_none(remote: Remote, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RemoteRefused):
        update(url, None, remote.clone)
    assert not list(tmp_path.rglob("sprung"))


def test_a_path_may_be_relative_or_begin_with_a_tilde(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    remote.work.write("a.md")
    commit = remote.push()
    monkeypatch.chdir(remote.bare.parent)
    assert remote.update(url="remote.git").after == commit
    monkeypatch.setenv("HOME", str(remote.bare.parent))
    assert remote.update(url="~/remote.git").after == commit
    assert remote.update(url=remote.bare.as_uri()).after == commit


def test_without_git(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(VaultUnavailable, match="git is not installed"):
        remote.update()


def test_nobody_listens(remote: Remote) -> None:
    with pytest.raises(RemoteUnreachable, match="cannot be reached") as caught:
        remote.update(url="http://ana:hunter2@127.0.0.1:1/notes.git")
    assert isinstance(caught.value, Transient)
    assert "hunter2" not in str(caught.value)


def test_a_remote_that_does_not_answer_in_time(remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ssh that hangs, as behind a firewall. Neither it nor what it started outlives the time-out."""
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\necho $$ > '{tmp_path}/pid'\nsleep 600\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("GIT_SSH", str(ssh))
    with pytest.raises(RemoteUnreachable, match="no answer within 1 seconds"):
        update("git@example.org:team/notes.git", None, remote.clone, timeout=1)
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return
        threading.Event().wait(0.05)
    raise AssertionError("ssh is still running")


def test_ssh_is_refused_without_being_asked(remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(
        f"#!/bin/sh\n(: < /dev/tty) 2> /dev/null && touch '{tmp_path}/terminal'\n"
        "echo 'git@example.org: Permission denied (publickey).' >&2\nexit 255\n"
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("GIT_SSH", str(ssh))
    with pytest.raises(RemoteRefused, match="does not accept our credentials"):
        remote.update(url="git@example.org:team/notes.git")
    assert not (tmp_path / "terminal").exists()


def test_a_home_that_cannot_be_written_to(remote: Remote) -> None:
    remote.work.write("a.md")
    remote.push()
    remote.clone.parent.write_text("a file")
    with pytest.raises(VaultError, match="cannot be written"):
        remote.update()


# -- by HTTP, with a password


class Handler(SimpleHTTPRequestHandler):
    expected = base64.b64encode(b"ana:p@ss/wo:rd").decode()
    status = 0

    def do_GET(self) -> None:
        if self.status:
            self.send_error(self.status)
        elif self.headers.get("Authorization") != f"Basic {self.expected}":
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="notes"')
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def http(remote: Remote) -> Iterator[str]:
    """Address (without scheme) of a server that gives out the bare repository to who knows the password."""
    remote.work.write("a.md")
    remote.push()
    remote.work.git("update-server-info", folder=remote.bare)
    Handler.status = 0
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(remote.bare.parent))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}/remote.git"
        server.shutdown()
        thread.join()


def test_a_password_in_the_address_reaches_the_server_and_nothing_else(remote: Remote, http: str) -> None:
    assert remote.update(url=f"http://ana:p%40ss%2Fwo%3Ard@{http}").changed == (change("added", "a.md"),)
    for path in remote.clone.parent.rglob("*"):
        if path.is_file():
            assert b"p@ss" not in path.read_bytes()
            assert b"p%40ss" not in path.read_bytes()


def test_the_password_is_on_no_command_line(
    remote: Remote, http: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(log))  # git writes the arguments of every program it runs
    remote.update(url=f"http://ana:p%40ss%2Fwo%3Ard@{http}")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert any("remote-http" in str(line.get("argv")) for line in lines)
    assert "p@ss" not in log.read_text()
    assert "p%40ss" not in log.read_text()


def test_gits_own_means_give_the_password(
    remote: Remote, http: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "credentials"
    store.write_text(f"http://ana:p%40ss%2Fwo%3Ard@{http.partition('/')[0]}\n")
    config = tmp_path / "gitconfig"
    config.write_text(f"[credential]\nhelper = store --file {store}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert remote.update(url=f"http://{http}").changed == (change("added", "a.md"),)


@pytest.mark.parametrize("user", ["", "ana:wrong@", "token-that-is-secret@"])
def test_a_wrong_or_missing_password_is_refused_without_a_question(remote: Remote, http: str, user: str) -> None:
    with pytest.raises(RemoteRefused, match="does not accept our credentials") as caught:
        remote.update(url=f"http://{user}{http}")
    assert "wrong" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "error"),
    [(403, RemoteRefused), (404, RemoteRefused), (500, RemoteUnreachable), (503, RemoteUnreachable)],
)
def test_what_a_server_answers(remote: Remote, http: str, status: int, error: type[VaultError]) -> None:
    Handler.status = status
    with pytest.raises(error, match=r"127\.0\.0\.1"):
        remote.update(url=f"http://{http}")
    assert not remote.clone.exists()
