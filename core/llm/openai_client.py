"""OpenAIClient: any server that speaks the chat completions protocol, behind LLM."""

import os
import random
import re
from base64 import b64encode
from functools import partial
from ipaddress import ip_address
from typing import Any

import anyio
import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, DefaultAsyncHttpxClient, Omit
from pydantic import SecretStr

from core.clock import Clock
from core.domain.limits import Limits
from core.errors import BadConfig, ModelError, ModelFailed, ModelOutage, ModelRefused
from core.llm.client import Bill, Call, Reply
from core.llm.dialect import Dialect, learned, spelled
from core.llm.gate import Gate
from core.llm.retries import Temporary, asked_wait_seconds, keep_trying
from core.llm.troubles import KEY_MEND, Complaint, complaint_in, complaint_of, judged, quoted
from core.llm.wire import (
    BROKEN_CONNECTION,
    ErrorInside,
    Garbled,
    Heard,
    Listener,
    Patience,
    Silent,
    parse,
    read_reply,
)

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 10.0
CHECK_SECONDS = 10.0

EVERYTHING = Dialect()
_KEY = "authorization"


class OpenAIClient:
    def __init__(
        self,
        base_url: str | None,
        api_key: SecretStr | str | None,
        limits: Limits,
        clock: Clock,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        url = _usable(base_url or OPENAI_URL)
        self.server = server_name(url)
        self._key = SecretStr(_plain(api_key))
        self._limits = limits
        self._clock = clock
        self._random = random.Random()
        self.gate = Gate(self.server, limits, clock)
        self._dialects: dict[str, Dialect] = {}
        self._openai = self._opened(url, http_client)
        self._headers = _headers(url, self._key)

    def __repr__(self) -> str:
        return f"OpenAIClient({self.server!r})"

    async def ask(self, call: Call) -> Reply:
        return await keep_trying(
            partial(self._try, call), self._limits.retries, self._clock, self._random
        )

    async def models(self) -> list[str]:
        """The ids the server lists, none where it has no list; one try, 10 s at most."""
        listed = await self._list_models(CHECK_SECONDS)
        if isinstance(listed, APIStatusError):
            if listed.status_code in (404, 405, 501):
                return []
            raise self._final(self._judged(listed)) from None
        try:
            found = parse(listed)
        except Garbled as error:
            raise ModelFailed(self.server, f"its list of models is {error}") from error
        entries = found.get("data") if isinstance(found, dict) else None
        known = [one for one in entries or () if isinstance(one, dict)]
        return [one["id"] for one in known if isinstance(one.get("id"), str)]

    async def check(self, within_seconds: float = CHECK_SECONDS) -> None:
        """One cheap try: raises when the server can't be reached, is down or refuses the key.

        Any other answer shows that it is there; not every server or key may list models.
        """
        listed = await self._list_models(within_seconds)
        if not isinstance(listed, APIStatusError):
            return
        if listed.status_code == 401 or (listed.status_code >= 500 and listed.status_code != 501):
            raise self._final(self._judged(listed)) from None

    async def close(self) -> None:
        await self._openai.close()

    def _opened(self, url: httpx2.URL, http_client: httpx2.AsyncClient | None) -> AsyncOpenAI:
        longest = max(self._limits.first_token_seconds, self._limits.silence_seconds)
        return AsyncOpenAI(
            base_url=url.copy_with(userinfo=b"", query=None),
            default_query=dict(url.params),
            api_key=self._key.get_secret_value() or "none",
            timeout=httpx2.Timeout(longest, connect=CONNECT_SECONDS, pool=None),
            max_retries=0,
            # A server on this machine is not behind a proxy.
            http_client=http_client or DefaultAsyncHttpxClient(trust_env=not _is_here(url)),
        )

    async def _try(self, call: Call) -> Reply:
        if call.bill is not None and (call.bill.tries or call.bill.unknown):
            await call.bill.renew()
        start = await self.gate.enter(call.request, call.estimated_tokens)
        try:
            heard = await self._answer(call)
        except Temporary as failure:
            wait = failure.retry_after_seconds
            if failure.busy:
                self.gate.leave_refused(start, wait)
            elif isinstance(failure.error, ModelOutage):
                self.gate.leave_failed(start, wait, failure.error.why)
            else:
                self.gate.leave(start)
            raise
        except ModelError:
            self.gate.leave(start)
            raise
        except BaseException:
            self.gate.leave_unheard(start)
            raise
        used = heard.usage.input_tokens + heard.usage.output_tokens
        self.gate.leave(start, used or None)
        return self._reply(call, heard)

    async def _answer(self, call: Call) -> Heard:
        """In the richest dialect the model understands."""
        known = dialect = self._dialects.get(call.model, EVERYTHING)
        while True:
            answer = await self._exchange(call, dialect)
            if isinstance(answer, Heard):
                break
            dialect = answer
        if dialect is not known:
            self._dialects[call.model] = dialect
        return answer

    async def _exchange(self, call: Call, dialect: Dialect) -> Heard | Dialect:
        """What the server said, or a simpler dialect when it does not understand this one."""
        body = spelled(call, dialect)
        listener = Listener()
        if call.hear is not None:
            call.hear(listener.so_far)
        sent = True
        try:
            return await self._sent(body, listener)
        except APIStatusError as error:
            sent = False
            refusal = complaint_in(error.response.content)
            if error.status_code in (400, 422) and not refusal.about_context:
                simpler = learned(dialect, body, str(refusal))
                if simpler is not None:
                    return simpler
            # Without its cause, whose text may repeat the key.
            raise self._judged(error) from None
        except ErrorInside as inside:
            raise self._judged_inside(inside.error) from None
        except (Garbled, Silent, APIConnectionError, *BROKEN_CONNECTION) as error:
            sent = _was_sent(error)
            raise Temporary(self._broken(error)) from error
        finally:
            if sent and call.bill is not None:
                _note(call.bill, call.model, listener)

    async def _sent(self, body: dict[str, Any], listener: Listener) -> Heard:
        limits = self._limits
        patience = Patience(
            limits.first_token_seconds, limits.silence_seconds, anyio.current_time()
        )
        create = self._openai.chat.completions.with_streaming_response.create
        async with create(**body, extra_headers=self._headers) as response:
            self.gate.pace.hear(response.headers)
            return await read_reply(response.http_response, listener, patience)

    def _reply(self, call: Call, heard: Heard) -> Reply:
        if heard.refusal:
            raise ModelFailed(self.server, f"the model declined: {self._quoted(heard.refusal)}")
        if heard.finish == "length":
            raise ModelFailed(
                self.server,
                f"the reply hit max output tokens ({call.max_output_tokens:,}); "
                "raise limits.max_output_tokens",
            )
        if heard.finish == "content_filter":
            raise ModelFailed(self.server, "its content filter stopped the reply")
        if heard.finish == "error" or not heard.text.strip():
            raise Temporary(ModelFailed(self.server, "an empty reply"))
        return Reply(heard.text, heard.model or call.model, heard.usage)

    async def _list_models(self, within_seconds: float) -> bytes | APIStatusError:
        try:
            with anyio.fail_after(within_seconds):
                raw = self._openai.models.with_raw_response
                return (await raw.list(extra_headers=self._headers)).http_response.content
        except APIStatusError as error:
            return error
        except TimeoutError as error:
            raise ModelOutage(self.server, f"no word for {within_seconds:g} s") from error
        except (APIConnectionError, *BROKEN_CONNECTION) as error:
            raise self._unreachable(error) from error

    def _judged(self, error: APIStatusError) -> Temporary | ModelRefused | ModelFailed:
        refusal = complaint_in(error.response.content)
        status = error.status_code
        # A 401 often quotes a piece of the key, in a form nobody can foresee.
        text = "it does not take the key" if status == 401 else self._quoted(refusal.text)
        wait = asked_wait_seconds(error.response.headers, self._clock.now())
        return judged(self.server, status, refusal._replace(text=text), wait)

    def _judged_inside(self, error: object) -> Temporary | ModelRefused | ModelFailed:
        refusal = complaint_of(error)
        status = re.match(r"[45]\d\d\b", refusal.code)
        quote = Complaint(self._quoted(refusal.text), refusal.code, refusal.param)
        return judged(self.server, int(status.group()) if status else 200, quote)

    def _final(self, judged: Temporary | ModelRefused | ModelFailed) -> Exception:
        return judged.error if isinstance(judged, Temporary) else judged

    def _broken(self, error: Exception) -> ModelError:
        if isinstance(error, Garbled):
            return ModelFailed(self.server, str(error))
        if isinstance(error, Silent):
            return ModelOutage(self.server, f"no word for {error.seconds:g} s")
        return self._unreachable(error)

    def _unreachable(self, error: Exception) -> ModelOutage:
        cause = error.__cause__ if isinstance(error, APIConnectionError) else error
        if isinstance(cause, httpx2.ConnectTimeout):
            return ModelOutage(self.server, f"no connection within {CONNECT_SECONDS:g} s")
        if isinstance(cause, httpx2.TimeoutException):
            return ModelOutage(self.server, f"no word for {self._limits.first_token_seconds:g} s")
        return ModelOutage(self.server, self._quoted(str(cause)) or "the connection broke")

    def _quoted(self, text: str) -> str:
        return quoted(text, self._key.get_secret_value())


def _note(bill: Bill, model: str, listener: Listener) -> None:
    if listener.usage is not None:
        bill.tries.append((model, listener.usage))
    else:
        bill.unknown += 1


def _was_sent(error: Exception) -> bool:
    """The server may have counted something: it took the question and then fell silent."""
    cause = error.__cause__ if isinstance(error, APIConnectionError) else error
    return not isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout)


def server_name(url: httpx2.URL) -> str:
    """The address without the parts that may be secret."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None)).rstrip("/")


def _usable(base_url: str) -> httpx2.URL:
    try:
        url = httpx2.URL(base_url.strip())
    except httpx2.InvalidURL:
        url = httpx2.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise BadConfig(
            "the address of the model server has to look like http://host:port/v1; "
            "check OPENAI_BASE_URL"
        )
    return url


def _headers(url: httpx2.URL, key: SecretStr) -> dict[str, str | Omit]:
    """With every call; what else the library below finds in the environment stays here."""
    ambient = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    names = [line.partition(":")[0].strip() for line in ambient if ":" in line]
    unsent = dict.fromkeys((*names, "OpenAI-Organization", "OpenAI-Project"), Omit())
    return {**{name: no for name, no in unsent.items() if name.lower() != _KEY}, **_sign(url, key)}


def _sign(url: httpx2.URL, key: SecretStr) -> dict[str, str | Omit]:
    if url.userinfo:
        # A header, because addresses are logged by the library below.
        password = b64encode(f"{url.username}:{url.password}".encode()).decode()
        return {"Authorization": f"Basic {password}"}
    # No key, no header: the library would send one from the environment to any server.
    return {"Authorization": f"Bearer {key.get_secret_value()}" if key else Omit()}


def _plain(api_key: SecretStr | str | None) -> str:
    text = api_key.get_secret_value() if isinstance(api_key, SecretStr) else api_key or ""
    text = text.strip()
    # A header can't hold it, and the error of the library below would quote it.
    if not re.fullmatch(r"[!-~]*", text):
        raise BadConfig(f"the key holds characters that no key has; {KEY_MEND}")
    return text


def _is_here(url: httpx2.URL) -> bool:
    try:
        return ip_address(url.host).is_loopback
    except ValueError:
        return url.host == "localhost"
