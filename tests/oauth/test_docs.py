"""`docs/oauth-reference.md` lists the limits and errors of the code."""

import re
from pathlib import Path

from tollhouse.http.operations import AUTHORIZE, PROTOCOL
from tollhouse.instance.slices import operations
from tollhouse.kernel import limits
from tollhouse.kernel.errors import ServerError
from tollhouse.oauth.model import InvalidScope, UnsupportedResponseType
from tollhouse.oauth.resources import InvalidTarget
from tollhouse.platform.settings.config import load

TEXT = (Path(__file__).parents[2] / "docs" / "oauth-reference.md").read_text()
ROW = re.compile(r"^\| (.+?) \| (.+?) \|$", re.MULTILINE)
BY_REDIRECT = {InvalidScope, InvalidTarget, UnsupportedResponseType, ServerError}


def section(title: str) -> str:
    """The text of a section, without the heading."""
    level = title.partition(" ")[0]
    below = TEXT.partition(f"\n{title}\n")[2]
    return re.split(rf"\n#{{2,{len(level)}}} ", below, maxsplit=1)[0]


def test_documented_limits_match_the_code() -> None:
    settings = load({})
    assert dict(ROW.findall(section("## Limits"))[1:]) == {
        "callback URLs per application": f"1 to {limits.CALLBACK_URLS_MAX}",
        "characters in a callback or website URL": f"{limits.URL_CHARS_MAX:,}",
        "characters in a name": f"{limits.APPLICATION_NAME_CHARS_MAX}",
        "characters in a description": f"{limits.DESCRIPTION_CHARS_MAX:,}",
        "characters in `state`": f"1 to {limits.STATE_CHARS_MAX}",
        "characters in `code_verifier`": f"{limits.VERIFIER_CHARS_MIN} to {limits.VERIFIER_CHARS_MAX}",
        "characters in `code_challenge`": f"{limits.CHALLENGE_CHARS}",
        "seconds to answer the consent page": f"{limits.AUTHORIZATION_REQUEST_S}",
        "seconds to open a pushed request": f"{limits.PUSHED_REQUEST_S}",
        "seconds to exchange a code": f"{limits.AUTHORIZATION_CODE_S}",
        "letters in the code of a device": f"{limits.USER_CODE_CHARS}",
        "seconds between two polls of a device": f"{limits.POLL_INTERVAL_S}",
        "lifetime of an access token in seconds": f"at most {limits.ACCESS_TOKEN_S}",
        "characters in the `Idempotency-Key` of a refresh": (
            f"{limits.REFRESH_KEY_CHARS_MIN} to {limits.IDEMPOTENCY_KEY_CHARS_MAX}"
        ),
        "seconds in which such a refresh can be repeated, until a new token is used": f"{limits.REFRESH_RETRY_S}",
        "lifetime of a connection in days": f"{limits.GRANT_S // 86_400}",
        "bytes in a request body": f"{limits.BODY_BYTES_MAX:,}",
        "connections per page of the owner's list": f"{limits.CONNECTIONS_PER_PAGE}",
        "seconds between updates of the last use": f"{limits.ACTIVITY_EVERY_S}",
        "failed client authentications per minute": f"{settings.rate_client_auth_per_min}",
        "requests per minute of one connection or API key": f"{settings.rate_api_per_min:,}",
    }


def test_every_protocol_error_is_documented() -> None:
    documented = section("## Token and revocation endpoints") + section("## Authorization endpoint")
    declared = {error for operation in operations(PROTOCOL, AUTHORIZE) for error in operation.errors}
    assert len(declared) >= 6
    for error in declared | BY_REDIRECT:
        assert f"`{error.code}`" in documented, error
        if error not in BY_REDIRECT:
            assert re.search(rf"^\| {error.status} \| `{error.code}` \|", documented, re.MULTILINE), error
