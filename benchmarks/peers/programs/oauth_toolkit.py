"""django-oauth-toolkit with a view that a token protects, as its tutorial has it, on PostgreSQL with a connection pool.

DATABASE_URL names the database. `python oauth_toolkit.py COUNT FILE` creates tables, an application and so many access and
refresh tokens, and writes them to a file; `gunicorn oauth_toolkit:application` serves.
"""

import json
import os
import secrets
import sys
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import django
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse
from django.urls import include, path
from django.utils import timezone

url = urlsplit(os.environ["DATABASE_URL"])
settings.configure(
    SECRET_KEY=os.environ.get("SECRET_KEY", "benchmark"),
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": url.path[1:],
            "USER": url.username,
            "HOST": parse_qs(url.query)["host"][0],
            "OPTIONS": {"pool": {"min_size": 10, "max_size": 10}},
        }
    },
    OAUTH2_PROVIDER={"SCOPES": {"account:read": "Read the account"}, "ACCESS_TOKEN_EXPIRE_SECONDS": 900},
)
django.setup()

from oauth2_provider.decorators import protected_resource  # noqa: E402 - after the settings

CLIENT, CLIENT_SECRET = "benchmark", "benchmark-secret"


@protected_resource(scopes=["account:read"])
def account(request):  # noqa: ANN001, ANN201 - a Django view
    """The account of a token."""
    user = request.resource_owner
    return JsonResponse({"merchant_id": user.id, "business_name": user.first_name, "active": user.is_active})


urlpatterns = [path("account", account), path("o/", include("oauth2_provider.urls", namespace="oauth2_provider"))]
application = get_wsgi_application()


def new_token() -> str:
    """As long as those that the toolkit creates."""
    return secrets.token_urlsafe(32)[:30]


def create(count: int) -> dict[str, list[str]]:
    """Create everything; the tokens."""
    from django.contrib.auth import get_user_model  # noqa: PLC0415 - after the settings
    from oauth2_provider.models import AccessToken, Application, RefreshToken  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    users = get_user_model().objects.bulk_create(
        [get_user_model()(username=f"merchant-{n}", first_name=f"Merchant {n}") for n in range(count)]
    )
    # A secret of the benchmark is random: a slow hash for each request would be all that is measured.
    client = Application.objects.create(
        client_id=CLIENT, client_secret=CLIENT_SECRET, hash_client_secret=False, client_type="confidential",
        authorization_grant_type="authorization-code", redirect_uris="https://app.example/callback", user=users[0],
    )  # fmt: skip

    def access_tokens() -> list[AccessToken]:
        expires = timezone.now() + timedelta(hours=1)
        return AccessToken.objects.bulk_create(
            AccessToken(user=user, application=client, token=new_token(), expires=expires, scope="account:read")
            for user in users
        )

    access = access_tokens()
    refresh = RefreshToken.objects.bulk_create(
        RefreshToken(user=access_token.user, application=client, token=new_token(), access_token=access_token)
        for access_token in access_tokens()
    )
    return {"access": [one.token for one in access], "refresh": [one.token for one in refresh]}


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(create(int(sys.argv[1]))))
