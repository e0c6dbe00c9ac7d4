"""The work both sides do: a quarter simple, three quarters critiqued, half of all fixed."""

from dataclasses import dataclass

from core.domain.task import Complexity


@dataclass(frozen=True)
class Story:
    tasks: int
    agents: int = 50
    description: str = "d" * 100
    result: str = "r" * 200

    def complexity(self, number: int) -> Complexity:
        return Complexity.SIMPLE if number % 4 == 0 else Complexity.NORMAL

    def passes(self, number: int) -> bool:
        """Whether the advisor passes it at once: a third of those it sees."""
        return number % 4 == 1

    def statuses(self, number: int) -> tuple[str, ...]:
        """The statuses a task goes through after it was added."""
        if self.complexity(number) is Complexity.SIMPLE:
            return ("claimed", "completed")
        if self.passes(number):
            return ("claimed", "review", "completed")
        return ("claimed", "review", "critique", "claimed", "completed")
