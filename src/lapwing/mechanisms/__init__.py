"""The releases: one file a mechanism, each with one theorem, one proof and one shape."""

from lapwing.vocabulary.loading import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__)
