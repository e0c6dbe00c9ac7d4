"""Every error raised on purpose; each names a fact and writes its own sentence."""


class SwarmError(Exception):
    """Something a person or a caller can act on."""


class TaskNotFound(SwarmError):
    def __init__(self, task_id: str) -> None:
        super().__init__(f"no task {task_id!r} on the board")
        self.task_id = task_id


class AmbiguousId(SwarmError):
    def __init__(self, prefix: str, matches: list[str]) -> None:
        super().__init__(f"{prefix!r} fits many tasks ({', '.join(matches)}); type more of the id")
        self.prefix = prefix
        self.matches = matches


class MailNotFound(SwarmError):
    def __init__(self, number: int) -> None:
        super().__init__(f"no mail number {number}")
        self.number = number


class IllegalTransition(SwarmError):
    """The lifecycle does not allow this step here; nothing was changed."""

    def __init__(self, task_id: str, place: str, step: str, why: str = "") -> None:
        because = f": {why}" if why else ""
        super().__init__(f"task {task_id!r} is {place}, so {step} is not possible{because}")
        self.task_id = task_id
        self.place = place
        self.step = step
        self.why = why


class ClaimLost(SwarmError):
    """The claim ended before this write; nothing was changed."""

    def __init__(self, task_id: str, fence: int) -> None:
        super().__init__(f"the claim on task {task_id!r} (fence {fence}) ended; nothing changed")
        self.task_id = task_id
        self.fence = fence


class MailLost(SwarmError):
    """The mail was taken back, answered or withdrawn before this write; nothing was changed."""

    def __init__(self, number: int) -> None:
        super().__init__(f"mail {number} is no longer held by this agent; nothing changed")
        self.number = number


class OwnWork(SwarmError):
    def __init__(self, task_id: str, agent: str) -> None:
        super().__init__(f"{agent!r} worked on task {task_id!r} and may not advise on it")
        self.task_id = task_id
        self.agent = agent


class BadPlan(SwarmError):
    """A plan or a new task that the board can't take; the sentence says what to mend."""


class RequestTooLarge(SwarmError):
    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"the text has {size_bytes:,} bytes and may have {limit_bytes:,}; "
            "shorten it, or raise limits.request_bytes"
        )
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class UnstorableText(SwarmError):
    """Nothing of the step was kept; the steps beside it are not touched."""

    def __init__(self) -> None:
        super().__init__(
            "a text holds half a character (a lone surrogate), which no store can keep; remove it"
        )


class ModelError(SwarmError):
    """A model's server gave no usable reply."""


class ModelOutage(ModelError):
    """The server can't be reached or is overloaded: nobody's fault, so no attempt is used."""

    def __init__(self, server: str, why: str, again_in_seconds: float | None = None) -> None:
        super().__init__(f"the model server {server} does not answer ({why}); try again later")
        self.server = server
        self.why = why
        self.again_in_seconds = again_in_seconds
        """When it is worth a try again, where that is known."""


class ModelRefused(ModelError):
    """The server will never take such calls: a wrong key, an unknown model, no money left."""

    def __init__(self, server: str, why: str, mend: str) -> None:
        super().__init__(f"the model server {server} refused the call: {why}; {mend}")
        self.server = server
        self.why = why
        self.mend = mend


class ModelFailed(ModelError):
    """This call failed: broken, empty or cut. Counts as an attempt of the task it was made for."""

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"the model server {server} sent no usable reply: {why}")
        self.server = server
        self.why = why


class DayBudgetSpent(ModelOutage):
    """No call fits into what is left of today's budget: the crew rests, as in an outage."""

    def __init__(self, budget: str, again_in_seconds: float) -> None:
        SwarmError.__init__(
            self,
            f"today's budget of {budget} is spent; raise budget.day_tokens or budget.day_usd, "
            "or go on tomorrow with: swarm work",
        )
        self.server = ""
        self.why = "the day's budget is spent"
        self.budget = budget
        self.again_in_seconds = again_in_seconds


class PriceUnknown(ModelRefused):
    """A budget in dollars can't hold for a model without a price."""

    def __init__(self, server: str, model: str) -> None:
        SwarmError.__init__(
            self,
            f"the price of the model {model!r} is unknown, so a budget in dollars can't hold; "
            f"name it under budget.prices, or set a budget in tokens",
        )
        self.server = server
        self.why = "its price is unknown"
        self.mend = "name it under budget.prices"


class ReplayDeparted(ModelRefused):
    """What is asked now was not asked when the run was recorded."""

    def __init__(self, call: int, difference: str) -> None:
        SwarmError.__init__(
            self, f"the replay departs from the recording at call {call}: {difference}"
        )
        self.server = "(recorded)"
        self.why = difference
        self.mend = ""
        self.call = call


class ContextTooLong(ModelError):
    """A prompt does not fit what the model reads at once."""

    def __init__(self, model: str, tokens: int, room: int) -> None:
        super().__init__(
            f"a prompt of about {tokens:,} tokens does not fit the {room:,} that the model "
            f"{model!r} can read; name a model that reads more, or set its context_tokens"
        )
        self.model = model
        self.tokens = tokens
        self.room = room


class BudgetSpent(SwarmError):
    """The next call no longer fits into the request's budget; it was not made."""

    def __init__(self, request: str, budget: str) -> None:
        super().__init__(f"the budget of {budget} is spent")
        self.request = request
        self.budget = budget


class BadReply(SwarmError):
    """What a model wrote does not have the form that was asked for; it can be told so."""

    def __init__(self, complaint: str) -> None:
        super().__init__(complaint)
        self.complaint = complaint


class ContextOverflow(ModelFailed):
    """The server says that the prompt is longer than what its model reads."""

    def __init__(self, server: str, why: str, limit: int | None = None) -> None:
        super().__init__(server, why)
        self.limit = limit


class UnreadableReply(ModelError):
    """What a model said can't be taken, and one more try did not mend it."""

    def __init__(self, complaint: str) -> None:
        super().__init__(f"the model's reply can't be used: {complaint}")
        self.complaint = complaint


class WorkFailed(SwarmError):
    """An executor said itself that it failed; counts as an attempt."""


class NoModel(SwarmError):
    """Nothing says which model server to use, and no model is on this machine."""

    def __init__(self) -> None:
        super().__init__(
            "no model is configured; set OPENAI_API_KEY, "
            "or OPENAI_BASE_URL for a server of your own, "
            "or get one that runs on this machine: swarm models pull"
        )


class NotOnThisMachine(SwarmError):
    """A model that runs here was named, and it is not here or can't be loaded."""


class PullFailed(SwarmError):
    """A model could not be fetched; nothing half-written is ever used."""


class ModelFolder(SwarmError):
    """The folder that models are kept in can't be used."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"the folder of models {path} can't be used: {why.lower()}")
        self.path = path


class BadModelFile(SwarmError):
    """Its bytes are not the ones they should be, so it is not loaded."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(
            f"the file {path} is not the model {name}; "
            f"replace it: swarm models remove {name}, then swarm models pull {name}"
        )
        self.path = path


class ModelNotNamed(SwarmError):
    """The server has several models, and nothing says which."""

    def __init__(self, listed: list[str]) -> None:
        some = ", ".join(listed[:5]) + (", …" if len(listed) > 5 else "")
        has = f"has {len(listed)} models ({some})" if listed else "lists no model"
        super().__init__(f"the model server {has}; name one with --model or SWARM_MODEL")
        self.listed = listed


class EmptyRequest(SwarmError):
    def __init__(self) -> None:
        super().__init__("the request is empty; say what is to be done")


class BadConfig(SwarmError):
    """A config file or setting can't be used; the sentence says where and how to mend it."""


class NotTrusted(SwarmError):
    """A project names servers, keys or commands that nobody on this machine has allowed."""

    def __init__(self, named: list[str]) -> None:
        more = f" and {len(named) - 1} more" if len(named) > 1 else ""
        super().__init__(
            f"this project is not trusted with what it names ({named[0]}{more}); "
            "look at it, then allow it with: swarm trust"
        )
        self.named = named


class StoreError(SwarmError):
    """The store can't do its work; what was committed before is safe."""


class StoreUnreachable(StoreError):
    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"can't open the store {path}: {why}")
        self.path = path


class StoreCorrupt(StoreError):
    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"the store {path} is damaged ({why}); restore it from a backup")
        self.path = path


class StoreForeign(StoreError):
    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is a database of another application, not a Swarm store")
        self.path = path


class StoreTooNew(StoreError):
    def __init__(self, path: str, found: int, known: int) -> None:
        super().__init__(
            f"the store {path} has schema {found} and this Swarm knows up to {known}; update Swarm"
        )
        self.path = path
        self.found = found
        self.known = known


class StoreReadOnly(StoreError):
    def __init__(self, path: str) -> None:
        super().__init__(f"the store {path} can't be written; check the rights of file and folder")
        self.path = path


class StoreFull(StoreError):
    def __init__(self, path: str) -> None:
        super().__init__(f"no room to write the store {path}; free disk space, then go on")
        self.path = path


class StoreBusy(StoreError):
    def __init__(self, path: str, waited_seconds: float) -> None:
        super().__init__(
            f"the store {path} was locked by another process for {waited_seconds:.0f} s; "
            "end that process, or try again"
        )
        self.path = path
        self.waited_seconds = waited_seconds


class StoreFailed(StoreError):
    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"the store {path} could not be written: {why}")
        self.path = path


class StoreInterrupted(StoreError):
    """The step was cut off and nothing of it was kept: it can be done again as it was."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"the store {path} broke off a step and kept nothing of it: {why}")
        self.path = path
        self.why = why


class StoreOutcomeUnknown(StoreError):
    """The connection ended while a step was being kept, and the server can't be asked."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"the store {path} went away while it kept a step; whether it did is on the board"
        )
        self.path = path


class StoreNotMade(StoreError):
    def __init__(self, path: str) -> None:
        super().__init__(f"there is no board in {path} yet; make it with: swarm store init")
        self.path = path


class StoreTooOld(StoreError):
    def __init__(self, path: str, found: int, known: int) -> None:
        super().__init__(
            f"the store {path} has schema {found} and this Swarm works with {known}; "
            "bring it up to date with: swarm store migrate"
        )
        self.path = path
        self.found = found
        self.known = known


class StoreUnsupported(StoreError):
    def __init__(self, path: str, found: str, supported: str) -> None:
        super().__init__(f"the server of {path} is {found}, and Swarm works with {supported}")
        self.path = path
        self.found = found
        self.supported = supported
