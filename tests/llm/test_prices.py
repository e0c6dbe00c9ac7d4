"""What tokens cost: the user's own list, else the public one of the maker's own server."""

import subprocess
import sys

import pytest

from core.domain.budget import Price
from core.domain.task import Usage
from core.llm.client import THIS_MACHINE
from core.llm.estimates import Estimates
from core.llm.prices import Prices

OPENAI = "https://api.openai.com/v1"
MILLION = 1_000_000


def test_a_known_model_of_its_maker_has_a_price_with_cached_tokens() -> None:
    prices = Prices()

    whole = prices.cost(OPENAI, "gpt-5-mini", Usage(input_tokens=MILLION, output_tokens=MILLION))
    cached = prices.cost(
        OPENAI, "gpt-5-mini", Usage(input_tokens=MILLION, cached_tokens=MILLION, output_tokens=0)
    )

    assert whole is not None
    assert cached is not None
    assert 0 < cached < whole / 5
    assert prices.context_tokens(OPENAI, "gpt-5-mini")


@pytest.mark.parametrize(
    ("server", "model"),
    [
        (OPENAI, "nobody-knows-this-one"),
        ("http://127.0.0.1:8080/v1", "gpt-5-mini"),
        ("https://llm.example/v1", "gpt-5-mini"),
        ("", "gpt-5-mini"),
    ],
)
def test_a_price_nobody_knows_is_not_nothing(server: str, model: str) -> None:
    prices = Prices()

    assert prices.cost(server, model, Usage(input_tokens=1)) is None
    assert not prices.knows(server, model)
    assert prices.context_tokens(server, model) is None


def test_a_model_of_this_machine_costs_nothing() -> None:
    usage = Usage(input_tokens=MILLION, output_tokens=MILLION)

    assert Prices().cost(THIS_MACHINE, "qwen2.5-coder-1.5b", usage) == 0


def test_the_users_own_price_is_stronger() -> None:
    prices = Prices({"gpt-5-mini": Price(input=1, output=2)})

    used = Usage(input_tokens=MILLION, cached_tokens=MILLION, output_tokens=MILLION)

    assert prices.cost(OPENAI, "gpt-5-mini", used) == 3


def test_the_list_is_loaded_only_for_a_server_that_may_be_in_it() -> None:
    code = (
        "import sys; from core.llm.prices import Prices; from core.domain.task import Usage\n"
        "Prices().cost('http://127.0.0.1/v1', 'm', Usage()); print('genai_prices' in sys.modules)"
    )

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert shown.stdout == "False\n"


def test_the_size_of_a_token_is_learned_from_what_servers_count() -> None:
    estimates = Estimates()
    assert estimates.tokens("m", 3000) == 1001

    for _ in range(20):
        estimates.learn("m", 4000, 2000)

    assert estimates.tokens("m", 3000) == pytest.approx(1501, abs=10)
    assert estimates.tokens("other", 3000) == 1001


def test_a_short_prompt_teaches_nothing_and_nonsense_little() -> None:
    estimates = Estimates()

    estimates.learn("m", 30, 100)
    assert estimates.tokens("m", 3000) == 1001
    for _ in range(50):
        estimates.learn("m", 10, 1_000_000)
    assert estimates.tokens("m", 3000) <= 3001


def test_a_context_can_only_shrink() -> None:
    estimates = Estimates()
    estimates.overflowed("m", 4096)
    estimates.overflowed("m", 9999)

    assert estimates.context("m", 8192) == 4096
    assert estimates.context("other", 8192) == 8192
