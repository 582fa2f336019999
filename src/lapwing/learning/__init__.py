"""Private gradient descent: models of people, trained under one price (`docs/learning.md`). A guest of the session.

::

    train       the verbs: what a training would cost, and training
    features    columns as whole numbers, scaled by what is declared
    networks    named architectures, in exact whole numbers: their errors and inputs, layer by layer
    descent     the steps: weights, velocity, and what a part of a training commits
    modules     a custodian's own module of PyTorch
    devices     where it is computed
    model       what was trained: predictions, its card, its file
"""
