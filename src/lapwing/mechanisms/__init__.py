"""The releases: one file a mechanism or a kind of noise, each mechanism with one theorem, one proof and one shape.

A mechanism is built from exact, keyword-only parameters: how far one person can move the value (its *sensitivity*), and
one way to set the amount of noise: a price (`epsilon`, or `rho`, or `epsilon` and `delta`), the noise itself
(`scale`, `sigma`), or an accuracy (`within=20, confidence="0.95"`). It then has

- `event`: what it does, as data in exact numbers, for ledgers and accountants;
- `loss`: what that costs, in every currency;
- `release(value)`: the one place where a value without noise is opened. The value may be plain or `Sensitive`;
- `margin(confidence)` and `confidence(margin)`: how far the answer may be off. Where many values are released together,
  that is each of them by itself; `values=20` makes it one that 20 of them keep all at once. Proof: proofs/margins.md;
- `law`, or `noise_scale` where it chooses: the law of its noise, for auditors.

Refusals happen at construction. `release` refuses only errors of a program that do not depend on the data (a string for
a number, a vector of the wrong length); every value of the right type is released, since a refusal that depends on the
data would reveal data.
"""

from lapwing.vocabulary.loading import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__)
