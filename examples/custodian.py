"""A custodian's year: an account, two analysts who put their heads together, new data, and a sceptic at the end.

What the custodian promises to patients is the cap. Allowances divide it among analysts; together they cannot get more.
When data changes the account goes on. And whoever kept a receipt can check, without the custodian and without any data,
that nothing was struck out.

    python examples/custodian.py
"""

import shutil
import tempfile
from pathlib import Path

import lapwing as lw
from lapwing.errors import BudgetError, RegistrationError
from lapwing.ledger import Receipt, check_export, export_json

CAP = 2


def spend_together(workspace: lw.Workspace) -> list[Receipt]:
    """Let two analysts ask in turns until the account refuses them, and return their receipts."""
    receipts = []
    sessions = [workspace.session(analyst=name) for name in ("ana", "ben")]
    for age in range(100):
        try:
            answer = sessions[age % 2].ask(lw.count("patient", f"age = {age}"), epsilon="0.15")
        except BudgetError as refusal:
            print(f"{sessions[age % 2].analyst} is refused: {str(refusal).partition(':')[0]}")
            break
        receipts.append(answer.receipt)
    return receipts


def change_data(workspace: lw.Workspace, folder: Path) -> None:
    """Bring new data: unannounced it is refused, announced it is used, and the account goes on as it stood."""
    before = workspace.session(analyst="ana").budget().left
    newer = lw.make_clinic(folder.parent / "newer", people=5001)
    for file in newer.glob("*.parquet"):
        shutil.copy(file, folder)
    try:
        workspace.session(analyst="ana").ask(lw.count("patient"), epsilon="0.01")
    except RegistrationError as refusal:
        print(f"refused: {str(refusal).partition(';')[0]}")
    for table in ("patient", "condition", "visit", "procedure", "measurement"):
        version = workspace.advance(table)
    ana = workspace.session(analyst="ana")
    print(f"version {version} is announced; the account still has {float(ana.budget().left or 0):g}")
    if ana.budget().left != before:
        raise AssertionError("new data must not refill the account")


def main() -> None:
    """Keep the account of a small clinic."""
    with tempfile.TemporaryDirectory() as folder:
        place = lw.make_clinic(
            Path(folder) / "clinic", people=5000, epsilon=CAP, allowances={"ana": "1.5", "ben": "1.5"}
        )
        with lw.create(place) as workspace:
            receipts = spend_together(workspace)
            print(f"{len(receipts)} answers at 0.15: the two together spent {0.15 * len(receipts):.2f} of {CAP}")
            change_data(workspace, place)
            export_json(workspace.ledger, place / "ledger.json")
        head = check_export(place / "ledger.json", receipts)
        print(f"the exported ledger is sound up to entry {head.seq}, and holds all {len(receipts)} receipts")


if __name__ == "__main__":
    main()
