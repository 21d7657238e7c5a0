"""Why Temporal cannot be reached, in words: a second look with Python's own TLS, which names what it dislikes.

The SDK's errors are nested structures of its Rust core; what people need is which setting is wrong.
"""

import asyncio
import contextlib
import socket
import ssl

from duetime.target import Target, Tls

#: Seconds for the whole look.
_PATIENCE = 5.0
#: Seconds for a server that speaks first.
_LISTEN = 1.0
#: What an HTTP/2 client says first (RFC 9113, section 3.4), with empty settings.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


async def why_not(target: Target) -> str | None:
    """What stands between us and the server, and the way out; `None` when it is nothing that is known here."""
    try:
        async with asyncio.timeout(_PATIENCE):
            return await (_why_not_tls(target, target.tls) if target.tls else _why_not_plain(target))
    except TimeoutError:
        return f"nothing answered at {target.address} within {_PATIENCE:g} s"
    except socket.gaierror:
        return f"the host name {target.host!r} is not known"
    except ConnectionRefusedError:
        return f"nothing listens at {target.address}"
    except OSError:
        return None


async def _why_not_plain(target: Target) -> str | None:
    """A server that hears plain HTTP/2 where it expects TLS just hangs up: so see whether it speaks TLS."""
    anything = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anything.check_hostname, anything.verify_mode = False, ssl.CERT_NONE
    with contextlib.suppress(ssl.SSLError, ConnectionResetError):
        await _talk(target, anything)
        return f"{target.address} speaks TLS: set DUETIME_TEMPORAL_TLS=true"
    return None


async def _why_not_tls(target: Target, tls: Tls) -> str | None:
    try:
        context = _context(tls)
    except _Unfit as error:
        return str(error)
    try:
        await _talk(target, context, tls.server_name)
    except ssl.SSLCertVerificationError as error:
        return _distrusted(target, tls, error)
    except ssl.SSLError as error:
        return _rejected(target, tls, error)
    except (ConnectionResetError, asyncio.IncompleteReadError):
        return _unwelcome(target, tls, "it ended the connection")
    return None


class _Unfit(ValueError):
    """Files that no server will ever see."""


def _context(tls: Tls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca)
    except (ssl.SSLError, OSError):
        raise _Unfit(f"DUETIME_TEMPORAL_TLS_CA: {tls.ca} holds no certificate in PEM form") from None
    context.set_alpn_protocols(["h2"])
    if tls.cert is not None:
        try:
            context.load_cert_chain(tls.cert, tls.key, password=_refuse_password)
        except _Encrypted:
            raise _Unfit(f"DUETIME_TEMPORAL_TLS_KEY: {tls.key} is encrypted; give the plain key") from None
        except (ssl.SSLError, OSError):
            raise _Unfit(
                f"DUETIME_TEMPORAL_TLS_CERT: {tls.cert} and {tls.key} are no certificate and its key in PEM form"
            ) from None
    return context


class _Encrypted(Exception):
    pass


def _refuse_password() -> str:
    raise _Encrypted  # OpenSSL would ask on the terminal


async def _talk(target: Target, context: ssl.SSLContext, server_name: str | None = None) -> None:
    """Shakes hands and waits for the server's first byte: with TLS 1.3 a refusal of us comes only there.

    Most servers speak at once, and a refusal is lost when it crosses words of ours: so we listen first.
    """
    reader, writer = await asyncio.open_connection(
        target.host, target.port, ssl=context, server_hostname=server_name or target.host
    )
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LISTEN):
                await reader.readexactly(1)
                return
        writer.write(_PREFACE)
        await writer.drain()
        await reader.readexactly(1)
    finally:
        writer.transport.abort()


def _distrusted(target: Target, tls: Tls, error: ssl.SSLCertVerificationError) -> str:
    why = error.verify_message or error.reason
    if error.verify_code in (62, 64):  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
        way = "set DUETIME_TEMPORAL_TLS_SERVER_NAME to the name in it"
    elif tls.ca is None:
        way = "set DUETIME_TEMPORAL_TLS_CA to the certificate of its authority"
    else:
        way = f"is DUETIME_TEMPORAL_TLS_CA ({tls.ca}) its authority?"
    return f"the certificate of {target.address} is not trusted, {why}: {way}"


def _rejected(target: Target, tls: Tls, error: ssl.SSLError) -> str:
    reason = error.reason or ""
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return f"{target.address} does not speak TLS: is DUETIME_TEMPORAL_ADDRESS right?"
    return _unwelcome(target, tls, reason.lower().replace("_", " "))


def _unwelcome(target: Target, tls: Tls, why: str) -> str:
    """The server trusts us less than we it: what else could make it hang up?"""
    if tls.cert is None:
        way = "does it want a certificate (DUETIME_TEMPORAL_TLS_CERT and DUETIME_TEMPORAL_TLS_KEY)?"
    else:
        way = f"does it trust the certificate in DUETIME_TEMPORAL_TLS_CERT ({tls.cert})?"
    return f"{target.address} refused us, {why}: {way}"
