"""The shop for a server program: `uvicorn --factory serve:app`."""

from fastapi import FastAPI
from shop import Shop, create_app


def app() -> FastAPI:
    """The application, configured by the environment."""
    return create_app(Shop.from_environment())
