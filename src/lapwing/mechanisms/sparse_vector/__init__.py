"""The sparse vector technique: a stream of "at least?" questions in which only a yes is paid for.

How the pieces fit, from the facts to the answers:

- `value_sensitivity`: how far one person can move the values of a stream, and which way;
- `rule`: one decision in steps of the lattice on which values, thresholds and noise live, its cost, and what it
  releases; all of it public but the state of a stream, sealed to survive a restart;
- `pure`, `adaptive`, `gaussian_stream`: the mechanisms, each parameters that make a rule (`stream_mechanism`);
- `stream`: the only thing that holds a secret, the noise of the threshold;
- `stream_accuracy` (on `law_probabilities`), `stream_advice`: how far off answers are, and what would be better;
- `correlation`: a question that is worth a stream, with its sensitivity proved.
"""
