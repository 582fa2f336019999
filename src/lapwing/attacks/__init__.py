"""Attacks that read people's secrets out of answers about crowds: on other tools, and on lapwing."""

from lapwing.vocabulary.loading import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__)
