"""What auditors and custodians see: the account, and the ledger, in which there is no data."""

import tempfile
from itertools import islice
from pathlib import Path
from typing import Any, Final

from lapwing.answers.budget import amounts, budget_record
from lapwing.doors.server.calls import Reply, ServerCall
from lapwing.doors.server.metrics import MEDIA_TYPE
from lapwing.ledger.entries import Receipt
from lapwing.ledger.export import export_json
from lapwing.ledger.replay import verify
from lapwing.vocabulary.codec import to_record
from lapwing.vocabulary.wording import format_exact

_MOST_CHARACTERS: Final = 4_000_000


def show_account(call: ServerCall) -> Any:
    """Return the whole account of a population, and what each analyst may spend and has left."""
    ledger = call.server.state.ledger
    record, account = ledger.population(call.population), ledger.account(call.population)
    spent, reserved, left = amounts(account)
    analysts = {
        name: {
            "allowance": None if one.allowance is None else budget_record(one.allowance),
            "left": _left(call, name),
            "suspended": one.suspended,
        }
        for name, one in sorted(record.analysts.items())
    }
    return {
        "population": call.population,
        "budget": budget_record(account.budget),
        "spent": format_exact(spent),
        "reserved": format_exact(reserved),
        "left": format_exact(left),
        "suspended": record.suspended,
        "only_named": record.only_named,
        "versions": dict(record.tables),
        "analysts": analysts,
        "account": to_record(account),
    }


def _left(call: ServerCall, analyst: str) -> str | None:
    own = call.server.state.ledger.snapshot(call.population, analyst).allowance
    return None if own is None else format_exact(amounts(own)[2])


def list_entries(call: ServerCall) -> Any:
    """Return entries about a population, in their order: those after a number, and fewer where they are long.

    The population is that with this number of a chain, or the first one.
    """
    after, limit = call.query.get("after", 0), call.query.get("limit", 100)
    told, length, ledger = list[dict[str, Any]](), 0, call.server.state.ledger
    with ledger.in_chain(call.query.get("chain") or min(ledger.numbers().values())).store.reading() as transaction:
        for one in islice(transaction.entries(after), limit):
            length += sum(len(value) for value in one.record.values() if isinstance(value, str))
            if told and length > _MOST_CHARACTERS:
                break
            told.append({"entry": one.record, "hash": one.hash.hex()})
    return told


def show_head(call: ServerCall) -> Any:
    """Return a receipt that covers all entries, to be kept elsewhere, and the chains of all populations."""
    ledger = call.server.state.ledger
    head, chains = ledger.head(), ledger.numbers()
    return {"ledger": head.ledger, "entries": ledger.last_entry(), "head": str(head), "chains": chains}


async def show_metrics(call: ServerCall) -> Reply:
    """Return counts and durations of this process as OpenMetrics, for a monitor; nothing of it depends on data."""
    return Reply(body=call.server.metrics.text(), media_type=MEDIA_TYPE)


def verify_ledger(call: ServerCall) -> Any:
    """Check every hash, every rule and every sum."""
    receipts = [Receipt.parse(one) for one in call.body.receipts]
    return verify(call.server.state.ledger, receipts).to_dict()


def export_ledger(call: ServerCall) -> Reply:
    """Return all entries as JSON lines, which anybody can check."""
    with tempfile.TemporaryDirectory(prefix="lapwing-export-") as folder:
        path = Path(folder) / "ledger.json"
        head = export_json(call.server.state.ledger, path)
        headers = {
            "Content-Disposition": f'attachment; filename="ledger-{head.seq}.jsonl"',
            "Lapwing-Head": str(head),
        }
        return Reply(body=path.read_bytes(), headers=headers, media_type="application/jsonl")
