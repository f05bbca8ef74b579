"""Mistyped command lines, refused before anything is imported that computes."""

LINES = """\
list --nope
lst
simulate --stps 3
simulate --inertia 1,2
simulate --omega 1,2,x
simulate --steps 0
simulate --dt x
simulate --csv nowhere/x.csv
train
train RigidTop
train RigidTop-v0 --algo pppo
train RigidTop-v0 --timesteps 0
train RigidTop-v0 --set gamma
train RigidTop-v0 --hyperparameters nowhere.yml
evaluate pdd
evaluate RigidTop-v0
evaluate RigidTop-v0 Detumble-v1 pd
evaluate RigidTop-v7 --policy pd
evaluate pd --episodes 300
card RigidTop-v0 --policy pdd
view --env RigidTip-v0
view --speed 3
view --port 70000
bench --rounds 0
validate akw --jobs 0
evaluate pd --env Detumble-v7
simulate -i exact:4 --potential heavytop
simulate -i akv
validate akv
train RigidTop-v0 --env-arg difficulti=1
""".splitlines()
