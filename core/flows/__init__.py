"""Stories that span several tasks."""
