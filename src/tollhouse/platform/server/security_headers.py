"""The headers of every response: of the application, static files and the HTTP server itself."""

from tollhouse.platform.settings.config import Settings

NO_SNIFFING = (b"x-content-type-options", b"nosniff")
NO_REFERRER = (b"referrer-policy", b"no-referrer")
FEATURES_OFF = (
    "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "geolocation", "gyroscope",
    "hid", "idle-detection", "local-fonts", "magnetometer", "microphone", "midi", "payment", "screen-wake-lock", "serial",
    "usb", "xr-spatial-tracking",
)  # fmt: skip
"""Features that no page uses, by names that browsers know. The clipboard, full screen and passkeys keep their defaults."""
PERMISSIONS = (b"permissions-policy", ", ".join(f"{feature}=()" for feature in FEATURES_OFF).encode())
HTTPS_ONLY = b"max-age=31536000"
SAME_ORIGIN = (b"cross-origin-resource-policy", b"same-origin")
CROSS_ORIGIN = (b"cross-origin-resource-policy", b"cross-origin")
"""For responses that other sites may read."""


def security_headers(settings: Settings) -> list[tuple[bytes, bytes]]:
    """The headers of every response except `Cross-Origin-Resource-Policy`, which depends on the surface."""
    headers: list[tuple[bytes, bytes]] = [NO_SNIFFING, NO_REFERRER, PERMISSIONS]
    if settings.secure:
        subdomains = b"; includeSubDomains" if settings.hsts_subdomains else b""
        headers.append((b"strict-transport-security", HTTPS_ONLY + subdomains))
    return headers
