"""Training with Ray RLlib, on one machine or on a cluster: `rbgym train --engine rllib`.

`training` is what to call, `settings` the algorithm's configuration, `lanes` the environment of an
env runner, `policy` what is left of a trained policy: arrays that need no Ray to be used.
"""
