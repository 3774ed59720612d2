"""Examples of what browsers and authenticators send in Web Authentication, for the API reference.

One key, at the server `pay.example.com`, was registered and used with the same challenge: both can be verified.
"""

from tollhouse.kernel.examples import example

RP_ID = example("pay.example.com")
CREDENTIAL_ID = example("-R85HbTJsv3g6nAYnLo_tj9Xm6YSKzOtlP8-wzAIS-Q")
CHALLENGE = example("0ZfMLBYloMuDIx3PaRf1kQAAAaH9dYWg1u1luVxeT70tyxGz1T0Fd4ZsS2xVA5Gv3Iczd4ZVrys")
CLIENT_DATA_OF_NEW = example(
    "eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiMFpmTUxCWWxvTXVESXgzUGFSZjFrUUFBQWFIOWRZV2cxdTFsdVZ4ZVQ3MH"
    "R5eEd6MVQwRmQ0WnNTMnhWQTVHdjNJY3pkNFpWcnlzIiwib3JpZ2luIjoiaHR0cHM6Ly9wYXkuZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6"
    "ZmFsc2V9"
)
ATTESTATION = example(
    "o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YVik_aNv-nojW4n0MMvqc1z5kWO7wtu2D5VEy8IESA-eoLBdAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAIPkfOR20ybL94OpwGJy6P7Y_V5umEiszrZT_PsMwCEvkpQECAyYgASFYIHRVn98IHKU3MhnX3xxZQKA3xoknrjTspM-"
    "fd5BRtE3XIlggle_rjEbtIf4pH5fh3rKaFw0hsBzhfQ5Q1caLGjnBm1U"
)
CLIENT_DATA_OF_USE = example(
    "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiMFpmTUxCWWxvTXVESXgzUGFSZjFrUUFBQWFIOWRZV2cxdTFsdVZ4ZVQ3MHR5eE"
    "d6MVQwRmQ0WnNTMnhWQTVHdjNJY3pkNFpWcnlzIiwib3JpZ2luIjoiaHR0cHM6Ly9wYXkuZXhhbXBsZS5jb20iLCJjcm9zc09yaWdpbiI6ZmFs"
    "c2V9"
)
AUTHENTICATOR_DATA = example("_aNv-nojW4n0MMvqc1z5kWO7wtu2D5VEy8IESA-eoLAdAAAAAA")
SIGNATURE = example("MEQCIEaaTEkastRoyh_eamGobOSTZQQnoFCHMXvvcvk_FD3XAiBdYF3OMJHyUbFDjQpXPf1au8f2VeyciErTO27Py7Fzsg")
