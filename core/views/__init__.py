"""Views: read-only pictures of the board, the same behind every screen."""

from core.views.board import board
from core.views.mail import mail
from core.views.task import calls, one_task

__all__ = ["board", "calls", "mail", "one_task"]
