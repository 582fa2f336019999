"""The pages of those who decide and of those who doubt, as parts of the table of pages."""

from typing import Final

from lapwing.app.server.pages import policy, proof_pages, registering, sceptic_pages
from lapwing.app.server.pages.visits import Page

OVERSEER_PAGES: Final[tuple[Page, ...]] = (*registering.PAGES, *policy.PAGES, *sceptic_pages.PAGES, *proof_pages.PAGES)
