"""A statement for an ethics board or a data protection officer: what one workspace promises, with its own figures."""
