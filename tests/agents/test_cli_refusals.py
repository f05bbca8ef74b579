"""Every option with a wrong value: one line on stderr, exit status 2, and nothing written. The page
that `rbgym` alone shows, every command's examples, and what the shell completes."""

import json
import re
import subprocess
import sys

import pytest

pytest.importorskip("typer")

import typer
from typer.main import get_command
from typer.testing import CliRunner

from rbgym.agents import controllers
from rbgym.agents.cases import SHIPPED
from rbgym.agents.commands import options
from rbgym.agents.commands.app import PANELS, examples_of
from rbgym.agents.commands.cli import app
from rbgym.registration import ENVIRONMENTS

pytestmark = pytest.mark.interpreted

ROOT = get_command(app)
GROUP = typer.Context(ROOT, info_name="rbgym")
NAMES = ROOT.list_commands(GROUP)
COMMANDS = {name: ROOT.get_command(GROUP, name) for name in NAMES}

# Command, argument or option, wrong values and words of the message. `file` and `folder` are there,
# `nowhere` is not.
PPO = "train RigidTop-v0 --algo ppo"
FLY = "campaign RigidTop-v0 --policy pd --out x"
WRONG = [
    ("list", "--module", ["nowhere"], "No module named 'nowhere'"),
    ("list", "--module", [".x", "folder/x", "x..y"], "--module must be the name of a module"),
    ("simulate", "--integrator", ["akv"], "did you mean 'akw'"),
    ("simulate", "--inertia", ["1,2", "1,2,x"], "'--inertia': must be 3 or 9 comma-separated"),
    ("simulate", "--omega", ["1,2", "1," * 20_000], "must be 3 comma-separated numbers, got '1,"),
    ("simulate", "--quaternion", ["1,0,0"], "'--quaternion': must be 4 comma-separated numbers"),
    ("simulate", "--dt", ["0", "-1", "nan", "inf"], "dt must be a positive finite number"),
    ("simulate", "--steps", ["0", "-5"], "'--steps': Input should be greater"),
    ("simulate", "--mgl", ["nan", "inf"], "mgl must be finite"),
    ("simulate", "--record-every", ["0", "-3"], "'--record-every': Input should be greater"),
    ("simulate", "--csv", ["folder", "nowhere/x", "/dev/stdout"], "must be a writable file in an"),
    ("simulate", "--plot", ["folder", "nowhere/x.png"], "must be a writable file"),
    ("simulate --csv x.csv", "--plot", ["x.xyz"], "'--plot': must end in one of"),
    ("simulate --csv x.svg", "--plot", ["x.svg", "folder/../x.svg"], "must be two files, got"),
    ("train", "env", ["RigidTip-v0", "RigidTop", "rigidtop-v0"], "did you mean 'RigidTop-v0'?"),
    ("train RigidTop-v0", "--algo", ["apgg"], "got 'apgg'; did you mean 'apg'"),
    ("train", "env", ["CartPole-v1"], "env_id must be a task of rbgym"),
    ("train --algo ppo", "env", ["CartPole-v1"], "env_id must be of an env with a native vector"),
    ("train RigidTop-v0", "--out", ["file", "file/x"], "must be a writable folder"),
    ("train RigidTop-v0", "--out", ["\udcff"], "must be a printable name, got"),
    (PPO, "--hyperparameters", ["/dev/zero"], "hyperparameters must be a file"),
    ("train RigidTop-v0", "--seed", ["-1"], "'--seed': Input should be greater"),
    (PPO, "--timesteps", ["0", "-1", "1.5", "inf"], "must be a "),
    (PPO, "--hyperparameters", ["nowhere", "folder"], "'--hyperparameters'"),
    (PPO, "--set", ["n_epoch=2"], "did you mean 'n_epochs'"),
    (PPO, "--set", ["n_epochs", "=2"], "'--set': must be KEY=VALUE"),
    (PPO, "--set", ["x=" + "[" * 900, "x=&a[*a]", "x=1:30", "x=1:30.5"], "x must be YAML: "),
    ("train RigidTop-v0", "--env-arg", ["dt=-1"], "dt must be a positive finite number"),
    (PPO, "--checkpoint-every", ["-1"], "'--checkpoint-every': must be a whole"),
    (PPO, "--evaluate-every", ["-1"], "'--evaluate-every': must be a whole"),
    (PPO, "--threads", ["0"], "'--threads': Input should be greater"),
    ("train RigidTop-v0 --algo apg", "--checkpoint-every", ["9"], "checkpoint_every plays no part"),
    ("train RigidTop-v0", "--threads", ["2"], "threads plays no part with auto"),
    ("train RigidTop-v0", "--teacher", ["lqrr", "lqrr --explain"], "did you mean 'lqr'"),
    ("train RigidTop-v0 --explain", "--set", ["rounds=-5"], "rounds must be a positive integer"),
    ("train RigidTop-v0 --seeds 2", "--seed", [f"{2**32 - 1}"], "seeds must end below 2**32"),
    ("train RigidTop-v0", "--seeds", ["0", "x"], "'--seeds': "),
    ("train RigidTop-v0", "--init-from", ["nowhere"], "'--init-from': "),
    (PPO, "--teacher", ["lqr"], "--teacher plays no part with ppo"),
    ("train RigidTop-v0 --teacher pd", "--set", ["teacher=lqr", "x=1 --set x=2"], "each key once"),
    (f"{PPO} --timesteps 9", "--set", ["n_timesteps=5"], "--set must leave n_timesteps to --time"),
    ("evaluate pd", "--split", ["tests"], "did you mean 'test'"),
    ("evaluate pd", "--seed", ["3"], "seed must be left out"),
    ("export --c out", "policy", ["pdd"], "did you mean 'pd'"),
    ("export", "policy", ["pd"], "--c or --onnx must name a folder"),
    ("export pd --c out", "--env", ["RigidTip-v0"], "did you mean 'RigidTop-v0'?"),
    ("export pd --c out", "--gain", ["frequenzy=2"], "did you mean 'frequency'"),
    ("export pretrained --c out", "--gain", ["frequency=2"], "--gain must be left out"),
    ("export pd", "--c", ["file", "file/x"], "must be a writable folder"),
    ("export pretrained", "--onnx", ["file", "file/x"], "must be a writable folder"),
    ("evaluate", "targets", ["pdd"], "did you mean 'pd'"),
    ("evaluate", "targets", ["folder"], "'folder/policy.json' is not there"),
    ("evaluate", "targets", ["RigidTop-v0"], "--policy must name a controller"),
    ("evaluate RigidTop-v0", "--policy", ["file"], "or a folder, got"),
    ("evaluate pd", "--env", ["CartPole-v1"], "env_id must be a task of rbgym"),
    ("evaluate pd", "--env", [":RigidTop-v0"], "env_id must name a module, got ':RigidTop-v0'"),
    ("evaluate pd", "--episodes", ["0", "-1"], "'--episodes': Input should be"),
    ("evaluate pd AttitudeSlew-v1 --intervals", "--policy", ["pretrained-behind"], "be of one env"),
    ("evaluate pd", "--plot", ["folder", "nowhere/x.png"], "must be a writable file"),
    ("evaluate pd", "--video", ["x.avi"], "--video must"),
    ("evaluate pd --video x.gif", "--plot", ["x.gif"], "--plot and --video must be two files"),
    ("evaluate pd --video x.gif", "--video-episode", ["-1"], "Input should be greater"),
    ("evaluate pd --episodes 8 --video x.gif", "--video-episode", ["8"], "from 0 to 7, got 8"),
    ("evaluate pd", "--video-episode", ["2"], "--video-episode must be left out without --video"),
    ("evaluate pretrained", "--env-arg", ["observation=mrp"], "policy must be trained for"),
    ("card", "env", ["CartPole-v1", "CartPole-v1 --explain"], "env_id must be a task of rbgym"),
    ("card RigidTop-v0", "--policy", ["pdd"], "did you mean 'pd'"),
    ("card RigidTop-v0", "--episodes", ["0"], "'--episodes': Input should be greater"),
    ("card RigidTop-v0", "--out", ["file/x"], "must be a writable folder"),
    ("campaign --policy pd --out x", "target", ["RigidTip-v0", "file"], "env_id must be reg"),
    ("campaign RigidTop-v0 --out x", "--policy", ["pdd"], "did you mean 'pd'"),
    (FLY, "--runs", ["0", "x"], "'--runs': "),
    (FLY, "--spread", ["nowhere", "folder"], "--spread must be a file"),
    (FLY, "--spread", ["file"], "--spread must hold a mapping by name, got 'whole'"),
    (FLY, "--require", ["file"], "--require must hold a mapping by name, got 'whole'"),
    ("campaign RigidTop-v0 --policy pd", "--out", ["file", "file/x"], "must be a writable folder"),
    (FLY, "--env-arg", ["dt=-1"], "dt must be a positive finite number"),
    (FLY, "--seed", ["-1"], "'--seed': Input should be greater"),
    (FLY, "--window", ["-1", "1e9"], "window"),
    (FLY, "--jobs", ["0"], "'--jobs': Input should be greater"),
    ("campaign folder", "--replay", ["3"], "--replay must name a run of a campaign"),
    ("campaign folder", "--video", ["x.gif"], "--replay must name a run"),
    ("view", "--env", ["CartPole-v7"], "did you mean 'CartPole-v1'?"),
    ("view", "--env", ["CartPole-v1"], "env_id must be a task of rbgym"),
    ("view", "--integrator", ["akv"], "did you mean 'akw'"),
    ("view", "--integrator", ["akw -i imid -i trap -i rrr"], "must name at most 3 each, got 4"),
    ("view --env RigidTop-v0", "--policy", ["pdd"], "did you mean 'pd'"),
    ("view", "--policy", ["pd"], "--policy plays no part with a free body"),
    ("view", "--dt", ["0", "nan"], "dt must be a positive finite number"),
    ("view --env RigidTop-v0", "--dt", ["0.1"], "--dt plays no part with RigidTop-v0"),
    ("view", "--env-arg", ["dt=0.1"], "--env-arg plays no part with a free body"),
    ("view --env RigidTop-v0 -i akw", "--env-arg", ["integrator=imid"], "must name each key once"),
    ("view", "--inertia", ["1,2"], "'--inertia': must be 3 or 9 comma-separated numbers"),
    ("view", "--omega", ["1,2"], "'--omega': must be 3 comma-separated numbers"),
    ("view", "--tilt", ["nan"], "tilt must be finite"),
    ("view", "--mgl", ["nan", "inf"], "mgl must be finite"),
    ("view --env RigidTop-v0", "--seed", ["-1"], "'--seed': Input should be greater"),
    ("view", "--speed", ["3"], "Invalid value for '--speed'"),
    ("view", "--host", ["192.0.2.1"], "host must be this machine's address"),
    ("view", "--port", ["-1", "65536"], "'--port': Input should be"),
    ("validate", "names", ["akv"], "did you mean 'akw'"),
    ("validate akw", "--case", ["moon"], "cases must be among"),
    ("validate akw", "--steps", ["0", "-2"], "'--steps': Input should be greater"),
    ("validate akw", "--jobs", ["0", "-1"], "'--jobs': Input should be greater"),
    ("validate akw --external", "--case", ["none"], "--case plays no part with --external"),
    ("validate akw --derivatives", "--steps", ["7"], "--steps plays no part with --derivatives"),
    ("validate akw --quick", "--steps", ["7"], "--steps plays no part with --quick"),
    ("warm", "ids", ["RigidTip-v0", "RigidTop-v0 RigidTip-v0"], "did you mean 'RigidTop-v0'?"),
    ("warm RigidTop-v0", "--integrator", ["akv"], "did you mean 'akw'"),
    ("warm RigidTop-v0", "--jobs", ["0", "-1"], "'--jobs': Input should be greater"),
    ("warm RigidTop-v0 -i akw", "--env-arg", ["integrator=imid"], "must name each key once"),
]
# What no environment takes by a command: names that others have, names within the environment, and
# limits that are none. Where an episode is only shown or exported, it may go on for ever.
OF_ENVS = [
    ("id=1 episodes=3 num_envs=2 wrappers=1", "arguments of the environment alone"),
    ("self=nan size=2", "an env takes"),
    ("max_episode_steps=abc max_episode_steps=nan max_episode_steps=0",
     "max_episode_steps must be a positive integer, got"),
]  # fmt: skip
MAKE_ENVS = ["train RigidTop-v0", "export pd --c out", "export pretrained --c out", "evaluate pd",
             "evaluate pretrained", "card RigidTop-v0", "view --env RigidTop-v0",
             "view --env RigidTop-v0 --policy pretrained", "warm RigidTop-v0"]  # fmt: skip
for start in MAKE_ENVS:
    WRONG += [(start, "--env-arg", values.split(), said) for values, said in OF_ENVS]
CASES = [
    (f"{start} {'' if name[0] != '-' else name} {value}".split(), message)
    for start, name, values, message in WRONG
    for value in values
] + [
    (["simulat"], "Did you mean 'simulate'? (see rbgym --help)"),
    (["simulate", "--stps", "3"], "--steps) (see rbgym simulate --help)"),
    (["train"], "Missing argument"),
    (["evaluate", "RigidTop-v0", "Detumble-v1", "pd"], "got ['RigidTop-v0', 'Detumble-v1']"),
    (["validate", "akw", "--external", "--quick"], "--quick plays no part with --external"),
]


@pytest.mark.parametrize(("arguments", "message"), CASES, ids=lambda x: str(x)[:60])
def test_a_wrong_value_or_word_ends_with_one_line_and_status_2(
    arguments, message, tmp_path, monkeypatch
):
    if arguments[0] == "train":
        pytest.importorskip("stable_baselines3")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("whole")
    done = CliRunner().invoke(app, arguments, prog_name="rbgym")
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert done.stderr.startswith("rbgym: ")
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 2100  # however long a value is
    assert not re.search(r"<class|<function| object at |Path\(|np\.|array\(", done.stderr)
    assert not done.stdout
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "whole"


def test_a_wrong_value_of_every_option_is_tried():
    tried = {(start.split()[0], "--integrator" if name == "-i" else name)
             for start, name, *_ in WRONG}  # fmt: skip
    there = set()
    for name, command in COMMANDS.items():
        for one in command.params:
            if not getattr(one, "is_flag", False):  # an argument, or an option with a value
                long = [text for text in one.opts if text.startswith("--")]
                there.add((name, long[0] if long else one.name))
    assert tried == there - {("view", "--name")}  # any name will do


MISTYPED = """\
list --nope
simulate -i akv
train RigidTop
train RigidTop-v0 --env-arg difficulti=1
evaluate pdd
card RigidTop-v0 --policy pdd
view --port 70000
validate akw --jobs 0
""".splitlines()

RUN = """
import json, sys
from typer.testing import CliRunner
from rbgym.agents.commands import options
from rbgym.agents.commands.cli import app
for line in json.load(sys.stdin):
    done = CliRunner().invoke(app, line.split(), prog_name="rbgym")
    assert (done.exit_code, done.stderr.count("\\n")) == (2, 1), (line, done.output)
    print(line)
heavy = {"numba", "torch", "stable_baselines3", "matplotlib"} & sys.modules.keys()
assert not heavy, heavy
"""


def test_mistyped_words_are_refused_before_what_is_heavy_is_imported(tmp_path):
    code, lines = [sys.executable, "-P", "-c", RUN], json.dumps(MISTYPED)
    done = subprocess.run(code, input=lines, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == MISTYPED


@pytest.mark.parametrize(
    ("name", "resumes"), [("list", False), ("train", True), ("campaign", True)]
)
def test_an_interrupted_command_says_whether_it_continues(name, resumes, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(COMMANDS[name]), "invoke", interrupted)
    done = CliRunner().invoke(app, [name, "RigidTop-v0"][: 1 + resumes])
    assert done.exit_code == 130
    assert done.stderr.startswith("rbgym: interrupted")
    assert ("continues" in done.stderr) == resumes


LACKING = """
import sys, gymnasium, pytest, rbgym.agents
from rbgym.agents import controllers, export, train
for line in sys.argv[1:]:
    module, extra, call = line.split(" ", 2)
    sys.modules[module] = None
    with pytest.raises(ModuleNotFoundError, match=f"pip install 'rbgym.{extra}.'"):
        eval(call)
"""
CALLS = [
    "safetensors cli rbgym.agents.load('RigidTop-v0')",
    "matplotlib plot rbgym.plot",
    "joblib campaign rbgym.agents.campaign",
    "scipy.linalg agents controllers.make('lqr', gymnasium.make('RigidTop-v0'))",
    "stable_baselines3 agents train.make_sb3_env",
    "yaml agents train.train('RigidTop-v0', 'ppo', out='runs/none')",
    "onnx onnx export.export_onnx('.', None, None)",
]


def test_without_its_extra_the_command_line_and_a_call_say_what_to_install():
    code = "import sys; sys.modules['typer'] = None; import rbgym.agents.commands.cli"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "rbgym: the command line needs pip install 'rbgym[cli]'\n"
    subprocess.run([sys.executable, "-P", "-c", LACKING, *CALLS], check=True)


@pytest.mark.parametrize(("text", "number"), [("1e6", 1_000_000), ("2.5e3", 2500), ("0", 0)])
def test_steps_may_be_written_in_powers_of_ten(text, number):
    assert options.whole(text) == number


def test_rbgym_alone_shows_the_commands_in_groups_and_three_examples():
    page = CliRunner().invoke(app, [], prog_name="rbgym")
    assert page.exit_code == 0
    assert page.stdout == CliRunner().invoke(app, ["--help"], prog_name="rbgym").stdout
    lines = page.stdout.splitlines()
    first = [line.split()[0] for line in lines if line.startswith("  ")]
    assert [word for word in first if word in NAMES] == NAMES
    assert len(examples_of(ROOT)) == 3
    assert all(f"    {line}" in lines for line in examples_of(ROOT))
    assert len(lines) < 40
    assert {command.rich_help_panel for command in COMMANDS.values()} == set(PANELS)


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_every_command_ends_with_two_or_three_examples(name):
    shown = CliRunner().invoke(app, [name, "--help"], prog_name="rbgym").stdout
    examples = examples_of(COMMANDS[name])
    assert len(examples) in (2, 3)
    assert all(line.startswith(f"rbgym {name}") for line in examples)
    assert shown.endswith("\n".join(["  Examples:", *(f"    {line}" for line in examples), ""]))


def completed(shell: str, line: str) -> list[str]:
    """What the shell offers for the last word of the line."""
    typed = line.split(" ")
    bash = {"COMP_WORDS": line, "COMP_CWORD": str(len(typed) - 1)}
    given = bash if shell == "bash" else {"_TYPER_COMPLETE_ARGS": line}
    environment = {"_RBGYM_COMPLETE": f"complete_{shell}", **given}
    done = CliRunner().invoke(app, [], env=environment, prog_name="rbgym")
    if shell == "bash":
        return done.stdout.split()
    return re.findall(r'^(?:_arg.*?\(\()?"(\S+?)"', done.stdout, re.MULTILINE)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize(
    ("line", "offered"),
    [("rbgym ", NAMES),
     ("rbgym train Attitude", [e for e in ENVIRONMENTS if e.startswith("Attitude")]),
     ("rbgym simulate -i ak", ["akw", "akw_dg"]),
     ("rbgym validate quat_em r", ["rrr", "rkn4"]),
     ("rbgym validate --case s", ["soft_wall"]),
     ("rbgym train RigidTop-v0 --algo s", ["sac"]),
     ("rbgym evaluate RigidTop-v0 --policy ", [*controllers.names(), *SHIPPED]),
     ("rbgym evaluate RigidTop-v0 p", ["pd", "pid", *SHIPPED])],
)  # fmt: skip
def test_the_shell_completes_the_names_of_the_catalogues(
    shell, line, offered, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert completed(shell, line) == offered
