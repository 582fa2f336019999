"""TLS at the server itself: real handshakes with a certificate that the test made."""

import re
import socket
import ssl

import httpx
import pytest

from doors.server.certificates import make_certificate
from doors.server.doors import make_folder
from doors.server.test_serving import command, lapwing, lines_of
from lapwing.doors.server.door_file import Certificate
from lapwing.vocabulary.errors import ParameterError

pytestmark = pytest.mark.one_budget("certificates have nothing to do with what is spent")

PASSWORD = "four plain old words"  # noqa: S105 - of somebody who does not exist


def test_a_server_with_a_certificate_speaks_tls_alone_and_keeps_cookies_to_it(quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)
    certificate, key = make_certificate(quick_path)
    trusts = ssl.create_default_context(cafile=certificate)
    words = ("--certificate", str(certificate), "--key", str(key), "--workers", "2", "-w", str(folder))
    with command("serve", "--listen", "127.0.0.1:0", *words) as process:
        told = lines_of(process, "curl")
        address, secret = re.search(r"(https://127.0.0.1:\d+)/invitations/(\S+)", told).groups()
        port = int(address.rpartition(":")[2])
        with httpx.Client(base_url=address, verify=trusts, trust_env=False, timeout=60) as browser:
            assert browser.get("/api/v1/health").headers["strict-transport-security"] == "max-age=31536000"
            came = browser.post(f"/invitations/{secret}", data={"password": PASSWORD, "again": PASSWORD})
            assert came.status_code == 303, came.text
            cookie = came.headers["set-cookie"]
            assert cookie.startswith("__Host-lapwing=")
            assert {"Secure", "HttpOnly", "Path=/", "SameSite=lax"} <= {one.strip() for one in cookie.split(";")}
            assert browser.get("/custody/people").status_code == 200
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{port}/api/v1/health", trust_env=False)
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(f"{address}/api/v1/health", trust_env=False)
        with (
            socket.create_connection(("127.0.0.1", port), 10) as line,
            trusts.wrap_socket(line, server_hostname="localhost") as spoken,
        ):
            assert spoken.version() == "TLSv1.3"


def test_files_that_do_not_belong_together_are_refused_before_anything_listens(tmp_path, budget) -> None:
    certificate, key = make_certificate(tmp_path)
    _, other = make_certificate(tmp_path, "other")
    Certificate(certificate=certificate, key=key).require_good()
    for wrong in (other, tmp_path / "absent", certificate):
        with pytest.raises(ParameterError, match="give a certificate and its own key"):
            Certificate(certificate=certificate, key=wrong).require_good()
    folder = str(make_folder(tmp_path / "clinic", budget))
    words = ("serve", "--listen", "127.0.0.1:0", "--certificate", str(certificate), "-w", folder)
    assert "give both" in lapwing(*words)
    assert "give a certificate and its own key" in lapwing(*words, "--key", str(other))
