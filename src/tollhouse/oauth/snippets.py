"""Code samples for connecting the first merchant."""

import shlex
from urllib.parse import quote, urlencode

from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint
from tollhouse.oauth.model import ClientView

SCOPES_IN_SAMPLE = 2


def authorization_url(issuer: str, client: ClientView) -> str:
    """The URL of an authorization request, with placeholders in capitals."""
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": client.redirect_uris[0],
        "scope": " ".join(client.scopes[:SCOPES_IN_SAMPLE]),
        "state": "STATE",
        "code_challenge": "CHALLENGE",
        "code_challenge_method": "S256",
        "mode": "test",
    }
    return f"{authorization_endpoint(issuer)}?\n  " + urlencode(query, quote_via=quote, safe=":/").replace("&", "\n  &")


def environment_file(issuer: str, client: ClientView, secret: str) -> str:
    """An environment file with issuer and client credentials."""
    return f"TOLLHOUSE_ISSUER={issuer}\nTOLLHOUSE_CLIENT_ID={client.client_id}\nTOLLHOUSE_CLIENT_SECRET={secret}"


def exchange_command(issuer: str, client: ClientView) -> str:
    """A curl command that exchanges a code."""
    credentials = (
        f"-u {client.client_id}:CLIENT_SECRET"
        if client.client_type == "confidential"
        else f"-d client_id={client.client_id}"
    )
    return " \\\n  ".join(
        [
            f"curl {token_endpoint(issuer)}",
            credentials,
            "-d grant_type=authorization_code",
            "-d code=CODE",
            f"--data-urlencode {shlex.quote('redirect_uri=' + client.redirect_uris[0])}",
            "-d code_verifier=VERIFIER",
        ]
    )
