"""The payload of the kind `command`."""

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from activities.command.environment import GIVEN


def _encodable(text: str) -> str:
    text.encode()
    return text


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL character, which no argument, variable or path can")
    return text


Text = Annotated[str, AfterValidator(_encodable)]
#: What is handed to execve(2) and chdir(2).
Word = Annotated[Text, AfterValidator(_without_nul)]


class CommandRequest(BaseModel):
    """One command: exactly one of `argv` and `shell`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    argv: Annotated[list[Word], Field(min_length=1)] | None = Field(
        default=None,
        description="the program and its arguments, handed over as they are: no shell reads them",
    )
    shell: Annotated[Word, Field(min_length=1)] | None = Field(
        default=None, description="a line for /bin/sh -c"
    )
    env: dict[Word, Word] = Field(
        default_factory=dict, description="variables beside PATH, HOME, LANG, TZ, TMPDIR and DUETIME_*"
    )
    cwd: Word | None = Field(
        default=None, description="absolute; the home directory of the worker's user if left out"
    )
    stdin: Text | None = Field(default=None, description="nothing if left out")
    success_exit_codes: list[Annotated[int, Field(ge=0, le=255)]] = Field(
        default_factory=lambda: [0], min_length=1
    )

    @field_validator("argv")
    @classmethod
    def _names_a_program(cls, argv: list[str] | None) -> list[str] | None:
        if argv and not argv[0]:
            raise ValueError("the first word names the program and cannot be empty")
        return argv

    @field_validator("env")
    @classmethod
    def _own_variables(cls, env: dict[str, str]) -> dict[str, str]:
        for name in env:
            if not name or "=" in name:
                raise ValueError(f'{name[:100]!r} is not a variable\'s name: it is empty or holds "="')
            if name in GIVEN:
                raise ValueError(f"{name} is set by Duetime and cannot be overridden")
        return env

    @field_validator("cwd")
    @classmethod
    def _absolute(cls, cwd: str | None) -> str | None:
        if cwd is not None and not cwd.startswith("/"):
            raise ValueError("must be absolute: workers do not all start in the same directory")
        return cwd

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.argv is None) == (self.shell is None):
            raise ValueError("give exactly one of argv (a list of words) and shell (a line for /bin/sh)")
        return self
