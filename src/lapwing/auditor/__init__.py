"""The sceptic: what does a mechanism really give away? It shares no code, so no bug, with its suspects."""

from lapwing.vocabulary.loading import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__)
