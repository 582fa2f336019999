"""The servers that some places need: started when they are first needed, stopped at the end."""

from contextlib import ExitStack
from functools import cached_property

import postgres_server
import spark_session


class Servers:
    """Servers of our own."""

    def __init__(self):
        self._open = ExitStack()

    @cached_property
    def postgres(self):
        """The connection string of an empty database, for somebody who may do everything in it."""
        server = self._open.enter_context(postgres_server.running("fsync=off"))
        return self._open.enter_context(server.database())

    @cached_property
    def spark(self):
        """A session."""
        return self._open.enter_context(spark_session.running(spark_session.FOR_TINY_TABLES))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._open.close()
