"""What a book is asked for and does not hold is damage, and never an empty account."""

import pytest

from lapwing.vocabulary.errors import LedgerDamagedError
from session.clinic import new_ledger


def test_a_population_without_an_account_is_damage(quick_path) -> None:
    with new_ledger(quick_path) as ledger, ledger.store.reading() as book:
        assert book.account("clinic").remaining().pure > 0
        with pytest.raises(LedgerDamagedError, match="the account of population 'nowhere' is missing"):
            book.account("nowhere")
        assert book.allowance("clinic", "nobody") is None
