"""A small provider of OpenID Connect on loopback: real HTTP, keys of its own, codes that are good once, PKCE checked.

It consents to everything for whoever `signs_in`. A test may twist what it signs, and how, to see that it is refused.
"""

import asyncio
import base64
import hashlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from lapwing.noise.randomness import fresh_name

CLIENT, SECRET = "lapwing", "what only the two of us know"
Twist = Callable[[dict[str, Any], dict[str, Any]], str | None]


@dataclass
class LoopbackProvider:
    """What the provider knows, and what a test may change about it."""

    port: int
    host: str = "127.0.0.1"
    scheme: str = "http"
    callback: str = ""
    signs_in: dict[str, Any] = field(default_factory=lambda: {"sub": "s-1", "name": "Ana of the Hospital"})
    key: Any = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "first", "use": "sig"}))
    algorithm: str = "RS256"
    published: list[Any] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    instead: Response | None = None  # what it says about itself, where that is to be nonsense
    twist: Twist = lambda _header, _claims: None
    asked: list[str] = field(default_factory=list)

    @property
    def issuer(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}/hospital"

    def rotate(self, *, publish: bool = True) -> None:
        """Sign with another key from now on."""
        self.key = ECKey.generate_key("P-256", {"kid": fresh_name()[:8], "use": "sig"})
        self.algorithm = "ES256"
        if publish:
            self.published = [self.key]

    def discovery(self, _: Request) -> Response:
        self.asked.append("discovery")
        if self.instead is not None:
            return self.instead
        base = self.issuer
        return JSONResponse(
            {
                "issuer": base,
                "authorization_endpoint": f"{base}/authorize",
                "token_endpoint": f"{base}/token",
                "jwks_uri": f"{base}/keys",
                "end_session_endpoint": f"{base}/logout",
                "authorization_response_iss_parameter_supported": True,
                **self.about,
            }
        )

    def keys(self, _: Request) -> Response:
        self.asked.append("keys")
        return JSONResponse({"keys": [one.as_dict(private=False) for one in self.published or [self.key]]})

    def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        if (asked["response_type"], asked["client_id"], asked["redirect_uri"]) != ("code", CLIENT, self.callback):
            return Response("not registered", 400)
        if asked["code_challenge_method"] != "S256" or "openid" not in asked["scope"].split():
            return Response("not so", 400)
        code = fresh_name()
        self.codes[code] = asked
        told = {"code": code, "state": asked["state"], "iss": self.issuer}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(told)}", 302)

    async def token(self, request: Request) -> Response:
        self.asked.append("token")
        sent = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        pair = base64.b64encode(f"{CLIENT}:{SECRET.replace(' ', '%20')}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {pair}":
            return JSONResponse({"error": "invalid_client"}, 401)
        asked = self.codes.pop(sent["code"], None)  # once
        challenge = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest()).decode()
        if asked is None or asked["code_challenge"] != challenge.rstrip("="):
            return JSONResponse({"error": "invalid_grant"}, 400)
        if sent["redirect_uri"] != self.callback or sent["grant_type"] != "authorization_code":
            return JSONResponse({"error": "invalid_request"}, 400)
        made = self.signed(asked["nonce"])
        self.asked.append("given")
        return JSONResponse({"access_token": fresh_name(), "token_type": "Bearer", "id_token": made})

    def logout(self, request: Request) -> Response:
        return RedirectResponse(request.query_params["post_logout_redirect_uri"], 302)

    def signed(self, nonce: str) -> str:
        now = int(time.time())
        header = {"alg": self.algorithm, "kid": self.key.kid}
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            **self.signs_in,
        }
        made = self.twist(header, claims)
        return made or jwt.encode(header, claims, self.key, algorithms=[header["alg"]])


@contextmanager
def provider_on_loopback(certificate: Path | None = None, key: Path | None = None) -> Iterator[LoopbackProvider]:
    """Run a provider until the end of the block, in a thread of its own; with a certificate, it speaks TLS."""
    listening = socket.create_server(("127.0.0.1", 0))
    provider = LoopbackProvider(listening.getsockname()[1], scheme="http" if certificate is None else "https")
    app = Starlette(
        routes=[
            Route("/hospital/.well-known/openid-configuration", provider.discovery),
            Route("/hospital/keys", provider.keys),
            Route("/hospital/authorize", provider.authorize),
            Route("/hospital/token", provider.token, methods=["POST"]),
            Route("/hospital/logout", provider.logout),
        ]
    )
    server = uvicorn.Server(
        uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", ssl_certfile=certificate, ssl_keyfile=key
        )
    )
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
