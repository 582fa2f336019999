"""A custodian's folder: its settings, its tables and their versions, its keys. `lw.open` and `lw.create` start here."""
