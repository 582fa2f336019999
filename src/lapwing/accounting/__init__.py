"""The prices: what an event costs, how costs add up, and when to stop. No noise is drawn and no data is read here."""

from lapwing.vocabulary.loading import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__)
