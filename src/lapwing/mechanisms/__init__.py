"""The releases: one file a mechanism, each with one theorem, one proof and one shape."""
