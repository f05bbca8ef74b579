"""Values that mean no good, by what they pretend to be."""


def _each(text):
    return text.split()


NUMBERS = _each("""
    nan NaN -nan inf -inf Infinity 1e400 -1e400 1e-400 -0 0 -1 1 2 3 7 1.5 .5 1e3 0x10 1_0
    1__0 ١٢ ½ 1,5 1e 1e5000 True None 2147483648 -9223372036854775809 18446744073709551616
    """)
NUMBERS += ["9" * 300, "9" * 5000, "0." + "0" * 400 + "1", " 1", "1 ", "+1", "--1", "- 1", "1e-300"]
LISTS = _each("""
    nan,nan,nan inf,1,1 1e400,1,1 0,0,0 0,0,0,0 -1,-1,-1 1,1 1,1,1,1,1 ,, 1,,1 1;1;1 1,1,1
    1e308,1e308,1e308 1e-320,1e-320,1e-320 1,1,1e-320 1e-320,0,0,0 1e308,1e308,1e308,1e308 1,0,0,0
    1,2,3,4,5,6,7,8,9 1e308,0,0,0,1e308,0,0,0,1e308 [1,2,3] 1e200,1e200,1e-200
    """)
WORDS = _each("""
    null %s%n {} {0.__class__} $(touch${IFS}pwned) `touch${IFS}pwned` ../../.. - -- --- -h
    --help --json os antigravity.nowhere os.system .. .x x..y pd pretrained akw RigidTop-v0 RigidTop
    -v0 nowhere:RigidTop-v0 :RigidTop-v0 rbgym:RigidTop-v0 a:b:RigidTop-v0 ALE/Pong-v5 CartPole-v1
    Detumble-v1 AttitudeSlew-v1 [red] [/] [bold quat_em:4 akw:2 akw:nan imidm:999999 exact
    sqlite:// sqlite:///:memory: mysql://x http://[ :// journal:x 0.0.0.0 ::1 [::1] 999.9.9.9
    apg sac ppo none heavy_top 1/10 auto
    """)
WORDS += ["", " ", "\t", "a\nb", "\r", "\x1b[31mred\x1b[0m", "\x07", "\u202egpj", "\udcff", "💥"]
WORDS += ["é" * 300, "x" * 20_000, "'; DROP TABLE studies; --", "\x00"]
PATHS = _each("""
    file folder nowhere nowhere/x.png file/x.png folder/ ./folder/../file loop loop/x.csv
    dangling dangling/x.csv run torn torn.zip bad.yml deep.yml x.foo x.svg .png x. ~/x.png link
    full full/x /proc/self/mem /proc/x.csv x.csv x.png x.gif x.mp4 x.html card
    """)
PATHS += ["a b.csv", "x" * 255 + ".csv", "y" * 240 + ".png", "/" * 300 + "file"]
PLAIN = _each("""
    nan .nan .inf -.inf 1e400 null ~ true [] {} [[]] [1,2] {a:1} *a &a[*a] {<<:1} 0o17 0x1f
    2026-13-45 2026-01-01 1:30:00 -1 0 0.0 1e-400 1e308 'x' %TAG --- ... - lin_nan lin_-1 lin_
    lin_1e400 lin_1 akw none relu ReLU Module nn.ReLU !!python/name:os.system dict(a=1) 7 0.5 2
    dict(a=__import__('os').system('touch${IFS}pwned')) wheels thrusters normal zeros
    """)
PLAIN += [
    "", "!!python/object/apply:os.system ['touch pwned']", "!!binary AAAA", "!!set {a}", "!x y",
    "&a [*a]", "{a: &b {c: *b}}", "{<<: *x}", "{<<: [1]}", "[" * 3000, "{a: " * 1000, "x: y: z",
    "9" * 5000, "9" * 30, '"\\x00"', "\x00", "\x1b", "é", "? [a]: b", "{[a]: b}", "{a: 1, a: 2}",
    "!!int 7x", "!!float x", "!!timestamp x", "{name: akw}", "- a\n- b", "[1, 0, 0, 0]", "[.nan]",
]  # fmt: skip
PLAIN += ["[6, 8, 3]", "[6, 8, 30]", "{angle: 1}", "{torque: [1, 2]}", "[1e308, 1e308, 1e308]"]
HYPERPARAMETERS = _each("""
    n_envs n_steps batch_size learning_rate clip_range gamma policy n_epochs
    policy_kwargs normalize ent_coef vf_coef target_kl use_sde n_timesteps max_grad_norm net_arch
    population sigma generations rates tau buffer_size train_freq
    """)
