from lapwing.ledger.entries import Receipt as Receipt
from lapwing.ledger.export import check_export as check_export
from lapwing.ledger.export import export_json as export_json
