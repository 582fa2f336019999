"""The sceptic: what does a mechanism really give away? It shares no code, so no bug, with its suspects."""
