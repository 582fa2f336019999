"""What happens without lapwing, and at its door: attacks that read people's secrets out of answers about crowds."""

from lapwing.vocabulary.loading import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__)
