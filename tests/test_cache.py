"""Machine code is kept on disk, and never outlives an edit of any source it was made from."""

import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rbgym
import rbgym.envs
from disks import room_for
from rbgym.compiled import cache as cache_module
from rbgym.compiled.cache import Sources, compiled_modules
from rbgym.compiled.record import Record

PHYSICS = Path(rbgym.__file__).parent
ENVS = Path(rbgym.envs.__file__).parent

# A module of the package with one small kernel, and what numba's cache had to say of a call.
SMALL = """
from rbgym.compiled.jit import compiled
from rbgym.compiled.record import Record
from rbgym.quaternion import scale

FACTOR = 3.0


class Rule(Record):
    def made_threefold(self, v):
        return scale(FACTOR, v)


@compiled
def threefold(x):
    return x + x + x


@compiled
def ruled(rule, v):
    return rule.made_threefold(v)
"""
CALL = """
import json, sys
import rbgym.small as small
result = small.ruled(small.Rule(), (1.0, 2.0, 2.0))
stats = small.ruled.stats
print(json.dumps({
    "file": small.__file__,
    "hits": sum(stats.cache_hits.values()),
    "misses": sum(stats.cache_misses.values()),
    "result": result,
}))
"""


def fresh(cache, code, *words):
    """A fresh process that runs this code, and keeps machine code in the folder `cache`."""
    command = [sys.executable, "-P", "-c", code, *words]
    how = {"env": {**os.environ, "NUMBA_CACHE_DIR": str(cache)}, "cwd": cache, "timeout": 300}
    return subprocess.run(command, check=True, capture_output=True, text=True, **how)


def run(cache, tree, before=""):
    """The report of a fresh process that imports the copy of rbgym in the folder `tree`."""
    code = f"import sys; sys.path.insert(0, {str(tree)!r})\n{before}\n{CALL}"
    return json.loads(fresh(cache, code).stdout)


def files(cache):
    return {path: path.stat().st_mtime_ns for path in Path(cache).rglob("*.nb?")}


@pytest.fixture
def cache(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


@pytest.fixture
def tree(tmp_path):
    """A copy of the sources, with the layout of the repository."""
    folder, skip = tmp_path / "tree", shutil.ignore_patterns("__pycache__")
    shutil.copytree(PHYSICS, folder / "rbgym", ignore=skip)
    shutil.copytree(ENVS, folder / "envs", ignore=skip)
    (folder / "rbgym" / "small.py").write_text(SMALL)
    return folder


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path.name}"
    path.write_text(text.replace(old, new))


def test_machine_code_is_loaded_by_the_next_process_until_the_physics_is_edited(cache, tree):
    """The entry point's own file stays as it is: numba alone would run the old physics."""
    first = run(cache, tree)
    assert first["file"] == str(tree / "rbgym" / "small.py")
    assert (first["hits"], first["misses"], first["result"]) == (0, 1, [3.0, 6.0, 6.0])
    written = files(cache)
    second = run(cache, tree)
    assert (second["hits"], second["misses"]) == (1, 0)
    assert written
    assert files(cache) == written

    edit(tree / "rbgym" / "quaternion.py", "(s * a[0], s * a[1], s * a[2])", "(a[0], a[1], a[2])")
    third = run(cache, tree)
    assert (third["hits"], third["misses"], third["result"]) == (0, 1, [1.0, 2.0, 2.0])


EXPERIMENTS = [
    "small.Rule.made_threefold = lambda self, v: (0.0, 0.0, 0.0)",
    "import rbgym.compiled.jit as jit\nsmall.scale = jit.inlined(lambda s, v: (0.0, 0.0, 0.0))",
]


def test_what_was_changed_in_a_running_process_leaves_no_machine_code(cache, tree):
    for experiment in EXPERIMENTS:
        changed = run(cache, tree, f"import rbgym.small as small\n{experiment}")
        assert changed["result"] == [0.0, 0.0, 0.0], experiment
        assert not files(cache), experiment
    run(cache, tree)
    assert run(cache, tree)["hits"] == 1
    for experiment in EXPERIMENTS:
        again = run(cache, tree, f"import rbgym.small as small\n{experiment}")
        assert (again["hits"], again["result"]) == (0, [0.0, 0.0, 0.0]), experiment


IN_KERNELS = ("rbgym/engine/kernels.py", "rbgym/integrators/krysl.py", "rbgym/rows.py",
              "envs/kernels.py", "envs/parts/igrf14.csv")  # fmt: skip
OTHERS = "envs/base.py", "rbgym/validation/cases.py", "rbgym/plot/style.py", "new.py"


@pytest.mark.parametrize("source", [*IN_KERNELS, *OTHERS])
def test_an_edit_of_what_is_compiled_changes_the_key_of_the_cache_and_no_other(tree, source):
    before = Sources(tree / "rbgym").digest
    path = tree / source
    path.write_text((path.read_text() if path.exists() else "") + "\n# edited\n")
    assert (Sources(tree / "rbgym").digest != before) == (source in IN_KERNELS)


def test_code_of_sources_that_were_edited_is_neither_kept_nor_loaded(load, tmp_path, monkeypatch):
    assert load()(7.0) == 21.0
    monkeypatch.setattr("rbgym.compiled.cache.SOURCES._unchanged", False)
    later = load()
    assert (later(7.0), later(7)) == (21.0, 21)
    assert hits(later) == 0
    assert len(code_files(tmp_path)) == 1


def test_an_edit_is_seen_and_stays_so_when_it_is_taken_back(tree):
    sources, path = Sources(tree / "rbgym"), tree / "envs" / "kernels.py"
    text, stat = path.read_bytes(), path.stat()
    assert sources.unchanged()
    path.write_bytes(text + b"\n")
    assert not sources.unchanged()
    path.write_bytes(text)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert not sources.unchanged()
    assert Sources(tree / "rbgym").digest == sources.digest


def test_a_checkout_beside_the_installed_one_is_imported_whole(cache, tree):
    code = f"import sys; sys.path.insert(0, {str(tree)!r})\nimport rbgym.envs"
    told = fresh(cache, f"{code}\nprint(rbgym.envs.__file__)").stdout
    assert told == f"{tree}/envs/__init__.py\n"


def test_from_an_archive_nothing_is_kept_on_disk(cache, tree):
    """There are no files that could tell of an edit."""
    (tree / "envs").rename(tree / "rbgym" / "envs")
    archive = shutil.make_archive(str(cache / "rbgym"), "zip", tree)
    code = f"import sys; sys.path.insert(0, {archive!r})\nimport rbgym.small as small\n"
    code += "print(small.__file__, type(small.ruled._cache).__name__)"
    done = fresh(cache, code)
    assert done.stdout == f"{archive}/rbgym/small.py NullCache\n"
    assert "the sources are in an archive; unpack it" in done.stderr


def test_every_module_that_holds_a_record_is_in_the_key():
    import rbgym.envs.base
    import rbgym.integrators.quat_em  # noqa: F401

    def descendants(cls):
        return {cls}.union(*map(descendants, cls.__subclasses__()))

    held = {cls.__module__ for cls in descendants(Record) if cls.__module__.startswith("rbgym.")}
    held.discard("rbgym.small")
    assert {"rbgym.integrators.quat_em", "rbgym.envs.parts.goals"} <= held
    assert held <= set(compiled_modules())


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Imports a small kernel, each time as a new process would."""
    file = tmp_path / "kernel" / "small.py"
    file.parent.mkdir()
    file.write_text(SMALL)
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "code"))

    def loaded():
        spec = importlib.util.spec_from_file_location("rbgym.small", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.threefold

    return loaded


def hits(kernel):
    return sum(kernel.stats.cache_hits.values())


def code_files(tmp_path):
    return sorted((tmp_path / "code").rglob("*.nbc"))


@pytest.mark.parametrize("home", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_code_of_the_packages_owner_serves_users_who_cannot_write_there(
    load, tmp_path, monkeypatch, recwarn, home, named
):
    def refuse(locator):
        if not home or "home" not in locator.get_cache_path():
            raise PermissionError(13, "Permission denied")

    if not named:
        monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert load()(7.0) == 21.0
    monkeypatch.setattr("numba.core.caching._CacheLocator.ensure_cache_path", refuse)
    user = load()
    assert (user(7.0), hits(user), len(recwarn)) == (21.0, 1, 0)
    assert user(7) == 21
    assert any("compiles: Permission denied" in str(one.message) for one in recwarn) != home


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: bytes(len(content)),
        lambda content: content[:5000] + bytes([content[5000] ^ 1]) + content[5001:],
        lambda content: b"\x80\x05" + content,
    ],
)
def test_damaged_machine_code_is_made_anew_and_mended(load, tmp_path, damage):
    assert load()(7.0) == 21.0
    (file,) = code_files(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    for found in (0, 1):
        later = load()
        assert (later(7.0), hits(later)) == (21.0, found)


def test_machine_code_under_the_name_of_another_is_not_run(load, tmp_path):
    first = load()
    assert first(7.0) == 21.0
    (real,) = code_files(tmp_path)
    assert first(7) == 21
    (whole,) = set(code_files(tmp_path)) - {real}
    whole.write_bytes(real.read_bytes())
    again = load()
    assert again(7) == 21
    assert isinstance(again(7), int)
    assert hits(again) == 0


def test_processes_that_compile_at_once_each_keep_their_code(load, tmp_path):
    """With an index that both had read before, the second would have written over the first."""
    kernels = [load() for _ in range(3)]
    for kernel, x in zip(kernels, (7.0, 7, 7j), strict=True):
        assert kernel(x) == 3 * x
    later = load()
    for x in (7.0, 7, 7j):
        assert later(x) == 3 * x
    assert hits(later) == 3
    assert len(code_files(tmp_path)) == 3


def test_a_disk_without_room_costs_a_warning_and_leaves_no_half_file(load, tmp_path):
    kernel = load()
    with room_for(1000), pytest.warns(RuntimeWarning, match="cannot be kept on disk.*too large"):
        assert kernel(7.0) == 21.0
    assert [path for path in (tmp_path / "code").rglob("*") if path.is_file()] == []


def test_without_a_folder_to_write_to_code_is_made_in_each_process(load, monkeypatch):
    monkeypatch.setattr(cache_module._Folder, "_locator_classes", ())
    with pytest.warns(RuntimeWarning, match="no locator available"):
        kernel = load()
    assert kernel(7.0) == 21.0


def test_a_file_that_another_user_may_have_written_is_not_unpickled(load, tmp_path):
    was = os.umask(0)
    assert load()(7.0) == 21.0
    os.umask(was)
    (file,) = code_files(tmp_path)
    assert not (file.stat().st_mode | file.parent.stat().st_mode) & 0o022
    for path, mode in ((file, 0o666), (file.parent, 0o777)):
        was = path.stat().st_mode
        path.chmod(mode)
        second = load()
        with pytest.warns(RuntimeWarning, match="others can write"):
            assert second(7.0) == 21.0
        assert hits(second) == 0
        path.chmod(was & 0o755)
    file.chmod(0o644)
    file.rename(file.with_suffix(".real"))
    file.symlink_to(file.with_suffix(".real"))
    second = load()
    with pytest.warns(RuntimeWarning, match="others can write"):
        assert second(7.0) == 21.0
    assert hits(second) == 0


STEPS = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
from fuzzing.digests import digest
print([digest("RigidTop-v0", 60, lanes=lanes, integrator="exact:4") for lanes in (1, 300)])
"""
WARM = """
from rbgym.agents.commands.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
"""


@pytest.mark.slow
def test_what_was_warmed_is_not_compiled_again_and_has_the_same_bits_where_it_is_loaded(tmp_path):
    pytest.importorskip("typer")
    warm = ["warm", "RigidTop-v0", "-i", "exact:4", "--json"]
    *told, compiled = fresh(tmp_path, WARM + STEPS, *warm).stdout.splitlines()
    (row,) = json.loads("".join(told))
    assert (row["env"], row["integrator"]) == ("RigidTop-v0", "exact:4")
    assert row["seconds"] > 0
    written = files(tmp_path)
    kernels = sorted(path.name.split("-")[0] for path in written)
    assert kernels == ["kernels.measure", "kernels.period"]  # the digest reads states
    assert fresh(tmp_path, STEPS).stdout == f"{compiled}\n"
    assert files(tmp_path) == written


@pytest.mark.parametrize("at_terminal", [True, False])
def test_a_long_compilation_is_spoken_of_once_and_at_a_terminal_alone(monkeypatch, at_terminal):
    class Stream(io.StringIO):
        def isatty(self):
            return at_terminal

    monkeypatch.setattr(sys, "stderr", stream := Stream())
    monkeypatch.setattr(cache_module, "PATIENCE", 0.01)
    monkeypatch.setattr(cache_module, "_announced", [])
    with cache_module.announce_if_slow():
        pass
    assert not stream.getvalue()
    for _ in range(2):
        with cache_module.announce_if_slow():
            time.sleep(0.3)
    line = "rbgym: compiling; later processes load it from disk\n"
    assert stream.getvalue() == line * at_terminal
