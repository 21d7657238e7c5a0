"""Settings of a process of the service: one typed value, read once at the start and handed down.

Every setting is an environment variable with the prefix `DUETIME_`, or a line of a `.env` file in the
working directory (the environment wins; an empty value counts as not set). `docs/settings.md` lists them for
operators, and a test holds that list to this one.
"""

import difflib
import logging
import os
import re
import sys
from collections.abc import Iterable, Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from duetime.process import EXIT_USAGE, exit_process
from duetime.target import Target, Tls

PREFIX = "DUETIME_"
ENV_FILE = ".env"

#: Where a Temporal server listens when nobody says otherwise.
LOCAL_TEMPORAL = "localhost:7233"

_log = logging.getLogger(__name__)


class SettingsError(ValueError):
    """Wrong settings: a line each with the variable and what it may be. Values of secrets are never shown."""


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _each(pattern: str) -> AfterValidator:
    def check(values: tuple[str, ...]) -> tuple[str, ...]:
        if not all(re.fullmatch(pattern, value, re.ASCII) for value in values):
            raise ValueError
        return tuple(dict.fromkeys(values))

    return AfterValidator(check)


def _is_address(value: str | None) -> str | None:
    if value is not None:
        host, _, port = value.rpartition(":")
        if not re.fullmatch(r"[^\s/@:]+|\[[0-9a-fA-F:.]+\]", host) or not 1 <= int(port) <= 65_535:
            raise ValueError
    return value


def _is_ip(value: str) -> str:
    return str(ip_address(value))


def _networks_or_names(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            ip_network(value, strict=False)
        except ValueError:
            if not re.fullmatch(r"(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", value, re.ASCII):
                raise
    return values


def _is_file(value: Path | None) -> Path | None:
    if value is not None and not value.is_file():
        raise ValueError
    return value


def _is_one_word(value: SecretStr | None) -> SecretStr | None:
    if value is not None and not re.fullmatch(r"[!-~]+", value.get_secret_value()):
        raise ValueError
    return value


def _has_scheme(value: SecretStr | None) -> SecretStr | None:
    if value is not None and not re.match(r"[a-z][a-z0-9+]*://", value.get_secret_value()):
        raise ValueError
    return value


# What a value may be, said once: the description of a type is also the text of its refusal.
_NAME = r"[A-Za-z0-9._:-]{1,200}"
_Port = Annotated[int, Field(ge=1, le=65_535, description="a port from 1 to 65535")]
_Ip = Annotated[str, AfterValidator(_is_ip), Field(description="an IP address of this machine")]
_OwnPort = Annotated[int | None, Field(ge=1, le=65_535, description="a port from 1 to 65535")]
_Address = Annotated[
    str | None,
    AfterValidator(_is_address),
    Field(description="host:port, such as temporal.internal:7233"),
]
_Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]+$", description="a host name or an IP address")]
_Namespace = Annotated[
    str, Field(pattern=f"^{_NAME}$", description="1 to 200 of letters, digits and the signs . _ : -")
]
_Program = Annotated[Path | None, Field(description="the path of the temporal program")]
_Directory = Annotated[Path, Field(description="a directory, which is created when missing")]
_Url = Annotated[
    SecretStr | None,
    AfterValidator(_has_scheme),
    Field(description="an SQLAlchemy address, such as postgresql+psycopg://user:password@host/database"),
]
_Queues = Annotated[
    tuple[str, ...],
    NoDecode,
    BeforeValidator(_split),
    _each(rf"(?!duetime|\.\.?$){_NAME}"),
    Field(
        min_length=1,
        description="queue names, comma-separated: letters, digits and . _ : -, not beginning with duetime, and not "
        "dots alone",
    ),
]
_Modules = Annotated[
    tuple[str, ...],
    NoDecode,
    BeforeValidator(_split),
    _each(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"),
    Field(description="importable module names, comma-separated, such as my_app.handlers"),
]
_Switch = Annotated[bool, Field(description="true or false")]
_Tls = Annotated[bool | None, Field(description="true or false")]
_Pem = Annotated[
    Path | None, AfterValidator(_is_file), Field(description="the path of a PEM file that is there")
]
_ServerName = Annotated[
    str | None,
    Field(pattern=r"^[A-Za-z0-9._-]+$", description="the name that the server's certificate is made out to"),
]
_TemporalKey = Annotated[
    SecretStr | None,
    AfterValidator(_is_one_word),
    Field(description="an API key of Temporal: printable ASCII without spaces"),
]
_KeysFile = Annotated[
    Path | None, Field(description="the path of a keys file, as `python -m api.keys create` makes it")
]
_Names = Annotated[
    tuple[str, ...],
    NoDecode,
    BeforeValidator(_split),
    _each(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*"),
    Field(description="host names, comma-separated, such as api-1,jobs.internal"),
]
_Rate = Annotated[
    int, Field(ge=0, le=1_000_000, description="requests a second, as a whole number; 0 for no limit")
]
_Count = Annotated[int, Field(ge=1, le=1_000_000, description="a whole number from 1")]
_Hosts = Annotated[
    tuple[str, ...],
    NoDecode,
    BeforeValidator(_split),
    AfterValidator(_networks_or_names),
    Field(description="host names, addresses or networks, comma-separated, such as 10.1.0.0/16,hooks.local"),
]
_Secrets = Annotated[
    tuple[SecretStr, ...],
    NoDecode,
    BeforeValidator(_split),
    Field(
        description="secrets of Standard Webhooks, comma-separated, such as whsec_… (24 to 64 bytes in base64)"
    ),
]
_LogForm = Annotated[
    Literal["text", "json"],
    BeforeValidator(_lower),
    Field(description="text or json"),
]
_LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    BeforeValidator(_lower),
    Field(description="debug, info, warning or error"),
]


class Settings(BaseSettings):
    """All settings of one process. Frozen: nobody changes them after the start."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )

    #: The Temporal frontend; `None` lets `make run` start the embedded server.
    temporal_address: _Address = None
    temporal_namespace: _Namespace = "default"
    #: TLS, on as soon as one of the others is set; a client certificate needs its key.
    temporal_tls: _Tls = None
    temporal_tls_ca: _Pem = None
    temporal_tls_cert: _Pem = None
    temporal_tls_key: _Pem = None
    temporal_tls_server_name: _ServerName = None
    temporal_api_key: _TemporalKey = None

    #: The embedded server: its ports on 127.0.0.1, and its program when it is not where one looks first.
    temporal_port: _Port = 7233
    ui_port: _Port = 8233
    temporal_bin: _Program = None

    api_host: _Host = "127.0.0.1"
    api_port: _Port = 8000
    #: Who may call; without it the API answers loopback alone, or everybody when `api_open` says so.
    api_keys_file: _KeysFile = None
    api_open: _Switch = False
    api_names: _Names = ()
    #: For each key, and each API instance: requests a second, and long calls at once.
    api_rate: _Rate = 100
    api_waits: _Count = 100
    api_connections: _Count = 1000

    data_dir: _Directory = Path(".duetime")
    #: The effect ledger's database, whose address may hold a password; read it with `ledger_address`.
    ledger_url: _Url = None

    queues: _Queues = ("default",)
    handlers: _Modules = ()

    #: Whether the API refuses kinds that no worker ever announced, instead of warning.
    strict_kinds: _Switch = False

    allow_commands: _Switch = False
    http_allow: _Hosts = ()
    #: Keys that sign the requests of the kind `http` (Standard Webhooks); several while one is rotated.
    webhook_secrets: _Secrets = ()

    #: Where a worker shows its metrics; nowhere without a port.
    metrics_host: _Ip = "127.0.0.1"
    metrics_port: _OwnPort = None

    log_level: _LogLevel = "info"
    log_format: _LogForm = "text"

    @property
    def temporal_target(self) -> str:
        """Where workers and the API find Temporal, whoever started it."""
        return self.temporal_address or LOCAL_TEMPORAL

    @property
    def temporal(self) -> Target:
        """How workers and the API reach Temporal."""
        tls = Tls(
            ca=self.temporal_tls_ca,
            cert=self.temporal_tls_cert,
            key=self.temporal_tls_key,
            server_name=self.temporal_tls_server_name,
        )
        key = self.temporal_api_key
        wanted = self.temporal_tls if self.temporal_tls is not None else tls != Tls() or key is not None
        return Target(
            self.temporal_target,
            self.temporal_namespace,
            tls=tls if wanted else None,
            api_key=key.get_secret_value() if key else None,
        )

    @property
    def ledger_address(self) -> str:
        """The ledger's SQLAlchemy address, by default an SQLite file in the data directory."""
        if self.ledger_url is not None:
            return self.ledger_url.get_secret_value()
        return f"sqlite:///{self.data_dir / 'ledger.db'}"

    @property
    def secrets(self) -> list[str]:
        """What no log may show: every secret, and the passwords in addresses."""
        values = [getattr(self, name) for name in type(self).model_fields]
        found = [one for value in values for one in (value if isinstance(value, tuple) else [value])]
        texts = [secret.get_secret_value() for secret in found if isinstance(secret, SecretStr)]
        return texts + [password for text in texts if (password := _password(text))]

    @model_validator(mode="after")
    def _own_ports(self) -> Self:
        """Beside an embedded server all listeners are on this machine."""
        taken: dict[int, str] = {}
        fields = ("temporal_port", "ui_port", "api_port", "metrics_port")
        for field in fields if self.temporal_address is None else ():
            port = getattr(self, field)
            if port in taken:
                raise ValueError(f"{variable(field)}: {port} is {taken[port]} already; give each its own")
            taken[port] = variable(field)
        return self

    @model_validator(mode="after")
    def _whole_tls(self) -> Self:
        """What belongs together is there together, and nothing secret goes out in the clear."""
        names = ("tls_ca", "tls_cert", "tls_key", "tls_server_name", "api_key")
        given = [
            variable(f"temporal_{name}") for name in names if getattr(self, f"temporal_{name}") is not None
        ]
        if self.temporal_tls is False and given:
            raise ValueError(
                f"{given[0]}: it needs TLS, which DUETIME_TEMPORAL_TLS switches off; leave one out"
            )
        if (self.temporal_tls_cert is None) != (self.temporal_tls_key is None):
            have, lack = sorted(
                ("temporal_tls_cert", "temporal_tls_key"), key=lambda name: getattr(self, name) is None
            )
            raise ValueError(
                f"{variable(have)}: set {variable(lack)} too: a certificate and its key go together"
            )
        if (given or self.temporal_tls) and self.temporal_address is None:
            named = given[0] if given else variable("temporal_tls")
            raise ValueError(
                f"{named}: name the server in DUETIME_TEMPORAL_ADDRESS; the embedded one speaks no TLS"
            )
        return self


def _password(address: str) -> str | None:
    try:
        return urlsplit(address).password
    except ValueError:
        return None


def variable(field: str) -> str:
    """The environment variable of a field of `Settings`."""
    return PREFIX + field.upper()


def known_variables() -> list[str]:
    """Every variable that `Settings` reads, in its order."""
    return [variable(field) for field in Settings.model_fields]


def load_settings(env_file: str | Path | None = ENV_FILE) -> Settings:
    """The settings of this process; `SettingsError` says what is wrong with which variable.

    Variables with our prefix that nobody reads are logged as warnings, with the nearest name that exists.
    """
    from_file = dotenv_values(env_file) if env_file and Path(env_file).is_file() else {}
    for warning in unknown_variables([*os.environ, *from_file]):
        _log.warning(warning)
    try:
        return Settings(_env_file=env_file)
    except ValidationError as error:
        given = {**from_file, **os.environ}
        raise SettingsError("\n".join(_refusal(dict(problem), given) for problem in error.errors())) from None


def settings_or_exit() -> Settings:
    """`load_settings` for main programs: wrong settings are printed, and the process ends with code 2."""
    try:
        return load_settings()
    except SettingsError as error:
        print(error, file=sys.stderr)
        exit_process(EXIT_USAGE)


#: What clients of the API read, and the fixtures for tests.
_OF_CLIENTS = frozenset({"URL", "API_KEY", "TEST_URL", "TEST_TEMPORAL"})


def unknown_variables(names: Iterable[str]) -> list[str]:
    """One warning for each of `names` that has our prefix and is not a setting."""
    known = [field.upper() for field in Settings.model_fields]
    warnings: list[str] = []
    for name in dict.fromkeys(name.upper() for name in names if name.upper().startswith(PREFIX)):
        short = name.removeprefix(PREFIX)
        if short not in known and short not in _OF_CLIENTS:
            near = difflib.get_close_matches(short, known, n=1)
            hint = f"did you mean {PREFIX}{near[0]}?" if near else f"known are {', '.join(known_variables())}"
            warnings.append(f"{name} is not a setting and is ignored: {hint}")
    return warnings


def _refusal(problem: Mapping[str, Any], given: Mapping[str, str | None]) -> str:
    """One line on one of pydantic's problems: the variable, the value unless secret, what is allowed."""
    if not problem["loc"]:
        return str(problem["msg"]).removeprefix("Value error, ")
    field = Settings.model_fields[str(problem["loc"][0])]
    name = variable(str(problem["loc"][0]))
    value = next((text for key, text in given.items() if key.upper() == name), None)
    secret = SecretStr in get_args(field.annotation)
    shown = "this value" if secret or value is None else repr(value[:80])
    return f"{name}: {shown} is not allowed; it must be {field.description}"
