"""Every error that lapwing raises; `LapwingError` is all of them. Each says what was wrong and what to do."""

from lapwing.vocabulary.errors import *  # noqa: F403 - all of them, and nothing else
from lapwing.vocabulary.errors import __all__ as __all__  # noqa: PLC0414 - it is public here
