"""The zoo: failures reproduced on purpose, each beside a healthy twin that differs in one line.

Real networks, real data that come with packages, one file per specimen in `specimens/`. The detectors are scored on
them (`bedside zoo score`), a learner can watch one (`bedside zoo run NAME`), and the guide to hang above the desk is
made from them (`bedside zoo guide`).
"""
