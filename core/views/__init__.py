"""Views: read-only pictures of the board, the same behind every screen."""

from core.views.board import EMPTY_BOARD, board
from core.views.mail import NO_MAIL, mail
from core.views.task import calls, one_task

__all__ = ["EMPTY_BOARD", "NO_MAIL", "board", "calls", "mail", "one_task"]
