"""The sparse vector technique: a stream of "at least?" questions in which only a yes is paid for.

How the pieces fit, from the facts to the answers:

- `movement`: how far one person can move the values of a stream;
- `lattice`: the grid on which values, thresholds and noise all live;
- `rule`: one decision in lattice steps, and what it costs; all of it public;
- `pure`, `numeric`, `adaptive`, `gaussian`: the mechanisms, each a set of parameters that makes a rule;
- `stream`: the only thing that holds a secret, the noisy threshold; `sealing` lets it survive a restart;
- `tails`, `accuracy`, `intervals`, `textbook`, `advice`: how far off the answers are, and what would be better.
"""
