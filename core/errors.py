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

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"the model server {server} does not answer ({why}); try again later")
        self.server = server
        self.why = why


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


class BadReply(SwarmError):
    """What a model wrote does not have the form that was asked for; it can be told so."""

    def __init__(self, complaint: str) -> None:
        super().__init__(complaint)
        self.complaint = complaint


class UnreadableReply(ModelError):
    """What a model said can't be taken, and one more try did not mend it."""

    def __init__(self, complaint: str) -> None:
        super().__init__(f"the model's reply can't be used: {complaint}")
        self.complaint = complaint


class WorkFailed(SwarmError):
    """An executor said itself that it failed; counts as an attempt."""


class NoModel(SwarmError):
    """Nothing says which model server to use."""

    def __init__(self) -> None:
        super().__init__(
            "no model is configured; set OPENAI_API_KEY, "
            "or OPENAI_BASE_URL for a server of your own"
        )


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
