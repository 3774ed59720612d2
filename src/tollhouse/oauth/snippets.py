"""Lines that a developer copies to connect the first merchant."""

import shlex
from urllib.parse import quote, urlencode

from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint
from tollhouse.oauth.model import ClientView

SCOPES_SHOWN = 2


def authorize_address(issuer: str, client: ClientView) -> str:
    """Where a merchant is sent: what is in capitals is for the application to fill in."""
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": client.redirect_uris[0],
        "scope": " ".join(client.scopes[:SCOPES_SHOWN]),
        "state": "STATE",
        "code_challenge": "CHALLENGE",
        "code_challenge_method": "S256",
        "mode": "test",
    }
    return f"{authorization_endpoint(issuer)}?\n  " + urlencode(query, quote_via=quote, safe=":/").replace("&", "\n  &")


def environment_lines(issuer: str, client: ClientView, secret: str) -> str:
    """What a server needs, as lines of an environment file."""
    return f"TOLLHOUSE_ISSUER={issuer}\nTOLLHOUSE_CLIENT_ID={client.client_id}\nTOLLHOUSE_CLIENT_SECRET={secret}"


def exchange_command(issuer: str, client: ClientView) -> str:
    """The exchange of a code, as a command line."""
    proof = (
        f"-u {client.client_id}:CLIENT_SECRET"
        if client.client_type == "confidential"
        else f"-d client_id={client.client_id}"
    )
    return " \\\n  ".join(
        [
            f"curl {token_endpoint(issuer)}",
            proof,
            "-d grant_type=authorization_code",
            "-d code=CODE",
            f"--data-urlencode {shlex.quote('redirect_uri=' + client.redirect_uris[0])}",
            "-d code_verifier=VERIFIER",
        ]
    )
