"""The sparse vector technique: a stream of "at least?" questions in which only a yes is paid for.

How the pieces fit, from the facts to the answers:

- `value_sensitivity`: how far one person can move the values of a stream, and which way;
- `lattice`: the grid on which values, thresholds and noise all live;
- `rule`: one decision in lattice steps, and what it costs; all of it public;
- `pure`, `adaptive`, `gaussian`: the mechanisms, each a set of parameters that makes a rule (`stream_mechanism`);
- `stream`: the only thing that holds a secret, the noise of the threshold; it gives `answers`, and `stream_state` lets
  it survive a restart;
- `accuracy` (on `tails`), `estimates`, `advice`: how far off answers are, and what would be better;
- `correlation`: a question that is worth a stream, with its sensitivity proved.
"""
